"""The data that readers of a capture pass on: chunks of tables, changes from the log, and the splits that checkpoints
hold.

A snapshot is read in chunks, ranges of a column of the key. Each chunk comes with a ``Seen``, which says which changes
of the log its rows contain already; these are then dropped from the log. The classes of splits and of ``Seen`` are
stored in checkpoints, so their names must not change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa

from millrace.common.source import SourceEvent
from millrace.connectors.cdc.events import SchemaChangeEvent, TableId, TableSchema


class Seen(ABC):
    """Which changes of the log the rows of a chunk of a snapshot contain already. Kept in checkpoints, so picklable."""

    @abstractmethod
    def contains(self, mark: Any) -> bool:
        """Whether the rows have the change with this ``Change.mark``."""

    @abstractmethod
    def passed(self, position: Any) -> bool:
        """Whether all changes behind this position of the log are missing in the rows, so that none needs a look."""


@dataclass(frozen=True)
class UpTo(Seen):
    """All changes up to a position are in the rows, and none behind it: positions are marks, and have an order."""

    high: Any

    def contains(self, mark: Any) -> bool:
        return bool(mark <= self.high)

    def passed(self, position: Any) -> bool:
        return bool(position >= self.high)


class _Unchanged:
    """In the place of a value of ``after`` that the log leaves out since it did not change."""

    def __repr__(self) -> str:
        return "UNCHANGED"

    def __reduce__(self) -> str:
        return "UNCHANGED"


UNCHANGED = _Unchanged()


@dataclass(frozen=True, eq=False)
class Relation:
    """A table with the schema that some of its changes have. One object for all of these."""

    table: TableId
    schema: TableSchema


class Change(NamedTuple):
    """A change of a row. Values are in the log's form: ``CdcDatabase.column`` makes a column of them.

    A change of the primary key is represented by two changes: a deletion (op ``d``) and an insertion (``c``).
    """

    op: str
    """``c``, ``u`` or ``d``"""
    relation: Relation
    before: tuple[Any, ...] | None
    """old values, as many as the schema has columns: of ``d``, and of ``u`` if the log has them; else None"""
    after: tuple[Any, ...] | None
    """new values: of ``c`` and ``u``; else None"""
    mark: Any
    """position of the change, for ``Seen.contains`` and ``CdcDatabase.source``"""
    time: int
    """ms since 1970"""
    before_is_key: bool = False
    """whether ``before`` has only the values of the key, the others being None because the log does not have them"""


@dataclass(frozen=True)
class LogPart:
    """A piece of the log. :ivar position: behind it: reading can go on there, and misses and doubles nothing."""

    events: Sequence[Change | SchemaChangeEvent]
    position: Any


@dataclass(frozen=True)
class ChunkRows:
    """The rows of a chunk.

    :ivar columns: for each column of the schema its values, as the log would have them: a list, or texts in Arrow.
    :ivar seen: which changes are in them.
    """

    relation: Relation
    columns: Sequence[Sequence[Any] | pa.Array]
    count: int
    seen: Seen


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


@dataclass(frozen=True)
class ChunkSplit:
    """A chunk that is to be read, all at once."""

    chunk: Chunk
    schema: TableSchema = field(repr=False)

    @property
    def split_id(self) -> str:
        return self.chunk.split_id


@dataclass(frozen=True)
class FinishedChunk:
    """A chunk whose rows were emitted. A reader keeps it until the enumerator says that it knows."""

    chunk: Chunk
    seen: Seen

    @property
    def split_id(self) -> str:
        return self.chunk.split_id


@dataclass(frozen=True)
class TableChunks:
    """What the chunks of a table have seen. :ivar bounds: where the chunks but the first one begin."""

    table: TableId
    column: str | None
    bounds: tuple[Any, ...]
    seen: tuple[Seen, ...]


@dataclass(frozen=True)
class LogSplit:
    """The log behind a position.

    :ivar relations: the schemas of the tables there.
    :ivar chunks: what was read otherwise, as long as the log has changes that may be in it.
    """

    position: Any
    relations: tuple[Relation, ...] = field(repr=False)
    chunks: tuple[TableChunks, ...] = field(default=(), repr=False)
    owner: str = ""
    split_id: str = "log"
    pending: tuple[Change, ...] = field(default=(), repr=False)
    """deletions to repeat when the log is behind the chunks, see ``ChunkFilter``"""
    waits: bool = False
    """whether it comes from a checkpoint, so that the enumerator may have tables to add first"""


@dataclass(frozen=True)
class ChunksReported(SourceEvent):
    """A reader has emitted chunks."""

    finished: tuple[FinishedChunk, ...]


@dataclass(frozen=True)
class LogWaits(SourceEvent):
    """A reader has the log from a checkpoint, and asks whether it may go on."""


@dataclass(frozen=True)
class LogGoesOn(SourceEvent):
    """Tells the reader to go on with the log, with new tables and with the chunks that were read of them."""

    relations: tuple[Relation, ...]
    chunks: tuple[TableChunks, ...]


@dataclass(frozen=True)
class ChunksTaken(SourceEvent):
    """The enumerator knows of chunks: their reader may forget them."""

    split_ids: frozenset[str]


Row = tuple[Any, ...]


def backfilled(
    rows: Sequence[Row],
    changes: Iterable[Change],
    key: Callable[[Row], Any],
    inside: Callable[[Row], bool],
) -> list[Row]:
    """The rows of a chunk as they are at the high watermark.

    The rows may or may not have each of the changes between the low and the high watermark. Since a change has the
    whole new row it makes no difference to apply it once more.

    :param changes: of the table, from the low watermark to the high one, in the order of the log.
    :param key: of a row, by which rows are told apart.
    :param inside: whether a row lies in the chunk.
    """
    found = {key(row): row for row in rows}
    for change in changes:
        # A row that was there for a while only leaves nothing behind.
        if change.before is not None and inside(change.before):
            found.pop(key(change.before), None)
        if change.after is not None and inside(change.after):
            found[key(change.after)] = change.after
        elif change.after is not None:
            found.pop(key(change.after), None)
    return list(found.values())
