"""Records that a format skips since they cannot be read: the decoder tells of them, the reader counts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["SKIPPED_METRIC", "counting_skipped", "record_skipped"]

SKIPPED_METRIC = "numRecordsInErrors"
"""Flink's name for them."""


class _Ambient(threading.local):
    count: int | None = None
    """None: nobody counts on this thread"""


_ambient = _Ambient()


def record_skipped(number: int = 1) -> None:
    """So many records are left out: told where the decision is taken, on the thread that reads."""
    if _ambient.count is not None:
        _ambient.count += number


class Skipped:
    """How many records were left out."""

    def __init__(self) -> None:
        self.number = 0


@contextlib.contextmanager
def counting_skipped() -> Iterator[Skipped]:
    """Count what is left out inside, on this thread."""
    before, _ambient.count = _ambient.count, 0
    found = Skipped()
    try:
        yield found
    finally:
        found.number = _ambient.count or 0
        _ambient.count = before
