"""The keyed state of one operator's subtask, with its tables and timers on the local disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from millrace.runtime.state.backend import (
    EVENT_TIMERS,
    PROCESSING_TIMERS,
    TIMERS,
    KeyedDelta,
    KeyedStateBackend,
)
from millrace.runtime.state.disk.kinds import DISK_TABLES
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.tables import DiskTable
from millrace.runtime.state.disk.timer_queue import DiskTimerQueue
from millrace.runtime.state.kinds import TABLES
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.state.tables import Table

if TYPE_CHECKING:
    from millrace.runtime.state.disk.content import Head
    from millrace.runtime.state.disk.writer import Writer

Stored = DiskTable | DiskTimerQueue
"""a table or queue whose content is in the store"""


class DiskStateBackend(KeyedStateBackend):
    """One of the backends of a task; the task reads and writes its store for all of them.

    :param on_apply: called after changes of another copy were applied.
    :param on_whole: called when the whole state is read.
    """

    in_memory = False

    def __init__(
        self, reader: Reader, time: StateTime, on_apply: Callable[[], None], on_whole: Callable[[], None]
    ) -> None:
        super().__init__(time)
        self._reader = reader
        self._on_apply = on_apply
        self._on_whole = on_whole
        self._timers = {EVENT_TIMERS: DiskTimerQueue(reader), PROCESSING_TIMERS: DiskTimerQueue(reader)}
        self.event_timers, self.processing_timers = self._timers.values()

    def _new_table(self, kind: str) -> Table:
        on_disk = DISK_TABLES.get(kind)
        return TABLES[kind]() if on_disk is None else on_disk(self._reader)

    def stored(self) -> dict[str, Stored]:
        """Name -> table or timer queue, for those whose content is in the store."""
        tables = {name: table for name, table in self._tables.items() if isinstance(table, DiskTable)}
        return {**tables, **self._timers}

    def stored_as(self, name: str, kind: str) -> Stored:
        """The table or queue of this name, made if it is missing."""
        if kind == TIMERS:
            return self._timers[name]
        table: DiskTable = self._table(name, kind)
        return table

    def pending(self) -> int:
        """The number of changed entries that are not in the store yet."""
        return sum(stored.pending() for stored in self.stored().values())

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
        return self.full_pieces()

    def resident_pieces(self) -> Iterator[KeyedDelta]:
        """The content of tables that are in memory only."""
        tables = {name: table for name, table in self._tables.items() if not isinstance(table, DiskTable)}
        contents = {name: (table.kind, table.entries()) for name, table in tables.items()}
        if any(entries for _, entries in contents.values()):
            yield contents


def resident(delta: KeyedDelta) -> KeyedDelta:
    """The part of a delta that belongs to tables in memory only."""
    return {name: change for name, change in delta.items() if change[0] != TIMERS and change[0] not in DISK_TABLES}


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
