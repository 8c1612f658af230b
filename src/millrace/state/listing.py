"""What there is in a savepoint: operators and their states, as far as its metadata tells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millrace.checkpoint.savepoints.metadata import StateDescription
from millrace.checkpoint.values.compatibility import type_text
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.state.backend import EVENT_TIMERS, PROCESSING_TIMERS
from millrace.state.opened import Opened, Piece

__all__ = ["OperatorEntry", "StateEntry", "operator_entry"]

TIMER_NAMES = {EVENT_TIMERS: "event-time timers", PROCESSING_TIMERS: "processing-time timers"}
"""how people see timers among the states"""
KINDS = {"SPLIT_DISTRIBUTE": "list", "UNION": "union list", "BROADCAST": "broadcast"}
"""how people see the ways of redistribution"""


@dataclass(frozen=True)
class StateEntry:
    """One state of an operator.

        >>> StateEntry("n", "value", "keyed", "Integer", False, 1, 20).rows
        1
    """

    name: str
    kind: str
    """value, list, map, reducing, aggregating, timers; union list, broadcast; or how an operator keeps its own state"""
    scope: str
    """``keyed`` or ``operator``"""
    type: str | None
    """that its function declared; None for what operators keep for themselves"""
    ttl: bool
    """whether it has a time to live"""
    rows: int
    """values, elements of lists, entries of maps; of operator state in all subtasks together"""
    bytes: int | None
    """of its files; None in checkpoints, whose files hold many states"""


@dataclass(frozen=True)
class OperatorEntry:
    """One operator.

        >>> OperatorEntry("counts", "Count", 1, 128, ()).uid
        'counts'
    """

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    states: tuple[StateEntry, ...]


def operator_entry(opened: Opened, place: OperatorPlace) -> OperatorEntry:
    """An operator. Of a checkpoint this reads the state, which alone knows how much there is."""
    described = {(state.scope, state.name): state for state in opened.metadata.states.get(place.uid, ())}
    found: dict[tuple[str, str], list[Piece]] = {at: [] for at in described}
    for piece in opened.pieces(place):
        found.setdefault((piece.scope, piece.state), []).append(piece)
    states = (_state_entry(at, described.get(at), pieces, opened.is_checkpoint) for at, pieces in found.items())
    return OperatorEntry(place.uid, place.name, place.parallelism, place.max_parallelism, tuple(states))


def _state_entry(
    at: tuple[str, str], described: StateDescription | None, pieces: Iterable[Piece], checkpoint: bool
) -> StateEntry:
    scope, name = at
    pieces = list(pieces)
    kind = described.kind if described is not None else pieces[0].kind
    ttl = described.ttl if described is not None else kind.startswith("TTL ")
    declared = None if described is None or described.type is None else type_text(described.type)
    return StateEntry(
        TIMER_NAMES.get(name, name),
        KINDS.get(kind, kind.removeprefix("TTL ")),
        scope,
        declared,
        ttl,
        sum(piece.count for piece in pieces),
        None if checkpoint else sum(piece.size or 0 for piece in pieces),
    )
