"""The keyed state of one operator's subtask, held in the memory of the Python worker."""

from __future__ import annotations

from typing import Any

from millrace.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.runtime.state.keyed import (
    HeapAggregatingState,
    HeapListState,
    HeapMapState,
    HeapReducingState,
    HeapValueState,
)
from millrace.runtime.state.tables import TABLES, Table, ValueTable
from millrace.runtime.timers import TimerQueue

KeyedDelta = dict[str, Any]
"""state name -> (table kind, changes); timers under names that no user state can have"""

EVENT_TIMERS = "\0event-time-timers"
PROCESSING_TIMERS = "\0processing-time-timers"


class KeyedStateBackend:
    """States by name, the two timer queues, and the address that they are all read at.

    ``at`` is the current key, or a ``Scoped`` key and namespace: whoever drives the operator sets it.
    """

    def __init__(self) -> None:
        self.at: Any = None
        self._tables: dict[str, Table] = {}
        self._states: dict[str, Any] = {}
        self.event_timers = TimerQueue()
        self.processing_timers = TimerQueue()

    def _table(self, name: str, kind: str) -> Any:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = TABLES[kind]()
        elif table.kind != kind:
            raise ValueError(f"state {name!r} is a {table.kind} state already: one name, one kind")
        return table

    def _state(self, descriptor: StateDescriptor, kind: str, heap: type, build: Any) -> Any:
        if descriptor.get_ttl_config() is not None:
            raise NotImplementedError(
                f"state {descriptor.get_name()!r}: time to live (StateTtlConfig) is not in Millrace yet; nearest: "
                f"a timer that clears the state"
            )
        name = descriptor.get_name()
        state = self._states.get(name)
        table = self._table(name, kind)
        if state is None:
            state = self._states[name] = build(table)
        elif not isinstance(state, heap):  # value, reducing and aggregating states share a kind of table
            raise ValueError(f"state {name!r} is a {_noun(state)} already: one name, one kind")
        return state

    def get_state(self, descriptor: ValueStateDescriptor) -> ValueState[Any]:
        state: ValueState[Any] = self._state(
            descriptor, "value", HeapValueState, lambda table: HeapValueState(self, table)
        )
        return state

    def get_list_state(self, descriptor: ListStateDescriptor) -> ListState[Any]:
        state: ListState[Any] = self._state(
            descriptor, "list", HeapListState, lambda table: HeapListState(self, table)
        )
        return state

    def get_map_state(self, descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        state: MapState[Any, Any] = self._state(
            descriptor, "map", HeapMapState, lambda table: HeapMapState(self, table)
        )
        return state

    def get_reducing_state(self, descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        function = descriptor.get_reduce_function()
        state: ReducingState[Any] = self._state(
            descriptor, "value", HeapReducingState, lambda table: HeapReducingState(self, table, function)
        )
        return state

    def get_aggregating_state(self, descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        function = descriptor.get_agg_function()
        state: AggregatingState[Any, Any] = self._state(
            descriptor, "value", HeapAggregatingState, lambda table: HeapAggregatingState(self, table, function)
        )
        return state

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


def _noun(state: Any) -> str:
    return type(state).__name__.removeprefix("Heap")
