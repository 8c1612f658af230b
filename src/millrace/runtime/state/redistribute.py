"""Operator state for another number of subtasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.runtime.state.operator_state import Distribution, OperatorDelta


def redistribute(states: Sequence[OperatorDelta], parallelism: int) -> list[OperatorDelta]:
    """What each of ``parallelism`` new subtasks begins with.

    ``states`` are the full states of all old subtasks, in their order. As in Flink: the items of a list are dealt out
    in turn (but stay where they are while the number of subtasks does), a union list is given to everybody, a broadcast
    state is copied, from the same subtask as far as it exists.
    """
    new: list[OperatorDelta] = [{} for _ in range(parallelism)]
    dealt = 0  # goes on from state to state: many short lists shall not all end up in the first subtasks
    for name, distribution in _kinds(states).items():
        parts = [state[name][1] if name in state else None for state in states]
        if distribution is Distribution.BROADCAST:
            entries = [parts[subtask % len(parts)] for subtask in range(parallelism)]
        elif distribution is Distribution.UNION:
            entries = [_items(parts)] * parallelism
        elif len(states) == parallelism:
            entries = [_items([part]) for part in parts]
        else:
            items = _items(parts)
            entries = [items[(subtask - dealt) % parallelism :: parallelism] for subtask in range(parallelism)]
            dealt += len(items)
        for subtask, entry in enumerate(entries):
            if entry:
                new[subtask][name] = (distribution, entry if distribution is Distribution.BROADCAST else (0, entry))
    return new


def _kinds(states: Sequence[OperatorDelta]) -> dict[str, Distribution]:
    return {name: distribution for state in states for name, (distribution, _) in state.items()}


def _items(parts: Sequence[Any]) -> list[Any]:
    """The items of lists, given as full table entries (kept, items)."""
    return [item for part in parts if part is not None for item in part[1]]
