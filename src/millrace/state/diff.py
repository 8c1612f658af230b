"""Compares two savepoints: operators, states, and the content of states, key by key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from millrace.checkpoint.columns import check, classes_of
from millrace.checkpoint.state_rows import of_key_groups
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.exchange.keys import group_range
from millrace.runtime.state.backend import TIMERS
from millrace.runtime.state.info import KEYED
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.storage import dumps
from millrace.state.open_savepoint import TIMER_NAMES, Opened, Piece, StateEntry, operator_entry, plain_columns
from millrace.state.reader import first_copy, pairs_of

__all__ = [
    "Difference",
    "Example",
    "NotComparableError",
    "OperatorDifference",
    "StateDifference",
    "compare_savepoints",
    "readable",
]

ROWS_AT_ONCE = 500_000
"""Number of entries above which a state is compared by some key groups at a time, because both sides must fit into
memory."""


@dataclass(frozen=True)
class Example:
    """One entry that differs. A side without the entry has ``NOTHING``."""

    key: Any
    before: Any
    after: Any


class NotComparableError(ValueError):
    """The stored values can't be compared without being trusted."""


class _Nothing:
    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()


@dataclass
class StateDifference:
    """The differences of a state that both savepoints contain."""

    name: str
    added: int = 0
    removed: int = 0
    changed: int = 0
    described: tuple[str, str] | None = None
    """(kind and type before, kind and type after), if they differ"""
    counted: bool = False
    """whether the state has no keys: then examples are elements, and the number of their copies"""
    examples: tuple[Example, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.described)


@dataclass(frozen=True)
class OperatorDifference:
    """The differences of an operator that both savepoints contain."""

    uid: str
    name: str
    notes: tuple[str, ...]
    """other differences, as text"""
    only_before: tuple[StateEntry, ...]
    only_after: tuple[StateEntry, ...]
    states: tuple[StateDifference, ...]

    def __bool__(self) -> bool:
        return bool(self.notes or self.only_before or self.only_after or self.states)


@dataclass(frozen=True)
class Difference:
    """The differences between two savepoints, ``before`` and ``after``."""

    only_before: tuple[OperatorPlace, ...]
    only_after: tuple[OperatorPlace, ...]
    operators: tuple[OperatorDifference, ...]

    def __bool__(self) -> bool:
        return bool(self.only_before or self.only_after or self.operators)


def compare_savepoints(before: Opened, after: Opened, limit: int) -> Difference:
    """The differences between two savepoints. Operators are matched by their uids.

    :param limit: the most examples for each state.
    """
    was, is_now = before.metadata.by_uid, after.metadata.by_uid
    positions = _moved_sources(before, after)
    both = (_operator(before, after, uid, positions.get(uid, ()), limit) for uid in was if uid in is_now)
    return Difference(
        tuple(place for uid, place in was.items() if uid not in is_now),
        tuple(place for uid, place in is_now.items() if uid not in was),
        tuple(filter(None, both)),
    )


def _operator(before: Opened, after: Opened, uid: str, notes: Iterable[str], limit: int) -> OperatorDifference:
    was, now = before.metadata.by_uid[uid], after.metadata.by_uid[uid]
    known_before = {(state.scope, state.name): state for state in operator_entry(before, was).states}
    known_after = {(state.scope, state.name): state for state in operator_entry(after, now).states}
    found = list(notes)
    if was.max_parallelism != now.max_parallelism:
        found.append(f"maximum parallelism {was.max_parallelism} -> {now.max_parallelism}")
    states = (
        _state(before, after, was, now, known_before[at], known_after[at], limit)
        for at in known_before
        if at in known_after
    )
    return OperatorDifference(
        uid,
        now.name,
        tuple(found),
        # A state that is empty, and was only not requested yet on one side, is no difference.
        tuple(state for at, state in known_before.items() if at not in known_after and state.rows),
        tuple(state for at, state in known_after.items() if at not in known_before and state.rows),
        tuple(filter(None, states)),
    )


def _moved_sources(before: Opened, after: Opened) -> dict[str, list[str]]:
    """uid -> texts on positions of the source that differ."""
    if before.metadata.driver == after.metadata.driver:
        return {}
    try:
        was, now = before.sources(), after.sources()
    except Exception:  # classes that are missing here
        return {}
    return {
        uid: ["its splits or their positions differ"]
        for uid in was.keys() & now.keys()
        if not _same((was[uid].splits, was[uid].enumerator), (now[uid].splits, now[uid].enumerator))
    }


# -- one state --------------------------------------------------------------------------------------------------------


