"""Tables in chunks: ranges of a column of the key, found as they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millrace.connectors.cdc.schema import TableId

__all__ = ["Bounds", "Chunk", "Chunking", "Cut"]


@dataclass(frozen=True)
class Bounds:
    """What is known of a column before a table is cut: least and greatest value (None: no rows), rows, about."""

    least: Any
    greatest: Any
    rows: int


@dataclass(frozen=True)
class Chunk:
    """Rows whose ``column`` is at least ``start`` and less than ``end``. None: no bound at that side.

    :ivar column: None: the chunk is the whole table.
    """

    table: TableId
    number: int
    column: str | None = None
    start: Any = None
    end: Any = None

    @property
    def split_id(self) -> str:
        return f"{self.table}:{self.number}"


@dataclass(frozen=True)
class Chunking:
    """How large chunks are. The names are those of Flink CDC's options.

    A column of whole numbers whose values are neither too close nor too far apart for the number of rows is cut into
    equal ranges without asking the database where rows lie.
    """

    rows: int = 8096
    lower_factor: float = 0.05
    upper_factor: float = 1000.0

    def step(self, bounds: Bounds) -> int | None:
        """The width of equal ranges; None: ranges are not to be equal."""
        least, greatest = bounds.least, bounds.greatest
        if type(least) is not int or type(greatest) is not int or bounds.rows <= 0:
            return None
        factor = (greatest - least + 1) / bounds.rows
        if not self.lower_factor <= factor <= self.upper_factor:
            return None
        return max(1, int(factor * self.rows))


@dataclass(frozen=True)
class Cut:
    """A table that is cut so far. Frozen, so that it can be in a checkpoint.

    :ivar start: where the next chunk begins.
    :ivar step: the width of equal ranges, None for ranges by rows.
    :ivar greatest: the last value that is known: beyond it is one chunk, whatever has been inserted.
    """

    table: TableId
    column: str | None
    number: int = 0
    start: Any = None
    step: int | None = None
    greatest: Any = None
    least: Any = None

    @staticmethod
    def begin(table: TableId, column: str | None, bounds: Bounds | None, chunking: Chunking) -> Cut:
        """:param bounds: of the column; None without a column."""
        if bounds is None or bounds.least is None:
            return Cut(table, column)
        return Cut(table, column, step=chunking.step(bounds), greatest=bounds.greatest, least=bounds.least)

    def next(self, bound: Callable[[Any, Any], Any | None]) -> tuple[Chunk, Cut | None]:
        """The next chunk, and what is left; None: that was all.

        :param bound: gives where a chunk ends by rows that begins at a value, None for nowhere up to another value.
        Only
            the database knows how its texts are ordered, so values are not compared here.
        """
        end = self._end(bound)
        chunk = Chunk(self.table, self.number, self.column, self.start, end)
        if end is None:
            return chunk, None
        return chunk, replace(self, number=self.number + 1, start=end)

    def _end(self, bound: Callable[[Any, Any], Any | None]) -> Any | None:
        if self.greatest is None:
            return None
        if self.step is not None:
            end = (self.least if self.start is None else self.start) + self.step
            return end if end <= self.greatest else None
        return bound(self.start, self.greatest)
