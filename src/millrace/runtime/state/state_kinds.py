"""The kinds of keyed state: for each descriptor class, the table and the class of the state object.

Entry points name them by the name of the descriptor's class, so that a job imports the kinds that it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from millrace.common.state import StateDescriptor
from millrace.util import plugins

STATES = "millrace.states"
"""entry points of kinds without a time to live"""
STATES_WITH_TTL = "millrace.states.ttl"
Arguments = Callable[[Any], tuple[Any, ...]]
"""descriptor -> arguments of the state object besides the backend and the table"""


def _none(descriptor: Any) -> tuple[Any, ...]:
    return ()


@dataclass(frozen=True)
class StateKind:
    """The table and the state object for one class of descriptors."""

    descriptor: type[StateDescriptor]
    table: str
    """the kind of table (``kinds.py``) that holds the state if it has no time to live"""
    made: Any
    """the class of the state object"""
    arguments: Arguments = _none


def kind_of(descriptor: StateDescriptor) -> StateKind:
    """The kind of state that a descriptor asks for.

    :raises TypeError: there is no such kind, or none with a time to live.
    """
    return _kind_of(type(descriptor), descriptor.get_ttl_config() is not None)


@cache
def _kind_of(descriptor: type[StateDescriptor], with_ttl: bool) -> StateKind:
    for each in descriptor.__mro__:
        name = each.__name__
        kind: StateKind | None = plugins.load(STATES, name) if plugins.has(STATES, name) else None
        if kind is not None and kind.descriptor is each:
            if not with_ttl:
                return kind
            if not plugins.has(STATES_WITH_TTL, name):
                raise TypeError(f"state of a {name} has no time to live")
            found: StateKind = plugins.load(STATES_WITH_TTL, name)
            return found
    raise TypeError(f"no state has a descriptor of type {descriptor.__name__}")
