"""Names of parametrized tests that are the same in every process."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def shown(value: object) -> str:
    """``str``, without addresses: processes that share the tests among them must agree on their names."""
    return _ADDRESS.sub("", str(value))
