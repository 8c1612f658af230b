"""Real servers for tests, one of a kind in a test process.

Where one cannot be had its tests are skipped, with the reason; with CI=true that is a failure.
"""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

from millrace.testing.services import ServiceUnavailable


def missing(error: ServiceUnavailable) -> NoReturn:
    """What a fixture does whose server is not there."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(str(error), pytrace=False)
    pytest.skip(str(error))
