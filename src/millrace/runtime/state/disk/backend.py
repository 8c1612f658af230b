"""The keyed state of one operator's subtask, with its tables and timers on the local disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from millrace.runtime.state.backend import (
    EVENT_TIMERS,
    PROCESSING_TIMERS,
    TIMERS,
    KeyedDelta,
    KeyedStateBackend,
)
from millrace.runtime.state.disk.kinds import DISK_TABLES
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.stored_table import StoredTable
from millrace.runtime.state.disk.tables import DiskTable
from millrace.runtime.state.disk.timer_queue import DiskTimerQueue
from millrace.runtime.state.figures import Figures
from millrace.runtime.state.kinds import TABLES
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.state.tables import Table

if TYPE_CHECKING:
    from millrace.runtime.state.disk.content import Head
    from millrace.runtime.state.disk.writer import Writer

T = TypeVar("T", bound=Table)


class Stored(Protocol):
    """A table or queue whose content is in the store, with the changes since then in memory."""

    kind: str
    shelf: StoredTable

    def pending(self) -> int:
        """The number of changed entries."""

    def forget(self) -> None:
        """Drop the changes in memory, because the store contains them now."""

    def flush(self, writer: Writer, prefix: bytes) -> None:
        """Write the changes to the store."""

    def pieces(self) -> Iterator[dict[Any, Any]]:
        """The whole content as deltas onto an empty table that are applied one after the other."""


class StoredRows(Stored, Protocol):
    """The rows of a table in columns."""

    def told_pieces(self) -> Iterator[dict[Any, Any]]:
        """The content as ``pieces`` gives it, in columns."""

    def close(self) -> None:
        """The table is not used any more."""

    @property
    def nbytes(self) -> int:
        """The bytes of the state."""

    def figures(self) -> Figures:
        """What the store tells of itself."""


class RowsPlace(NamedTuple):
    """Where the rows of an operator's tables in columns are."""

    folder: Callable[[str], str]
    """name of a state -> the folder for its rows"""
    memory: int
    """the bytes of rows that all tables of a process may have in memory, beside those that have changed"""


class DiskStateBackend(KeyedStateBackend):
    """One of the backends of a task; the task reads and writes its store for all of them.

    :param on_apply: called after changes of another copy were applied.
    :param on_whole: called when the whole state is read.
    :param rows: where the rows of tables in columns are.
    """

    in_memory = False

    def __init__(
        self,
        reader: Reader,
        time: StateTime,
        on_apply: Callable[[], None],
        on_whole: Callable[[], None],
        rows: RowsPlace,
    ) -> None:
        super().__init__(time)
        self._reader = reader
        self._rows_place = rows
        self._rows: dict[str, StoredRows] = {}
        """the tables in columns"""
        self._on_apply = on_apply
        self._on_whole = on_whole
        self._timers = {EVENT_TIMERS: DiskTimerQueue(reader), PROCESSING_TIMERS: DiskTimerQueue(reader)}
        self.event_timers, self.processing_timers = self._timers.values()

    def _new_table(self, kind: str) -> Table:
        on_disk = DISK_TABLES.get(kind)
        return TABLES[kind]() if on_disk is None else on_disk(self._reader)

    def use(self, name: str, table: T) -> T:
        super().use(name, table)
        place = self._rows_place
        self._rows[name] = table.on_disk(StoredTable(self._reader), place.folder(name), place.memory)
        return table

    def stored(self) -> dict[str, Stored]:
        """Name -> table or timer queue, for those whose content is in the store."""
        tables = {name: table for name, table in self._tables.items() if isinstance(table, DiskTable)}
        return {**tables, **self._rows, **self._timers}

    def stored_as(self, name: str, kind: str) -> Stored:
        """The table or queue of this name, made if it is missing."""
        if kind == TIMERS:
            return self._timers[name]
        if name in self._rows:
            return self._rows[name]
        table: DiskTable = self._table(name, kind)
        return table

    def pending(self) -> int:
        """The number of changed entries that are not in the store yet."""
        return sum(stored.pending() for stored in self.stored().values())

    def figures(self) -> dict[str, Figures]:
        tables = {name: self._rows.get(name, table) for name, table in self._tables.items()}
        return {name: each.figures() for name, each in tables.items() if not isinstance(each, DiskTable)}

    def sizes(self) -> dict[str, Any]:
        # What the environment of the task has of one of its states is not known.
        in_memory = (name for name, table in self._tables.items() if not isinstance(table, DiskTable))
        rows = self._rows
        return {name: rows[name].nbytes if name in rows else self._tables[name].size() for name in in_memory}

    def apply(self, delta: KeyedDelta) -> None:
        super().apply(delta)
        self._on_apply()

    def full(self) -> KeyedDelta:
        raise NotImplementedError("what is on disk may not fit into memory: ask for its pieces")

    def full_pieces(self) -> Iterator[KeyedDelta]:
        self._on_whole()
        yield from self.resident_pieces()
        for name, stored in self.stored().items():
            for piece in stored.pieces():
                yield {name: (stored.kind, piece)}

    def told_pieces(self) -> Iterator[KeyedDelta]:
        self._on_whole()
        yield from self.resident_pieces()
        for name, stored in self.stored().items():
            rows = self._rows.get(name)
            for piece in stored.pieces() if rows is None else rows.told_pieces():
                yield {name: (stored.kind, piece)}

    def resident(self, delta: KeyedDelta) -> KeyedDelta:
        """The part of a delta that belongs to tables in memory only."""
        left = {name: change for name, change in delta.items() if name not in self._rows and change[0] != TIMERS}
        return {name: change for name, change in left.items() if change[0] not in DISK_TABLES}

    def close(self) -> None:
        """The backend is not used any more."""
        for rows in self._rows.values():
            rows.close()

    def resident_pieces(self) -> Iterator[KeyedDelta]:
        """The content of tables that are in memory only."""
        stored = self.stored()
        tables = {name: table for name, table in self._tables.items() if name not in stored}
        contents = {name: (table.kind, table.entries()) for name, table in tables.items()}
        if any(entries for _, entries in contents.values()):
            yield contents


def flush_all(backends: Mapping[str, DiskStateBackend], writer: Writer, head: Head) -> None:
    """Write the changes of a task's backends into its store, and update ``head`` with the tables it holds.

    :param backends: by the uid of their operators.
    """
    writer.map_number = head.map_number
    for uid, backend in backends.items():
        for name, stored in backend.stored().items():
            if stored.pending():
                stored.flush(writer, head.prefix((uid, name), stored.kind))
                if isinstance(stored, DiskTimerQueue):
                    head.timer_numbers[uid, name] = stored.next_number
    head.map_number = writer.map_number
