"""Describes the states that a function has requested: a checkpoint records it, and a restore compares it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from millrace.common.state import StateDescriptor
from millrace.common.typeinfo import TypeInformation

KEYED = "keyed"
OPERATOR = "operator"


@dataclass(frozen=True)
class StateInfo:
    """One state that a function has requested."""

    name: str
    kind: str
    """value, list, map, reducing or aggregating; for operator state its distribution; else the kind of the table"""
    scope: str
    """``keyed`` or ``operator``"""
    type: TypeInformation | None
    """None: state of an operator itself, which no function has requested"""
    ttl: bool = False
    described: Any = None
    """the type as an earlier job has recorded it (plain JSON), for a state that no function has requested since"""

    @staticmethod
    def keyed(descriptor: StateDescriptor) -> StateInfo:
        kind = type(descriptor).__name__.removesuffix("StateDescriptor").lower()
        return StateInfo(
            descriptor.get_name(), kind, KEYED, descriptor.type_info, descriptor.get_ttl_config() is not None
        )


def with_news(known: Iterable[StateInfo], news: Iterable[StateInfo]) -> tuple[StateInfo, ...]:
    """Merge the known states with a later report. A copy of a task that has restored state, but whose function has not
    requested it yet, knows less than the earlier report."""
    states = {(info.scope, info.name): info for info in known}
    for info in news:
        if info.type is not None or (info.scope, info.name) not in states:
            states[info.scope, info.name] = info
    return tuple(states.values())
