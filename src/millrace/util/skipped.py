"""Counts records that a format skips because they cannot be parsed: the decoder reports them, the reader counts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["SKIPPED_METRIC", "counting_skipped", "record_skipped"]

SKIPPED_METRIC = "numRecordsInErrors"
"""Flink's name of the metric of skipped records."""


class _Ambient(threading.local):
    count: int | None = None
    """number of skipped records; None: they are not counted on this thread"""


_ambient = _Ambient()


def record_skipped(number: int = 1) -> None:
    """Report skipped records, on the thread that reads; called where the decision to skip is made."""
    if _ambient.count is not None:
        _ambient.count += number


class Skipped:
    """The number of skipped records."""

    def __init__(self) -> None:
        self.number = 0


@contextlib.contextmanager
def counting_skipped() -> Iterator[Skipped]:
    """Count the records that are skipped inside, on this thread."""
    before, _ambient.count = _ambient.count, 0
    found = Skipped()
    try:
        yield found
    finally:
        found.number = _ambient.count or 0
        _ambient.count = before
