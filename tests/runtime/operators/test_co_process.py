"""Two inputs under one function: ``CoProcessOperator``, ``KeyedCoProcessOperator``, adapters of CoMap and CoFlatMap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.typeinfo import Types
from millrace.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    RuntimeContext,
)
from millrace.datastream.output_tag import OutputTag
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.failure import OperatorError
from millrace.testing import (
    Element,
    EndInput,
    OperatorHarness,
    Record,
    Status,
    StatusStep,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
)

ELEMENTS = st.lists(
    st.tuples(st.integers(0, 5), st.none() | st.integers(0, 100), st.integers(0, 1)).map(lambda e: Element(*e)),
    max_size=10,
)
SIDE = OutputTag("side")


class Both(CoProcessFunction):
    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield ("first", value, ctx.timestamp(), ctx.timer_service().current_watermark())

    def process_element2(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield ("second", value, ctx.timestamp(), ctx.timer_service().current_watermark())
        yield SIDE, -value


@given(ELEMENTS)
def test_each_input_has_its_method(script: list[Element]) -> None:
    check_variants(
        lambda: OperatorHarness.for_function(Both()),
        script,
        [Record((("first", "second")[i], value, ts, MIN_TIMESTAMP), ts) for value, ts, i in script],
        sides={"side": [Record(-value, ts) for value, ts, i in script if i == 1]},
    )


def test_the_watermark_is_the_minimum_of_both_inputs() -> None:
    script: list[Step] = [
        WatermarkStep(10, 0), Element(1, 1, 0), WatermarkStep(5, 1), Element(2, 2, 1), WatermarkStep(12, 1),
        WatermarkStep(11, 0), EndInput(),
    ]  # fmt: skip
    expected = [
        Record(("first", 1, 1, MIN_TIMESTAMP), 1), Watermark(5), Record(("second", 2, 2, 5), 2), Watermark(10),
        Watermark(11), Watermark(12), Watermark(MAX_WATERMARK), Status.FINISHED,
    ]  # fmt: skip
    check_variants(lambda: OperatorHarness.for_function(Both()), script, expected)


def test_an_idle_input_does_not_hold_back() -> None:
    script: list[Step] = [
        WatermarkStep(10, 0), StatusStep(Status.IDLE, 1), StatusStep(Status.IDLE, 0), StatusStep(Status.ACTIVE, 1),
        WatermarkStep(8, 1), WatermarkStep(13, 1), WatermarkStep(12, 0),
    ]  # fmt: skip
    # Input 1 comes back behind: it takes part again when it has caught up.
    expected = [Watermark(10), Status.IDLE, Status.ACTIVE, Watermark(13)]
    check_variants(lambda: OperatorHarness.for_function(Both()), script, expected)


class Join(KeyedCoProcessFunction):
    """Joins (key, value) of both sides; what waits longer than 10 ms is reported and forgotten."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.INT()))
        self.right = runtime_context.get_map_state(MapStateDescriptor("right", Types.INT(), Types.INT()))

    def process_element1(self, value: tuple[str, int], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.left.add(value[1])
        ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 10)
        for other, count in self.right.items():
            yield (ctx.get_current_key(), value[1], other, count)

    def process_element2(self, value: tuple[str, int], ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.right.put(value[1], (self.right.get(value[1]) or 0) + 1)
        for other in self.left.get():
            yield (ctx.get_current_key(), other, value[1], self.right.get(value[1]))

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield (ctx.get_current_key(), timestamp, list(self.left.get()), sorted(self.right.items()))
        self.left.clear()


def join() -> OperatorHarness:
    # Keys on different places of the two inputs' elements.
    return OperatorHarness.for_function(Join(), key_selector=lambda v: v[0], key_selector2=lambda v: v[0].lower())


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 30), st.integers(0, 1)).map(
            lambda e: Element((e[0].upper() if e[3] else e[0], e[1]), e[2], e[3])
        )
        | st.tuples(st.integers(0, 40), st.integers(0, 1)).map(lambda w: WatermarkStep(*w)),
        max_size=12,
    )
)
def test_keyed_inputs_share_state_and_timers(script: list[Step]) -> None:
    left: dict[str, list[int]] = {}
    right: dict[str, dict[int, int]] = {}
    timers: list[tuple[int, str]] = []
    marks = [MIN_TIMESTAMP, MIN_TIMESTAMP]
    expected: list[Any] = []
    for step in [*script, EndInput()]:
        if isinstance(step, Element):
            key, value = step.value[0].lower(), step.value[1]
            lefts, rights = left.setdefault(key, []), right.setdefault(key, {})
            if step.input == 0:
                lefts.append(value)
                assert step.timestamp is not None
                if (timer := (step.timestamp + 10, key)) not in timers:
                    timers.append(timer)
                expected += [Record((key, value, other, n), step.timestamp) for other, n in rights.items()]
            else:
                rights[value] = rights.get(value, 0) + 1
                expected += [Record((key, other, value, rights[value]), step.timestamp) for other in lefts]
            continue
        before = min(marks)
        if isinstance(step, WatermarkStep):
            marks[step.input] = max(marks[step.input], step.timestamp)
            ends = [min(marks)]
        else:
            # The first input ends before the second: in between the second one's watermark is the minimum.
            ends = [marks[1], MAX_WATERMARK]
        for end in ends:
            if end <= before:
                continue
            before = end
            due = [timer for _, _, timer in sorted((t[0], n, t) for n, t in enumerate(timers) if t[0] <= end)]
            timers = [timer for timer in timers if timer not in due]
            for time, key in due:
                expected.append(Record((key, time, left[key], sorted(right.get(key, {}).items())), time))
                left[key] = []
            expected.append(Watermark(end))
    outcome = check_variants(join, [*script, EndInput()])
    assert outcome.items == [*expected, Status.FINISHED]


