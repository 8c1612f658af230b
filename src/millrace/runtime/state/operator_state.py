"""Operator state: lists and maps that belong to a subtask as a whole, not to a key.

Its tables are those of keyed state, with the name of a state as the address: a delta contains what an epoch changed.
There is one table for each kind of redistribution, so that every delta says how its state is redistributed.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from millrace.common.state import (
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorStateStore,
    StateDescriptor,
)
from millrace.runtime.state.broadcast_state import HeapBroadcastState, HeapReadOnlyBroadcastState
from millrace.runtime.state.info import OPERATOR, StateInfo
from millrace.runtime.state.keyed import HeapListState
from millrace.runtime.state.tables import ABSENT, ListTable, MapTable, Table


class Distribution(enum.Enum):
    """How a state is redistributed when the number of subtasks changes."""

    SPLIT_DISTRIBUTE = "SPLIT_DISTRIBUTE"
    """a list whose items are divided among the subtasks"""
    UNION = "UNION"
    """a list of which every subtask gets all items of all subtasks"""
    BROADCAST = "BROADCAST"
    """a map of which every subtask has a copy"""


OperatorDelta = dict[str, tuple[Distribution, Any]]
"""state name -> (its redistribution, the change of its entry in the table)"""


class _Named:
    """The address of one state, which never changes: its name."""

    def __init__(self, name: str) -> None:
        self.at = name


class OperatorStateBackend(OperatorStateStore):
    """The operator state of one operator's subtask, by name."""

    def __init__(self) -> None:
        self._tables: dict[Distribution, Table] = {
            Distribution.SPLIT_DISTRIBUTE: ListTable(),
            Distribution.UNION: ListTable(),
            Distribution.BROADCAST: MapTable(),
        }
        self._states: dict[str, tuple[Distribution, Any]] = {}
        self.infos: dict[str, StateInfo] = {}
        """name -> the description that the function gave"""
        self.restored = False
        """whether this subtask was restored, even if its state is empty"""
        self._adapt: Callable[[StateInfo, Any], Any] | None = None
        self._may_drop = False

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        state: ListState[Any] = self._state(state_descriptor, Distribution.SPLIT_DISTRIBUTE, HeapListState)
        return state

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        state: ListState[Any] = self._state(state_descriptor, Distribution.UNION, HeapListState)
        return state

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        state: BroadcastState[Any, Any] = self._state(state_descriptor, Distribution.BROADCAST, HeapBroadcastState)
        return state

    def read_only(self, name: str) -> HeapReadOnlyBroadcastState:
        """A read-only view of a broadcast state."""
        table = self._tables[Distribution.BROADCAST]
        assert isinstance(table, MapTable)
        return HeapReadOnlyBroadcastState(_Named(name), table)

    def get_registered_state_names(self) -> set[str]:
        return self._names(Distribution.SPLIT_DISTRIBUTE) | self._names(Distribution.UNION)

    def get_registered_broadcast_state_names(self) -> set[str]:
        return self._names(Distribution.BROADCAST)

    def content(self, name: str) -> Any:
        """The content of a state (a list or dict, not a copy); None: it has none."""
        return next((table.rows[name] for table in self._tables.values() if name in table.rows), None)

    def described(self) -> list[StateInfo]:
        """The states that the function has requested."""
        return list(self.infos.values())

    def delta(self) -> OperatorDelta:
        """The changes since the last call."""
        return {
            name: (distribution, change)
            for distribution, table in self._tables.items()
            for name, change in table.delta().items()
        }

    def full(self) -> OperatorDelta:
        """The whole state, as changes onto an empty backend."""
        return {
            name: (distribution, entry)
            for distribution, table in self._tables.items()
            for name, entry in table.entries().items()
        }

    def apply(self, delta: OperatorDelta) -> None:
        """Apply the changes of another copy of this backend."""
        self.restored = True
        for name, (distribution, change) in delta.items():
            self._tables[distribution].apply({name: change})

    def take_over(
        self, delta: OperatorDelta, adapt: Callable[[StateInfo, Any], Any] | None, may_drop: bool = False
    ) -> None:
        """Start from the state of earlier subtasks. The type that a state has now is known only when the function
        requests it.

        :param may_drop: whether a state whose kind of redistribution has changed may start empty.
        """
        self.apply(delta)
        self._adapt, self._may_drop = adapt, may_drop

    def _state(self, descriptor: StateDescriptor, wanted: Distribution, heap: Any) -> Any:
        expected = MapStateDescriptor if wanted is Distribution.BROADCAST else ListStateDescriptor
        if not isinstance(descriptor, expected):
            raise TypeError(f"operator state takes a {expected.__name__} here, not {descriptor!r}")
        name = descriptor.get_name()
        if descriptor.get_ttl_config() is not None:
            raise ValueError(f"state {name!r}: operator state has no time to live; only keyed state does")
        known = next((found for found in Distribution if name in self._names(found)), wanted)
        if known is not wanted and self._may_drop and name not in self._states:
            self._tables[known].apply({name: ABSENT})
        elif known is not wanted:
            raise ValueError(f"state {name!r} is registered as {known.value}, so it can't be {wanted.value} as well")
        if name not in self._states:
            self._states[name] = (wanted, heap(_Named(name), self._tables[wanted]))
            self.infos[name] = StateInfo(name, wanted.value, OPERATOR, descriptor.type_info)
            self._bring_up_to_date(self.infos[name], self._tables[wanted])
        return self._states[name][1]

    def _bring_up_to_date(self, info: StateInfo, table: Table) -> None:
        if self._adapt is not None and info.name in table.rows:
            table.apply({info.name: self._adapt(info, table.entries()[info.name])})

    def _names(self, distribution: Distribution) -> set[str]:
        registered = {name for name, (found, _) in self._states.items() if found is distribution}
        return registered | self._tables[distribution].rows.keys()
