"""Programs of the documentation run as its tests run them: in this process, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.local_jobs import run_jobs_locally


@contextmanager
def without_spark() -> Iterator[None]:
    """Jobs that are submitted within run to their end before ``execute`` returns."""
    with pytest.MonkeyPatch.context() as patch:
        run_jobs_locally(patch)
        yield
