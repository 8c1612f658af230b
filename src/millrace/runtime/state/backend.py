"""The keyed state of one operator's subtask, held in the memory of the Python worker."""

from __future__ import annotations

from typing import Any

from millrace.runtime.state.keyed_states import KeyedStates
from millrace.runtime.state.tables import TABLES, Table, ValueTable
from millrace.runtime.timers import TimerQueue

KeyedDelta = dict[str, Any]
"""state name -> (table kind, changes); timers under names that no user state can have"""

EVENT_TIMERS = "\0event-time-timers"
PROCESSING_TIMERS = "\0processing-time-timers"


class KeyedStateBackend(KeyedStates):
    """States by name and the two timer queues."""

    def __init__(self) -> None:
        super().__init__(self._table)
        self._tables: dict[str, Table] = {}
        self.event_timers = TimerQueue()
        self.processing_timers = TimerQueue()

    def view(self) -> KeyedStates:
        """State objects over the same tables, read at an address of their own."""
        return KeyedStates(self._table)

    def _table(self, name: str, kind: str) -> Any:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = TABLES[kind]()
        elif table.kind != kind:
            raise ValueError(f"state {name!r} is a {table.kind} state already: one name, one kind")
        return table

    def value_table(self, name: str) -> ValueTable:
        """The table itself, for operators that work on whole chunks."""
        table: ValueTable = self._table(name, "value")
        return table

    def table(self, name: str) -> Table | None:
        """The table of a state, None when nothing was ever stored under the name."""
        return self._tables.get(name)

    def delta(self) -> KeyedDelta:
        """What changed since the last call; names without changes are left out."""
        changed: KeyedDelta = {}
        for name, table in self._tables.items():
            changes = table.delta()
            if changes:
                changed[name] = (table.kind, changes)
        for name, queue in self._queues():
            timers = queue.delta()
            if timers:
                changed[name] = ("timers", dict(timers))
        return changed

    def full(self) -> KeyedDelta:
        """Everything, as the delta onto an empty backend."""
        content: KeyedDelta = {name: (table.kind, table.entries()) for name, table in self._tables.items()}
        content.update({name: ("timers", dict(queue.entries())) for name, queue in self._queues()})
        return {name: (kind, changes) for name, (kind, changes) in content.items() if changes}

    def apply(self, delta: KeyedDelta) -> None:
        """Do the changes of another copy of this backend."""
        queues = dict(self._queues())
        for name, (kind, changes) in delta.items():
            if name in queues:
                queues[name].apply(changes.items())
            else:
                self._table(name, kind).apply(changes)

    def _queues(self) -> list[tuple[str, TimerQueue]]:
        return [(EVENT_TIMERS, self.event_timers), (PROCESSING_TIMERS, self.processing_timers)]