def _state(
    before: Opened,
    after: Opened,
    was: OperatorPlace,
    now: OperatorPlace,
    old: StateEntry,
    new: StateEntry,
    limit: int,
) -> StateDifference:
    difference = StateDifference(new.name, described=_descriptions(old, new))
    sides = [_Side(before, was, new), _Side(after, now, new)]
    _check_forms(sides, now.name)
    if not all(side.readable for side in sides):
        sides = [replace(side, plain=True) for side in sides]
    bands: list[range | None] = [None]
    if new.scope == KEYED and was.max_parallelism == now.max_parallelism:
        groups = was.max_parallelism
        parts = min(groups, 1 + max(old.rows, new.rows) // ROWS_AT_ONCE)
        bands = [group_range(part, groups, parts) for part in range(parts)] if parts > 1 else [None]
    difference.counted = new.kind == "timers" or (new.scope != KEYED and new.kind != "broadcast")
    for band in bands:
        _add(difference, sides[0].entries(band), sides[1].entries(band), limit)
    return difference


def _check_forms(sides: Iterable[_Side], operator: str) -> None:
    """Check that both sides store instances of classes in the same form: savepoints by fields, checkpoints by pickles.
    Between the two they can't be compared without the classes."""
    first, second = sides
    if first.opened.is_checkpoint == second.opened.is_checkpoint or (first.opened.trusted and second.opened.trusted):
        return
    files = [piece.file for side in (first, second) for piece in side.pieces() if piece.file is not None]
    if any(classes_of(column) for file in files for column in file.columns.values()):
        raise NotComparableError(
            f"state {first.state.name!r} of {operator!r} holds instances of classes: in a savepoint and in a "
            f"checkpoint they can only be compared if both are trusted (--trust: their pickles run)"
        )


def _descriptions(old: StateEntry, new: StateEntry) -> tuple[str, str] | None:
    before, now = _description(old), _description(new)
    return None if before == now else (before, now)


def _description(state: StateEntry) -> str:
    return " ".join(filter(None, (state.kind, state.type, "with time to live" if state.ttl else None)))


def _add(difference: StateDifference, before: dict[Any, Any], after: dict[Any, Any], limit: int) -> None:
    removed = [key for key in before if key not in after]
    added = [key for key in after if key not in before]
    changed = [key for key, value in before.items() if key in after and not _same(value, after[key])]
    difference.removed += len(removed)
    difference.added += len(added)
    difference.changed += len(changed)
    left = limit - len(difference.examples)
    examples = chain(
        (Example(_shown(key), before[key], NOTHING) for key in removed[:left]),
        (Example(_shown(key), NOTHING, after[key]) for key in added[:left]),
        (Example(_shown(key), before[key], after[key]) for key in changed[:left]),
    )
    difference.examples += tuple(example for example, _ in zip(examples, range(left)))


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal; values of classes without ``__eq__`` are if their pickles are."""
    try:
        if a == b:
            return True
    except Exception:  # arrays, which have no single answer
        pass
    return dumps(a) == dumps(b)


class _Element:
    """An element of a list, or a timer, of which only the number of copies is compared."""

    def __init__(self, value: Any, token: Any) -> None:
        self.value, self._token = value, token

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Element) and other._token == self._token

    def __hash__(self) -> int:
        return hash(self._token)


def _shown(key: Any) -> Any:
    return key.value if isinstance(key, _Element) else key


@dataclass(frozen=True)
class _Side:
    """One state in one of the two savepoints."""

    opened: Opened
    place: OperatorPlace
    state: StateEntry
    plain: bool = False

    def pieces(self) -> Iterator[Piece]:
        names = [name for name, shown in TIMER_NAMES.items() if shown == self.state.name] or [self.state.name]
        return first_copy(self.opened.pieces(self.place, self.state.scope, names))

    @property
    def readable(self) -> bool:
        return all(readable(piece, self.opened) for piece in self.pieces())

    def entries(self, groups: range | None) -> dict[Any, Any]:
        """Comparable key -> value."""
        found: dict[Any, Any] = {}
        counts: Counter[_Element] = Counter()
        for piece in self.pieces():
            if groups is not None:
                piece = _of_groups(piece, groups)
            if self.plain:
                piece = plain(piece)
            pairs = pairs_of(piece, self.opened)
            if piece.kind == TIMERS:
                counts.update(_Element((at, timer), (at, timer)) for at, timer in pairs)
            elif piece.scope != KEYED and piece.kind != Distribution.BROADCAST.value:
                counts.update(_Element(value, _token(value)) for _, value in pairs)
            else:
                found.update(pairs)
        return {**found, **counts}


def _token(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return dumps(value)
    cls: Any = type(value)
    return dumps(value) if cls.__eq__ is object.__eq__ else value


def _of_groups(piece: Piece, groups: range) -> Piece:
    load: Callable[[], Any] = piece.load
    return replace(piece, load=lambda: of_key_groups(load(), groups))


def readable(piece: Piece, opened: Opened) -> bool:
    """Whether the classes of the values can be imported."""
    return not any(check(described, opened.known) for described in piece.columns.values())


def plain(piece: Piece) -> Piece:
    """The piece with values that are read without their classes."""
    return replace(piece, columns=plain_columns(piece.columns))
