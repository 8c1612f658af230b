"""The kinds of keyed state: for each descriptor class, the table and the class of the state object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from millrace.common.state import StateDescriptor
from millrace.runtime import state
from millrace.util.names import entered, import_modules

Arguments = Callable[[Any], tuple[Any, ...]]
"""descriptor -> arguments of the state object besides the backend and the table"""
C = TypeVar("C", bound=type)


@dataclass(frozen=True)
class StateKind:
    """The table and the state object for one class of descriptors."""

    table: str
    """the kind of table (``kinds.py``) that holds the state if it has no time to live"""
    made: Any
    """the class of the state object"""
    arguments: Arguments


_kinds: dict[type[StateDescriptor], StateKind] = {}
_living: dict[type[StateDescriptor], Any] = {}


def _none(descriptor: Any) -> tuple[Any, ...]:
    return ()


def state_kind(descriptor: type[StateDescriptor], table: str, arguments: Arguments = _none) -> Callable[[C], C]:
    """Register the decorated class as the state object for a class of descriptors, without time to live."""

    def register(made: C) -> C:
        _kinds[descriptor] = StateKind(table, made, arguments)
        return made

    return register


def living_state(descriptor: type[StateDescriptor]) -> Callable[[C], C]:
    """Register the decorated class as the state object for a class of descriptors, with time to live."""
    return entered(_living, descriptor)


def kind_of(descriptor: StateDescriptor) -> StateKind:
    """The kind of state that a descriptor asks for.

    :raises TypeError: there is no such kind, or none with a time to live.
    """
    import_modules(state, deep=False)
    for each in type(descriptor).__mro__:
        if each in _kinds:
            kind = _kinds[each]
            if descriptor.get_ttl_config() is None:
                return kind
            if each not in _living:
                raise TypeError(f"state of a {each.__name__} has no time to live")
            return StateKind(kind.table, _living[each], kind.arguments)
    raise TypeError(f"no state has a descriptor of type {type(descriptor).__name__}")
