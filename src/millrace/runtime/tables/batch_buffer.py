"""Batches that wait until there are enough rows to be worked on at once: many small ones cost more than a large one."""

from __future__ import annotations

from millrace.relational.rows import Rows, concat

MANY = 100_000


class WaitingRows:
    """Rows of one input in the order of their arrival."""

    def __init__(self) -> None:
        self._batches: list[Rows] = []
        self._count = 0

    def add(self, rows: Rows) -> Rows | None:
        """All that wait, if these make them many."""
        self._batches.append(rows)
        self._count += len(rows)
        return self.take() if self._count >= MANY else None

    def take(self) -> Rows | None:
        """All that wait; None for nothing."""
        if not self._batches:
            return None
        batches, self._batches, self._count = self._batches, [], 0
        return concat(batches)
