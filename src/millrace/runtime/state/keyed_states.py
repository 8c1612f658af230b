"""The states of a keyed operator as its function sees them: by descriptor, at the address of the moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.functions import KeyedStateStore
from millrace.common.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueState,
    ValueStateDescriptor,
)
from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.keyed import (
    HeapAggregatingState,
    HeapListState,
    HeapMapState,
    HeapReducingState,
    HeapValueState,
)
from millrace.runtime.state.ttl_states import TTL_STATES

FindTable = Callable[[str, str, StateTtlConfig | None], Any]
"""(name of a state, kind of its table without time to live, the time to live) -> the table"""


class KeyedStates(KeyedStateStore):
    """The user's state objects by name, all read at one address: ``at``.

    ``at`` is the current key, or a ``Scoped`` key and namespace: whoever drives the operator sets it.
    """

    def __init__(self, find_table: FindTable) -> None:
        self.at: Any = None
        self._find_table = find_table
        self._states: dict[str, Any] = {}
        self.infos: dict[str, StateInfo] = {}
        """name -> what the function said about it"""

    def _state(self, descriptor: StateDescriptor, kind: str, heap: type, *function: Any) -> Any:
        name, ttl = descriptor.get_name(), descriptor.get_ttl_config()
        table = self._find_table(name, kind, ttl)
        wanted: Any = heap if ttl is None else TTL_STATES[heap]
        state = self._states.get(name)
        if state is None:
            rules = () if ttl is None else (table.expiry,)
            state = self._states[name] = wanted(self, table, *rules, *function)
            self.infos[name] = StateInfo.keyed(descriptor)
        elif not isinstance(state, wanted):  # value, reducing and aggregating states share a kind of table
            raise ValueError(f"state {name!r} is a {_noun(state)} already: one name, one kind")
        return state

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        state: ValueState[Any] = self._state(state_descriptor, "value", HeapValueState)
        return state

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        state: ListState[Any] = self._state(state_descriptor, "list", HeapListState)
        return state

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        state: MapState[Any, Any] = self._state(state_descriptor, "map", HeapMapState)
        return state

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        function = state_descriptor.get_reduce_function()
        state: ReducingState[Any] = self._state(state_descriptor, "value", HeapReducingState, function)
        return state

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        function = state_descriptor.get_agg_function()
        state: AggregatingState[Any, Any] = self._state(state_descriptor, "value", HeapAggregatingState, function)
        return state

    def get_any(self, descriptor: StateDescriptor) -> Any:
        """The state of a descriptor of any kind."""
        getters: dict[type[StateDescriptor], Callable[[Any], Any]] = {
            ValueStateDescriptor: self.get_state,
            ListStateDescriptor: self.get_list_state,
            MapStateDescriptor: self.get_map_state,
            ReducingStateDescriptor: self.get_reducing_state,
            AggregatingStateDescriptor: self.get_aggregating_state,
        }
        for kind, get in getters.items():
            if isinstance(descriptor, kind):
                return get(descriptor)
        raise TypeError(f"no state has a descriptor of type {type(descriptor).__name__}")


def _noun(state: Any) -> str:
    return type(state).__name__.removeprefix("Heap").removeprefix("Ttl")
