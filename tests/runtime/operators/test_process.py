"""``ProcessOperator`` and ``KeyedProcessOperator``: contexts, side outputs, state. For timers: test_process_timers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.typeinfo import Types
from millrace.datastream.functions import KeyedProcessFunction, ProcessFunction, RuntimeContext
from millrace.datastream.output_tag import OutputTag
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.failure import OperatorError
from millrace.testing import (
    Element,
    OperatorHarness,
    ProcessingTime,
    Record,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
)

ODD = OutputTag("odd", Types.INT())


class Sort(ProcessFunction):
    """Even numbers to the main output, odd ones to the side, zero to both, five to none."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2 or value == 0:
            if value != 5:
                yield ODD, value
        if value % 2 == 0:
            yield value


@given(st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(0, 100)), max_size=10))
def test_side_outputs(elements: list[tuple[int, int | None]]) -> None:
    outcome = check_variants(
        lambda: OperatorHarness.for_function(Sort(), side_outputs=[ODD]),
        [Element(value, timestamp) for value, timestamp in elements],
        [Record(value, timestamp) for value, timestamp in elements if value % 2 == 0],
        sides={"odd": [Record(v, timestamp) for v, timestamp in elements if v in (0, 1, 3)]},
    )
    assert set(outcome.sides) <= {"odd"}


def test_side_outputs_have_a_type() -> None:
    harness = OperatorHarness.for_function(Sort(), side_outputs=[OutputTag("odd", Types.STRING())]).open()
    with pytest.raises(OperatorError, match="declared type"):
        harness.process_element(1)


class Ends(ProcessFunction):
    """Returns None and lists, as process functions may."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        return value


def test_results_may_be_any_iterable_or_none() -> None:
    script = [Element(None), Element([1, 2]), Element((ODD, 3)), Element([])]
    # A returned pair is an iterable of two results: only what is yielded as a pair goes to a side output.
    with OperatorHarness.for_function(Ends()) as harness:
        for step in script:
            harness.process_element(step.value)
    assert harness.values == [1, 2, ODD, 3]


class Clock(ProcessFunction):
    """What a process function can know about time."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        yield (value, ctx.timestamp(), timers.current_watermark(), timers.current_processing_time())


def test_time_without_a_key() -> None:
    script: list[Step] = [
        Element("a", 10), WatermarkStep(9), ProcessingTime(500), Element("b"), Element("c", 3), WatermarkStep(20),
        Element("d", 7),
    ]  # fmt: skip
    expected = [("a", 10, MIN_TIMESTAMP, 0), ("b", None, 9, 500), ("c", 3, 9, 500), ("d", 7, 20, 500)]
    check_variants(lambda: OperatorHarness.for_function(Clock()), script, expected)


class Timers(ProcessFunction):
    def __init__(self, method: str) -> None:
        self.method = method

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
        getattr(ctx.timer_service(), self.method)(1)


@pytest.mark.parametrize("domain", ["event", "processing"])
@pytest.mark.parametrize("verb", ["register", "delete"])
def test_timers_need_a_key(verb: str, domain: str) -> None:
    harness = OperatorHarness.for_function(Timers(f"{verb}_{domain}_time_timer")).open()
    with pytest.raises(OperatorError, match="keyed stream"):
        harness.process_element(1)


class Keyed(KeyedProcessFunction):
    """Counts per key; each third element of a key goes to the side."""

    THIRD = OutputTag("third")

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        if count == 3:
            self.count.clear()
            yield self.THIRD, (ctx.get_current_key(), value)
        else:
            self.count.update(count)
            yield (ctx.get_current_key(), count, ctx.timestamp())


@given(st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(0, 99)), max_size=12))
def test_keyed_state_belongs_to_the_key(elements: list[tuple[int, int | None]]) -> None:
    counts: dict[int, int] = {}
    main, third = [], []
    for value, timestamp in elements:
        counts[value] = counts.get(value, 0) + 1
        if counts[value] == 3:
            counts[value] = 0
            third.append(Record((value, value), timestamp))
        else:
            main.append(Record((value, counts[value], timestamp), timestamp))
    check_variants(
        lambda: OperatorHarness.for_function(Keyed(), key_selector=lambda value: value),
        [Element(value, timestamp) for value, timestamp in elements],
        main,
        sides={"third": third},
    )


def test_state_can_be_looked_at() -> None:
    with OperatorHarness.for_function(Keyed(), key_selector=lambda value: value) as harness:
        for value in (7, 7, 8):
            harness.process_element(value)
        assert harness.state_of(7, "count") == 2
        assert harness.state_of(9, "count") is None
        assert harness.keys("count") == [7, 8]


class Domain(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.time_domain()


def test_the_time_domain_is_that_of_a_timer() -> None:
    harness = OperatorHarness.for_function(Domain(), key_selector=lambda value: value).open()
    with pytest.raises(OperatorError, match="on_timer"):
        harness.process_element(1)


def test_watermarks_pass_when_nothing_is_due() -> None:
    script: list[Step] = [Element(1, 1), WatermarkStep(5), WatermarkStep(3), WatermarkStep(7)]
    check_variants(
        lambda: OperatorHarness.for_function(Keyed(), key_selector=lambda value: value),
        script,
        [Record((1, 1, 1), 1), Watermark(5), Watermark(7)],
    )
