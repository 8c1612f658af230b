"""State with time to live in window functions, beside broadcast streams and in joins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from tests.runtime.operators.test_state_ttl import BY_CLOCK, BY_EVENTS, living

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream.functions import (
    KeyedBroadcastProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from millrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.runtime.operators.two_input_operators import IntervalJoinOperator
from millrace.testing import Element, EndInput, OperatorHarness, ProcessingTime, Step, WatermarkStep, check_variants

INT = Types.INT()


def key_of(value: Any) -> Any:
    return value[0]


class FiringsBefore(ProcessWindowFunction):
    """How often the key's windows have fired, as far as that is remembered: a firing counts for 10 ms."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        count = context.global_state().get_state(living(ValueStateDescriptor("firings", INT), BY_EVENTS))
        before = count.value() or 0
        count.update(before + 1)
        yield (context.window().end, before)


TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(5))
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
TIMES = [0, 10, 15, 20, 60]


@pytest.mark.parametrize(
    ("assigner", "wanted"),
    [(TUMBLING, [(5, 0), (15, 0), (20, 1), (25, 2), (65, 0)]), (SESSIONS, [(5, 0), (25, 0), (65, 0)])],
)
def test_a_window_function_is_at_the_end_of_its_window(assigner: Any, wanted: list[Any]) -> None:
    """However far the watermark went beyond."""

    def make() -> OperatorHarness:
        return OperatorHarness.for_windows(assigner, FiringsBefore(), key_selector=key_of)

    script: list[Step] = [Element(("a", 1), time) for time in TIMES]
    check_variants(make, [*script, EndInput()], wanted)
    check_variants(make, [*script, *(WatermarkStep(time) for time in range(70))], wanted)


def test_a_window_that_fires_early_is_at_the_watermark() -> None:
    def make() -> OperatorHarness:
        trigger = CountTrigger.of(1)
        return OperatorHarness.for_windows(TUMBLING, FiringsBefore(), trigger=trigger, key_selector=key_of)

    script: list[Step] = [WatermarkStep(20)]
    script += [Element(("a", 1), 40), Element(("a", 1), 80), WatermarkStep(29), Element(("a", 1), 41)]
    script += [WatermarkStep(39), Element(("a", 1), 42)]
    check_variants(make, script, [(45, 0), (85, 1), (45, 2), (45, 0)])


class StateOfWindow(ProcessWindowFunction):
    """How often this very window has fired, for 10 ms by the clock."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        count = context.window_state().get_state(living(ValueStateDescriptor("firings", INT), BY_CLOCK))
        before = count.value() or 0
        count.update(before + 1)
        yield (context.window().start, before)


def test_state_of_a_window() -> None:
    windows = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    script: list[Step] = [
        Element(("a", 1), 7), ProcessingTime(5), Element(("a", 1), 3), ProcessingTime(12), Element(("a", 1), 12),
        ProcessingTime(15), Element(("a", 1), 2),
    ]  # fmt: skip

    def make() -> OperatorHarness:
        trigger = CountTrigger.of(1)
        return OperatorHarness.for_windows(windows, StateOfWindow(), trigger=trigger, key_selector=key_of)

    # At 0 ms the windows from 5 and 0, at 5 ms from 0 and -5, at 12 ms from 10 and 5 (forgotten by then), and so on.
    check_variants(make, script, [(5, 0), (0, 0), (0, 1), (-5, 0), (10, 0), (5, 0), (0, 0), (-5, 0)])
    with make() as harness:
        harness.process_element(("a", 1), 7)
        assert harness.keys("firings") == ["a"]
        harness.set_processing_time(10)
        assert harness.keys("firings") == []


class Rules(KeyedBroadcastProcessFunction):
    """The keyed side remembers values; a broadcast element shows all that are remembered."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(living(ValueStateDescriptor("last", INT), BY_EVENTS))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        yield self.last.value()
        self.last.update(value[1])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        found: list[Any] = []
        descriptor = living(ValueStateDescriptor("last", INT), BY_EVENTS)
        ctx.apply_to_keyed_state(descriptor, lambda key, state: found.append((key, state.value())))
        yield sorted(found)


def test_beside_a_broadcast_stream() -> None:
    script: list[Step] = [
        Element(("a", 1), 100), Element(("b", 2), 105), WatermarkStep(109), WatermarkStep(109, input=1),
        Element("all", 500, input=1), WatermarkStep(110), WatermarkStep(110, input=1), Element("all", 0, input=1),
        Element(("b", 3), 114), Element(("a", 3), 114),
    ]  # fmt: skip
    rules = MapStateDescriptor("rules", INT, INT)

    def make() -> OperatorHarness:
        return OperatorHarness.for_function(Rules(), key_of, broadcast_state_descriptors=[rules])

    check_variants(make, script, [None, None, [("a", 1), ("b", 2)], [("b", 2)], 2, None])


class Pairs(ProcessJoinFunction):
    """How many pairs the key had within 10 ms."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(living(ValueStateDescriptor("count", INT), BY_EVENTS))

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        before = self.count.value() or 0
        self.count.update(before + 1)
        yield (ctx.get_timestamp(), before)


def test_in_an_interval_join() -> None:
    script: list[Step] = []
    for time in (100, 105, 115):
        script += [Element("left", time), Element("right", time, input=1)]

    def make() -> OperatorHarness:
        one_key = [lambda value: 0, lambda value: 0]
        return OperatorHarness(lambda: IntervalJoinOperator(0, 0, Pairs()), inputs=2, key_selectors=one_key)

    check_variants(make, script, [(100, 0), (105, 1), (115, 0)])
