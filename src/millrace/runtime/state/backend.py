"""The keyed state of one operator's subtask, held in the memory of the Python worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from millrace.common.state import StateTtlConfig
from millrace.runtime.state.address import key_of
from millrace.runtime.state.column_deltas import fitting, in_columns, is_told, table_of, told_bytes, wants_columns
from millrace.runtime.state.figures import Figures
from millrace.runtime.state.info import KEYED, StateInfo
from millrace.runtime.state.keyed_states import KeyedStates
from millrace.runtime.state.kinds import TABLES
from millrace.runtime.state.state_time import NO_TIME, StateTime
from millrace.runtime.state.tables import Table, ValueTable
from millrace.runtime.state.ttl import Expiry
from millrace.runtime.state.ttl_tables import TTL, TtlTable
from millrace.runtime.timers import TimerId, TimerQueue

T = TypeVar("T", bound=Table)

KeyedDelta = dict[str, Any]
"""state name -> (table kind, changes); timers under names that no user state can have"""

TIMERS = "timers"
"""the kind of both timer queues"""
EVENT_TIMERS = "\0event-time-timers"
PROCESSING_TIMERS = "\0processing-time-timers"


class KeyedStateBackend(KeyedStates):
    """States by name and the two timer queues.

    :param time: the clocks for state with time to live.
    """

    in_memory = True
    """whether tables are objects of this process, so that operators may use tables of any class"""

    def __init__(self, time: StateTime = NO_TIME) -> None:
        super().__init__(self._state_table)
        self.time = time
        self._tables: dict[str, Table] = {}
        self._expiries: list[Expiry] = []
        self.event_timers = TimerQueue()
        self.processing_timers = TimerQueue()

    def view(self) -> KeyedStates:
        """State objects over the same tables, with an address of their own."""
        view = KeyedStates(self._state_table)
        view.infos = self.infos
        return view

    def _table(self, name: str, kind: str) -> Any:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = self._new_table(kind)
        elif table.kind != kind:
            raise ValueError(_conflict(name, table.kind, kind))
        return table

    def _new_table(self, kind: str) -> Table:
        return TABLES[kind]()

    def _state_table(self, name: str, kind: str, ttl: StateTtlConfig | None) -> Any:
        """The table of a state that the function has requested."""
        if ttl is None:
            return self._table(name, kind)
        table: TtlTable = self._table(name, TTL + kind)
        if table.expiry is None:
            table.expiry = Expiry(table, ttl, self.time)
            self._expiries.append(table.expiry)
        return table

    def after_records(self, count: int) -> None:
        """The operator has processed this many elements: do the cleanup that is configured per record."""
        for expiry in self._expiries:
            expiry.after_records(count)

    def before_full_snapshot(self) -> None:
        """``full`` is about to be called: remove expired entries, if that is configured. The removals are part of the
        next delta, so call this before ``delta``; then other copies agree."""
        for expiry in self._expiries:
            expiry.before_full_snapshot()

    def value_table(self, name: str) -> ValueTable:
        """The table of this name, for operators that work on whole chunks."""
        table: ValueTable = self._table(name, "value")
        return table

    def table_of(self, name: str, kind: str) -> Any:
        """A table of any kind, for operators that work on whole chunks."""
        return self._table(name, kind)

    def use(self, name: str, table: T) -> T:
        """Use a table that an operator has made for this name; its full content must have the form of its kind. To be
        called before anything is stored."""
        assert name not in self._tables
        self._tables[name] = table
        return table

    def table(self, name: str) -> Table | None:
        """The table of a state; None: nothing was ever stored under the name."""
        return self._tables.get(name)

    def described(self) -> list[StateInfo]:
        """The states that the function has requested, and those of the operator itself."""
        kinds = {name: table.kind for name, table in self._tables.items() if name not in self.infos}
        own = (StateInfo(name, kind, KEYED, None, kind.startswith(TTL)) for name, kind in kinds.items())
        return [*self.infos.values(), *own]

    def wipe(self) -> None:
        """Delete all entries and timers, because their keys have ended. In memory only; no delta can be taken after
        this."""
        for table in self._tables.values():
            table.wipe()
        self.event_timers.wipe()
        self.processing_timers.wipe()

    def pending(self) -> int:
        """The number of entries changed since the last delta, as far as tables know it without counting."""
        return sum(table.pending() for table in self._tables.values())

    def delta(self) -> KeyedDelta:
        """The changes since the last call; names without changes are left out."""
        changed: KeyedDelta = {}
        for name, table in self._tables.items():
            changes = table.delta()
            if changes:
                changed[name] = (table.kind, changes)
        for name, queue in self._queues():
            timers = queue.delta()
            if timers:
                changed[name] = (TIMERS, dict(timers))
        return changed

    def figures(self) -> dict[str, Figures]:
        """Name of each state -> what its table tells of itself, for those that are in memory, and for rows in columns
        on disk."""
        return {name: table.figures() for name, table in self._tables.items()}

    def sizes(self) -> dict[str, Any]:
        """Name of each state -> its bytes; of a state whose entries are objects of this process the dict of them."""
        return {name: table.size() for name, table in self._tables.items()}

    def added_bytes(self, delta: KeyedDelta) -> int:
        """The approximate bytes of the last delta that only add entries, so that a whole state would contain them,
        too.
        """
        told = {name: told_bytes(changes) for name, (_, changes) in delta.items()}
        return sum(int(size * self._tables[name].added_share) for name, size in told.items() if size)

    def full(self) -> KeyedDelta:
        """The whole state, as changes onto an empty backend."""
        content: KeyedDelta = {name: (table.kind, table.entries()) for name, table in self._tables.items()}
        content.update({name: (TIMERS, dict(queue.entries())) for name, queue in self._queues()})
        return {name: (kind, changes) for name, (kind, changes) in content.items() if changes}

    def full_pieces(self) -> Iterator[KeyedDelta]:
        """The whole state, as changes onto an empty backend that are applied one after the other."""
        yield from self._pieces(lambda table: table.entry_pieces())

    def told_pieces(self) -> Iterator[KeyedDelta]:
        """The whole state as ``full_pieces`` gives it, but in the form of ``delta``: tables in columns give columns."""
        yield from self._pieces(lambda table: table.told_pieces())

    def _pieces(self, of: Callable[[Table], Iterator[Any]]) -> Iterator[KeyedDelta]:
        for name, table in self._tables.items():
            for piece in of(table):
                yield {name: (table.kind, piece)}
        for name, queue in self._queues():
            timers = dict(queue.entries())
            if timers:
                yield {name: (TIMERS, timers)}

    def apply(self, delta: KeyedDelta) -> None:
        """Apply the changes of another copy of this backend."""
        queues = dict(self._queues())
        for name, (kind, changes) in delta.items():
            if name in queues:
                queues[name].apply(changes.items())
            else:
                told = is_told(changes)
                if told and name not in self._tables:
                    self.use(name, table_of(changes))
                table = self._table(name, kind)
                if told and not table.in_columns and wants_columns(changes):
                    # No operator asked for the table: it is read from older files than the delta.
                    table = self._tables[name] = in_columns(table, changes)
                table.apply(fitting(changes, table) if told else changes)

    def _queues(self) -> list[tuple[str, TimerQueue]]:
        return [(EVENT_TIMERS, self.event_timers), (PROCESSING_TIMERS, self.processing_timers)]


def only_keys(state: KeyedDelta, keep: Callable[[Any], bool]) -> KeyedDelta:
    """The part of a full state that belongs to some keys."""
    return {
        name: (kind, _timers_of(entries, keep) if kind == TIMERS else TABLES[kind].only(entries, keep))
        for name, (kind, entries) in state.items()
    }


def _timers_of(timers: dict[TimerId, int], keep: Callable[[Any], bool]) -> dict[TimerId, int]:
    return {timer: position for timer, position in timers.items() if keep(key_of(timer[1]))}


def _conflict(name: str, known: str, wanted: str) -> str:
    if TTL + known == wanted or known == TTL + wanted:
        held, asked = ("without", "with") if known in wanted else ("with", "without")
        return (
            f"state {name!r} holds entries {held} time to live, but is asked for {asked} it (StateTtlConfig): the two "
            f"can't go by one name"
        )
    return f"state {name!r} is a {known} state already: one name, one kind"
