"""A naive oracle for patterns: unrolls a pattern into every sequence of single steps that it stands for, tries every
subsequence of the events for each, and keeps what the rules allow. It knows nothing of automata.

The rules, for two events that are taken one after the other, and those between them (the gap):

- strict: the gap is empty; relaxed: no event of it matches the step that is waited for; any: it may hold anything.
- A loop's first event comes by the way of its step, the others relaxed, consecutive (strict) or in combinations (any).
- `until`: neither an event that the loop takes nor one of the gap before it, from its second event on, ends the loop.
- `notNext`: the next event must be another one. `notFollowedBy`: neither the gap nor the event behind it matches; at
  the end of a pattern no event before the first one's time plus the window does.
- `within`: all events lie less than the (smallest) window behind the first.

Conditions see the events that were taken before. Answers are sets: how often a match comes and in which order is not
for an oracle to say. `answers_for` tells what it knows nothing about.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.flink.cep.draw import Calls, Case
from tests.flink.cep.tags import AUTOMATON

Event = list[Any]
"""[key, name, price, timestamp]"""
Taken = tuple[tuple[str, int], ...]
"""(pattern, index of the event)"""
Found = frozenset[tuple[str, tuple[int, ...]]]
"""a match: the indexes of its events by pattern"""

STRICT, RELAXED, ANY = "strict", "relaxed", "any"
WAYS = {"begin": STRICT, "next": STRICT, "followedBy": RELAXED, "followedByAny": ANY}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
UNKNOWN = AUTOMATON | {"processing", "within-step"}
BIG = 10


@dataclass(frozen=True)
class Slot:
    """One event of an unrolled pattern."""

    name: str
    condition: list[Any]
    way: str
    until: list[Any] | None = None
    nots: tuple[tuple[str, list[Any]], ...] = ()
    """(notNext or notFollowedBy, condition) of the not-patterns before it"""


@dataclass(frozen=True)
class Stage:
    """A step of a pattern with what its calls made of it."""

    way: str
    name: str
    condition: list[Any]
    inner: tuple[Stage, ...] = ()
    least: int = 1
    most: int | None = 1
    optional: bool = False
    again: str = RELAXED
    until: list[Any] | None = None
    limited: bool = False
    """whether a window stands at this very step"""


def answers_for(case: Case) -> bool:
    """Whether the rules alone say what this pattern matches."""
    found = set(case["tags"])
    skips = case.get("skip") is not None and case["skip"][0] != "noSkip"
    if found & UNKNOWN or skips:
        return False
    stages = stages_of(case["pattern"])
    return not _odd(stages) and not _both(stages, case["events"])


def matches(case: Case) -> set[Found]:
    """What must be found, over all keys."""
    stages, window = stages_of(case["pattern"]), window_of(case["pattern"])
    result: set[Found] = set()
    for events in _by_key(case):
        indexes = [index for index, _ in events]
        rows = [row for _, row in events]
        for slots, last_nots in unrolled(stages, len(rows)):
            for taken in _subsequences(slots, rows):
                if _in_time(taken, rows, window) and not _forbidden(taken, rows, last_nots, window):
                    result.add(_by_name(taken, indexes))
    return result


def late(case: Case) -> list[int]:
    """Events that are not after the watermark."""
    if "delay" not in case:
        return []
    highest, found = -(2**63), []
    for index, row in enumerate(case["events"]):
        if row[3] <= highest - case["delay"] - 1:
            found.append(index)
        highest = max(highest, row[3])
    return found


def _by_key(case: Case) -> Iterator[list[tuple[int, Event]]]:
    lost = set(late(case))
    events = [(index, row) for index, row in enumerate(case["events"]) if index not in lost]
    ties = (lambda row: row[2]) if case.get("comparator") else (lambda row: 0)
    events.sort(key=lambda each: (each[1][3], ties(each[1])))
    for key in {row[0] for _, row in events} if case["keyed"] else {None}:
        yield [each for each in events if key is None or each[1][0] == key]


# -- what a pattern says ----------------------------------------------------------------------------------------------


def stages_of(calls: Calls) -> tuple[Stage, ...]:
    stages: list[Stage] = []
    for method, *given in calls:
        if method in WAYS or method.startswith("not"):
            way, group = WAYS.get(method, method), isinstance(given[0], list)
            inner = stages_of(given[0]) if group else ()
            stages.append(Stage(way, "" if group else given[0], ["true"], inner))
        else:
            stages[-1] = _told(stages[-1], method, given)
    return tuple(stages)


def _told(stage: Stage, method: str, given: list[Any]) -> Stage:
    match method:
        case "where":
            return replace(stage, condition=["and", stage.condition, given[0]])
        case "or":
            return replace(stage, condition=["or", stage.condition, given[0]])
        case "subtype":
            return replace(stage, condition=["and", stage.condition, ["price", ">=", BIG]])
        case "oneOrMore":
            return replace(stage, most=None)
        case "timesOrMore":
            return replace(stage, least=given[0], most=None)
        case "times":
            least, most = given[0], given[-1]
            return replace(stage, least=max(least, 1), most=most, optional=stage.optional or least == 0)
        case "optional":
            return replace(stage, optional=True)
        case "consecutive":
            return replace(stage, again=STRICT)
        case "allowCombinations":
            return replace(stage, again=ANY)
        case "until":
            return replace(stage, until=given[0])
        case "within":
            return replace(stage, limited=True)
        case _:
            raise ValueError(f"the oracle knows nothing of {method}")


def window_of(calls: Calls) -> int | None:
    """The smallest window, also of those in groups; one of 0 limits nothing."""
    found = [given[0] for method, *given in calls if method == "within" and given[0] > 0]
    inner = (window_of(call[1]) for call in calls if call[0] in WAYS and isinstance(call[1], list))
    return min([*found, *(size for size in inner if size is not None)], default=None)


def _odd(stages: tuple[Stage, ...], in_group: bool = False) -> bool:
    """What only the automaton can tell: a not-pattern behind a loop also ends the loop, one before an optional step may
    be the last, the last one needs its own window, a loop at the head of a group forgets that it is consecutive, and a
    group in a group or one whose first step may be missing begins more often than it is written."""
    for before, after in itertools.pairwise(stages):
        if after.way.startswith("not") and (before.most != 1 or before.inner):
            return True
        if before.way.startswith("not") and (after.optional or after.inner or after.way.startswith("not")):
            return True
    last = stages[-1]
    if last.way == "notFollowedBy" and not last.limited:
        return True
    if in_group and (last.way.startswith("not") or stages[0].most != 1 or stages[0].optional):
        return True
    if in_group and any(stage.inner for stage in stages):
        return True
    return any(_odd(stage.inner, True) for stage in stages if stage.inner)


def _both(stages: tuple[Stage, ...], rows: list[Event]) -> bool:
    """Whether an event is what a not-pattern excludes and what the next step takes: it depends on what follows which of
    the two counts."""
    for before, after in itertools.pairwise(stages):
        if before.way != "notFollowedBy" or before.inner or after.inner:
            continue
        for at in range(len(rows)):
            if holds(before.condition, rows, (), at) and holds(after.condition, rows, (), at):
                return True
    return False


def unrolled(stages: tuple[Stage, ...], longest: int) -> Iterator[tuple[tuple[Slot, ...], tuple[list[Any], ...]]]:
    """Sequences of events that the pattern stands for, with what may not follow the last of them."""
    for slots, nots in _chains(stages, longest):
        if slots:
            yield slots, tuple(nots)


Nots = tuple[tuple[str, list[Any]], ...]


def _chains(stages: tuple[Stage, ...], longest: int) -> Iterator[tuple[tuple[Slot, ...], Nots]]:
    """Sequences with the not-patterns that are left for what comes behind them."""
    if not stages:
        yield (), ()
        return
    *before, stage = stages
    for slots, nots in _chains(tuple(before), longest):
        if stage.way.startswith("not"):
            yield slots, (*nots, (stage.way, stage.condition))
            continue
        for more in _repeated(stage, longest - len(slots)):
            if not more:
                yield slots, nots
            else:
                yield (*slots, replace(more[0], nots=(*nots, *more[0].nots)), *more[1:]), ()


def _repeated(stage: Stage, longest: int) -> Iterator[tuple[Slot, ...]]:
    if stage.optional:
        yield ()
    most = longest if stage.most is None else min(stage.most, longest)
    for count in range(stage.least, most + 1):
        yield from _times(stage, count, longest)


def _times(stage: Stage, count: int, longest: int) -> Iterator[tuple[Slot, ...]]:
    if count == 0:
        yield ()
        return
    for slots in _times(stage, count - 1, longest):
        for one in _once(stage, first=count == 1, longest=longest - len(slots)):
            if len(slots) + len(one) <= longest:
                yield (*slots, *one)


def _once(stage: Stage, *, first: bool, longest: int) -> Iterator[tuple[Slot, ...]]:
    way = stage.way if first else stage.again
    if not stage.inner:
        yield (Slot(stage.name, stage.condition, way, stage.until),)
        return
    for slots, _ in _chains(stage.inner, longest):
        if slots:
            yield (replace(slots[0], way=way), *slots[1:])


# -- which events fit -------------------------------------------------------------------------------------------------


def _subsequences(slots: tuple[Slot, ...], rows: list[Event], taken: Taken = ()) -> Iterator[Taken]:
    """All ways to take events for the slots."""
    if len(taken) == len(slots):
        yield taken
        return
    slot = slots[len(taken)]
    start = taken[-1][1] + 1 if taken else 0
    for at in range(start, len(rows)):
        gap = range(start, at) if taken else range(0)
        if _takes(slot, rows, taken, at) and all(_passes(slot, rows, taken, each) for each in gap):
            if taken and not _next_is_allowed(slot, rows, taken, start):
                return
            yield from _subsequences(slots, rows, (*taken, (slot.name, at)))
        if taken and slot.way == STRICT:
            return


def _takes(slot: Slot, rows: list[Event], taken: Taken, at: int) -> bool:
    if slot.until is not None and holds(slot.until, rows, taken, at):
        return False
    return holds(slot.condition, rows, taken, at) and not (taken and _not_followed(slot, rows, taken, at))


def _passes(slot: Slot, rows: list[Event], taken: Taken, at: int) -> bool:
    """Whether an event may lie between."""
    again = slot.until is not None and taken[-1][0] == slot.name
    if again and slot.until is not None and holds(slot.until, rows, taken, at):
        return False
    if _not_followed(slot, rows, taken, at):
        return False
    return slot.way == ANY or (slot.way == RELAXED and not holds(slot.condition, rows, taken, at))


def _not_followed(slot: Slot, rows: list[Event], taken: Taken, at: int) -> bool:
    return any(kind == "notFollowedBy" and holds(condition, rows, taken, at) for kind, condition in slot.nots)


def _next_is_allowed(slot: Slot, rows: list[Event], taken: Taken, at: int) -> bool:
    return not any(kind == "notNext" and holds(condition, rows, taken, at) for kind, condition in slot.nots)


def _in_time(taken: Taken, rows: list[Event], window: int | None) -> bool:
    return window is None or rows[taken[-1][1]][3] - rows[taken[0][1]][3] < window or len(taken) == 1


def _forbidden(taken: Taken, rows: list[Event], nots: Any, window: int | None) -> bool:
    """Whether what must not come at the end of the pattern comes."""
    behind = range(taken[-1][1] + 1, len(rows))
    for kind, condition in nots:
        if kind == "notNext":
            if not behind or holds(condition, rows, taken, behind[0]):
                return True
            if window is not None and rows[behind[0]][3] - rows[taken[0][1]][3] >= window:
                return True
        else:
            assert window is not None, "Flink refuses it"
            end = rows[taken[0][1]][3] + window
            if any(rows[at][3] < end and holds(condition, rows, taken, at) for at in behind):
                return True
    return False


def _by_name(taken: Taken, indexes: list[int]) -> Found:
    found: dict[str, tuple[int, ...]] = {}
    for name, at in taken:
        found[name] = (*found.get(name, ()), indexes[at])
    return frozenset(found.items())


# -- conditions -------------------------------------------------------------------------------------------------------


def holds(condition: list[Any], rows: list[Event], taken: Taken, at: int) -> bool:
    kind, *rest = condition
    _, name, price, ts = rows[at]
    match kind:
        case "true":
            return True
        case "name":
            return bool(name == rest[0])
        case "price" | "ts":
            return COMPARE[rest[0]](price if kind == "price" else ts, rest[1])
        case "not":
            return not holds(rest[0], rows, taken, at)
        case "and":
            return all(holds(part, rows, taken, at) for part in rest if part != ["true"])
        case "or":
            # Behind `begin` without a condition, `or` is the first one.
            return any(holds(part, rows, taken, at) for part in rest if part != ["true"])
    prices = [rows[index][2] for each, index in taken if each == rest[0]]
    match kind:
        case "count":
            return COMPARE[rest[1]](len(prices), rest[2])
        case "sum":
            return COMPARE[rest[1]](sum(prices) + price, rest[2])
    if not prices:
        return True
    found = {"first": prices[0], "last": prices[-1], "avg": sum(prices) / len(prices)}
    return COMPARE[rest[1]](price, found[kind])
