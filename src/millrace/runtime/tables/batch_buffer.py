"""Buffers batches until there are enough rows to be processed at once: many small batches cost more than a large
one.
"""

from __future__ import annotations

from millrace.relational.rows import Rows, concat

MANY = 100_000


class WaitingRows:
    """Buffered rows of one input, in the order of arrival."""

    def __init__(self) -> None:
        self._batches: list[Rows] = []
        self._count = 0

    def add(self, rows: Rows) -> Rows | None:
        """Add rows. Returns all buffered rows if there are enough; else None."""
        self._batches.append(rows)
        self._count += len(rows)
        return self.take() if self._count >= MANY else None

    def take(self) -> Rows | None:
        """Take all buffered rows; None: there are none."""
        if not self._batches:
            return None
        batches, self._batches, self._count = self._batches, [], 0
        return concat(batches)
