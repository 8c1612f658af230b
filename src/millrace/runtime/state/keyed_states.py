"""The states of a keyed operator as its function sees them: by descriptor, at the current address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.functions import KeyedStateStore
from millrace.common.state import StateDescriptor, StateTtlConfig
from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.state_kinds import kind_of

FindTable = Callable[[str, str, StateTtlConfig | None], Any]
"""(name of a state, kind of its table without time to live, the time to live) -> the table"""


class KeyedStates(KeyedStateStore):
    """The user's state objects by name, all read at one address: ``at``.

    ``at`` is the current key, or a ``Scoped`` key and namespace: the operator sets it.
    """

    def __init__(self, find_table: FindTable) -> None:
        self.at: Any = None
        self._find_table = find_table
        self._states: dict[str, Any] = {}
        self.infos: dict[str, StateInfo] = {}
        """name -> the description that the function gave"""

    def get_any(self, state_descriptor: StateDescriptor) -> Any:
        name, ttl, kind = state_descriptor.get_name(), state_descriptor.get_ttl_config(), kind_of(state_descriptor)
        table = self._find_table(name, kind.table, ttl)
        state = self._states.get(name)
        if state is None:
            rules = () if ttl is None else (table.expiry,)
            state = self._states[name] = kind.made(self, table, *rules, *kind.arguments(state_descriptor))
            self.infos[name] = StateInfo.keyed(state_descriptor)
        elif not isinstance(state, kind.made):  # value, reducing and aggregating states share a kind of table
            raise ValueError(f"state {name!r} is a {_noun(state)} already: one name, one kind")
        return state


def _noun(state: Any) -> str:
    name = next(each.__name__ for each in type(state).__mro__ if not each.__name__.startswith("_"))
    return name.removeprefix("Heap").removeprefix("Ttl")
