"""Redistributes operator state to another number of subtasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.runtime.state.operator_state import Distribution, OperatorDelta

__all__ = ["redistribute", "shares"]


def shares(items: int, parallelism: int, dealt: int) -> list[range]:
    """The range of items that each new subtask gets, where items are numbered in the order of the old subtasks.

    Neighbouring items stay together, so that a subtask needs the items of few old ones.

    :param items: number of items.
    :param parallelism: number of new subtasks.
    :param dealt: number of items of other states that were distributed before; it rotates the start, so that many short
        lists do not all end up in the first subtasks.
    """
    least, more = divmod(items, parallelism)
    found, start = [], 0
    for subtask in range(parallelism):
        end = start + least + ((subtask - dealt) % parallelism < more)
        found.append(range(start, end))
        start = end
    return found


def redistribute(states: Sequence[OperatorDelta], parallelism: int) -> list[OperatorDelta]:
    """The operator state that each of ``parallelism`` new subtasks starts from.

    ``states`` are the full states of all old subtasks, in their order. As in Flink, the items of a list are divided
    among the subtasks (but stay where they are if the number of subtasks is the same), every subtask gets the whole of
    a union list, and a broadcast state is copied, from the subtask of the same index if there is one.
    """
    new: list[OperatorDelta] = [{} for _ in range(parallelism)]
    dealt = 0
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
            entries = [items[share.start : share.stop] for share in shares(len(items), parallelism, dealt)]
            dealt += len(items)
        for subtask, entry in enumerate(entries):
            if entry:
                new[subtask][name] = (distribution, entry if distribution is Distribution.BROADCAST else (0, entry))
    return new


def _kinds(states: Sequence[OperatorDelta]) -> dict[str, Distribution]:
    return {name: distribution for state in states for name, (distribution, _) in state.items()}


def _items(parts: Sequence[Any]) -> list[Any]:
    """All items of some lists; each list is a table entry (number of retained items, items)."""
    return [item for part in parts if part is not None for item in part[1]]
