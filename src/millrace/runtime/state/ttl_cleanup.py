"""Incremental cleanup of expired entries: round after round over all addresses of a table, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.state.ttl_tables import TtlTable

NEVER = 2**80
"""a time later than any other"""
_END = object()


class IncrementalCleanup:
    """Removes expired entries, so that entries which are not read disappear, too.

    A round visits the addresses that the table had when it began, so the table may change meanwhile. At the end of a
    round the time is known when the next entry can expire: until then there is nothing to do.
    """

    def __init__(self, table: TtlTable, horizon: Callable[[], int], ttl: int, size: int) -> None:
        self.due = MIN_TIMESTAMP if size > 0 else NEVER
        """no entry expires before this time (ms)"""
        self._table = table
        self._horizon = horizon
        self._ttl = ttl
        self._size = size
        self._round: Iterator[Any] | None = None
        self._oldest = 0

    def step(self, accesses: int = 1) -> None:
        """Visit the addresses that this many accesses pay for."""
        horizon = self._horizon()
        if horizon < self.due:
            return
        if self._round is None:
            self._round = self._table.addresses()
            self._oldest = horizon  # whatever is written from now on is younger
        limit, drop = horizon - self._ttl, self._table.drop
        for _ in range(accesses * self._size):
            at = next(self._round, _END)
            if at is _END:
                self._round = None
                self.due = self._oldest + self._ttl
                return
            left = drop(at, limit)
            if left is not None and left < self._oldest:
                self._oldest = left
