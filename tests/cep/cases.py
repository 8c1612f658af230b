"""Cases in the form in which answers of Flink are recorded: events, the calls that make a pattern, and what comes out.

The calls have Java's names; events are [key, name, price, timestamp]. An answer has matches and time-outs as
[{pattern name: [indexes of events]}, ctx.timestamp()], and the indexes of late events.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

from millrace.cep import (
    AfterMatchSkipStrategy,
    EventComparator,
    Pattern,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
    WithinType,
)
from millrace.common.output_tag import OutputTag
from millrace.common.time import Time
from millrace.runtime.cep.description import Context, IterativeCondition, SimpleCondition
from millrace.runtime.elements import MAX_WATERMARK
from millrace.testing.harness import OperatorHarness
from millrace.testing.patterns import pattern_harness
from millrace.testing.script import Element, ProcessingTime, Step, WatermarkStep

DATA = Path(__file__).parent / "data"
TIMEOUTS, LATE = OutputTag("timeouts"), OutputTag("late")
Event = tuple[int, str, str, float, int]
"""(index, key, name, price, timestamp)"""
BIG = 10
"""events of at least this price are of a class of their own"""
INDEX, KEY, NAME, PRICE, TS = range(5)
REST = 3_600_000
"""processing time after the last event: whatever waits has timed out then"""
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def read(name: str) -> list[dict[str, Any]]:
    """The cases of a file in ``data``."""
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def simple(condition: list[Any]) -> Callable[[Event], bool] | None:
    """A condition on the event alone; None for one that looks at more."""
    kind, *rest = condition
    if kind in ("and", "or"):
        parts = [simple(part) for part in rest]
        if any(part is None for part in parts):
            return None
        combine = all if kind == "and" else any
        return lambda event: combine(part(event) for part in parts)  # type: ignore[misc]
    if kind == "not":
        negated = simple(rest[0])
        return None if negated is None else lambda event: not negated(event)
    if kind == "name":
        return lambda event: event[NAME] == rest[0]
    if kind in ("price", "ts"):
        compare, place, number = COMPARE[rest[0]], PRICE if kind == "price" else TS, rest[1]
        return lambda event: compare(event[place], number)
    if kind == "true":
        return lambda event: True
    return None


class Whole(IterativeCondition):
    """A condition that may look at what was matched."""

    def __init__(self, condition: list[Any]) -> None:
        self._condition = condition

    def filter(self, event: Event, ctx: Context) -> bool:
        return holds(self._condition, event, ctx)


def holds(condition: list[Any], event: Event, ctx: Context) -> bool:
    kind, *rest = condition
    if kind == "and":
        return all(holds(part, event, ctx) for part in rest)
    if kind == "or":
        return any(holds(part, event, ctx) for part in rest)
    if kind == "not":
        return not holds(rest[0], event, ctx)
    on_event = simple(condition)
    if on_event is not None:
        return on_event(event)
    prices = [each[PRICE] for each in ctx.get_events_for_pattern(rest[0])]
    compare = COMPARE[rest[1]]
    if kind == "count":
        return compare(len(prices), rest[2])
    if kind == "sum":
        return compare(sum(prices) + event[PRICE], rest[2])
    if not prices:
        return True
    found = {"last": prices[-1], "first": prices[0], "avg": sum(prices) / len(prices)}[kind]
    return compare(event[PRICE], found)


def condition_of(condition: list[Any]) -> IterativeCondition:
    on_event = simple(condition)
    return Whole(condition) if on_event is None else SimpleCondition.of(on_event)


def strategy(skip: list[Any] | None) -> AfterMatchSkipStrategy:
    if skip is None:
        return AfterMatchSkipStrategy.no_skip()
    made = getattr(AfterMatchSkipStrategy, snake(skip[0]))(*skip[1:2])
    return made.throw_exception_on_miss() if len(skip) > 2 and skip[2] else made


def snake(name: str) -> str:
    """Java's name in Python's spelling."""
    spelled = re.sub("([A-Z])", lambda found: "_" + found[1].lower(), name)
    return "or_" if spelled == "or" else spelled


def pattern_of(calls: list[list[Any]], skip: list[Any] | None = None) -> Pattern:
    """Make the pattern that the calls make."""
    pattern: Any = None
    for method, *args in calls:
        name = snake(method)
        if name == "subtype":
            pattern = pattern.where(lambda event: event[PRICE] >= BIG)
            continue
        given = [argument(name, place, arg) for place, arg in enumerate(args)]
        pattern = Pattern.begin(*given, strategy(skip)) if pattern is None else getattr(pattern, name)(*given)
    return pattern


def argument(name: str, place: int, arg: Any) -> Any:
    """An argument as the Python method takes it; the window of a quantifier is {"ms": n}."""
    if name in ("where", "or_", "until"):
        return condition_of(arg)
    if name == "within":
        return WithinType[arg] if place else Time(arg)
    if isinstance(arg, dict):
        return Time(arg["ms"])
    return pattern_of(arg) if isinstance(arg, list) else arg


class Told(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Tells matches and time-outs by the indexes of their events."""

    def process_match(self, match: dict[str, list[Event]], ctx: Any) -> Iterator[Any]:
        yield indexes(match), ctx.timestamp()

    def process_timed_out_match(self, match: dict[str, list[Event]], ctx: Any) -> None:
        ctx.output(TIMEOUTS, (indexes(match), ctx.timestamp()))


def indexes(match: dict[str, list[Event]]) -> dict[str, list[int]]:
    return {name: [event[INDEX] for event in events] for name, events in match.items()}


def events_of(case: dict[str, Any]) -> list[Event]:
    return [(index, *event) for index, event in enumerate(case["events"])]


class ByPrice(EventComparator):
    """Events of the same time by their price."""

    def compare(self, left: Event, right: Event) -> int:
        return (left[PRICE] > right[PRICE]) - (left[PRICE] < right[PRICE])


def harness_of(case: dict[str, Any], **settings: Any) -> OperatorHarness:
    """The operator of a case."""
    return pattern_harness(
        pattern_of(case["pattern"], case.get("skip")),
        Told(),
        itemgetter(KEY) if case.get("keyed") else None,
        event_time=case.get("time", "event") == "event",
        comparator=ByPrice() if case.get("comparator") else None,
        late_tag=LATE,
        **settings,
    )


def script_of(case: dict[str, Any]) -> list[Step]:
    """What comes in, with the watermark after each event (or only after the last one), or the clock before it."""
    events, delay = events_of(case), case.get("delay")
    script: list[Step] = []
    if case.get("time", "event") == "processing":
        for event in events:
            script += [ProcessingTime(event[TS]), Element(event)]
        return [*script, ProcessingTime(events[-1][TS] + REST)]
    highest = -(2**63)
    for event in events:
        script.append(Element(event, event[TS]))
        highest = max(highest, event[TS])
        if delay is not None:
            script.append(WatermarkStep(highest - delay - 1))
    return [*script, WatermarkStep(MAX_WATERMARK)]
