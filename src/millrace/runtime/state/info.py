"""What a function has said about its states: what a checkpoint records, and a restore compares."""

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
    """One state that a function has asked for."""

    name: str
    kind: str
    """value, list, map, reducing or aggregating; for operator state its distribution; else the kind of the table"""
    scope: str
    """``keyed`` or ``operator``"""
    type: TypeInformation | None
    """None for what an operator keeps for itself"""
    ttl: bool = False
    described: Any = None
    """the type as an earlier job has recorded it (plain JSON), of a state that no function has asked for since"""

    @staticmethod
    def keyed(descriptor: StateDescriptor) -> StateInfo:
        kind = type(descriptor).__name__.removesuffix("StateDescriptor").lower()
        return StateInfo(
            descriptor.get_name(), kind, KEYED, descriptor.type_info, descriptor.get_ttl_config() is not None
        )


def with_news(known: Iterable[StateInfo], news: Iterable[StateInfo]) -> tuple[StateInfo, ...]:
    """What is known after another report. A copy of a task that has the state of others, but whose function has not
    asked for it yet, knows less about it than they do."""
    states = {(info.scope, info.name): info for info in known}
    for info in news:
        if info.type is not None or (info.scope, info.name) not in states:
            states[info.scope, info.name] = info
    return tuple(states.values())