def test_batch_fires_processing_timers_at_the_end() -> None:
    class Late(KeyedCoProcessFunction):
        def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
            ctx.timer_service().register_processing_time_timer(50)

        process_element2 = process_element1

        def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
            yield (ctx.get_current_key(), timestamp)

    for batch, expected in ((True, [(1, 50), (2, 50)]), (False, [])):
        check_variants(
            lambda batch=batch: OperatorHarness.for_function(Late(), key_selector=lambda v: v, batch=batch),
            [Element(1), Element(2, input=1), EndInput()],
            expected,
        )


class Switch(CoMapFunction):
    """The second input counts, the first one reads; None emits nothing."""

    def __init__(self, keyed: bool) -> None:
        self.keyed = keyed

    def open(self, runtime_context: RuntimeContext) -> None:
        if self.keyed:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map1(self, value: int) -> Any:
        return (value, self.count.value()) if self.keyed else value

    def map2(self, value: int) -> Any:
        if self.keyed:
            self.count.update((self.count.value() or 0) + 1)
        return None


@given(ELEMENTS)
def test_co_map(script: list[Element]) -> None:
    check_variants(
        lambda: OperatorHarness.for_function(Switch(keyed=False)),
        script,
        [Record(value, ts) for value, ts, input in script if input == 0],
    )


@given(ELEMENTS)
def test_keyed_co_map(script: list[Element]) -> None:
    counts: dict[int, int] = {}
    expected = []
    for value, timestamp, input in script:
        if input:
            counts[value] = counts.get(value, 0) + 1
        else:
            expected.append(Record((value, counts.get(value)), timestamp))
    check_variants(
        lambda: OperatorHarness.for_function(Switch(keyed=True), key_selector=lambda value: value), script, expected
    )


class Split(CoFlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context

    def flat_map1(self, value: int) -> Iterator[int]:
        yield from range(value)

    def flat_map2(self, value: int) -> None:
        return None


@pytest.mark.parametrize("keyed", [False, True])
def test_co_flat_map(keyed: bool) -> None:
    selector = (lambda value: value) if keyed else None
    check_variants(
        lambda: OperatorHarness.for_function(Split(), key_selector=selector),
        [Element(3, 1, 0), Element(4, 2, 1), Element(1, 3, 0), Element(0, 4, 0)],
        [Record(0, 1), Record(1, 1), Record(2, 1), Record(0, 3)],
    )


def test_a_failure_of_either_input_names_the_element() -> None:
    class Fails(CoMapFunction):
        def map1(self, value: int) -> float:
            return 1 / value

        map2 = map1

    for input in (0, 1):
        with OperatorHarness.for_function(Fails()) as harness, pytest.raises(OperatorError) as caught:
            harness.process_elements([(1, None), (0, None)], input=input)
        assert caught.value.failure.element == "0"
