"""``IntervalJoinOperator`` against a nested loop over the whole input."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream.functions import ProcessJoinFunction, RuntimeContext
from millrace.datastream.output_tag import OutputTag
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators import two_input_operators
from millrace.runtime.operators.two_input_operators import LEFT_BUFFER, RIGHT_BUFFER
from millrace.testing import (
    Element,
    EndInput,
    OperatorHarness,
    Record,
    Status,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
    interval_join_harness,
    run_script,
)

MIN, MAX = -(2**63), 2**63 - 1
LATE_LEFT, LATE_RIGHT = OutputTag("late left"), OutputTag("late right")


class Pairs(ProcessJoinFunction):
    """Everything that the function is told."""

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left, right, ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()


def key_of(value: tuple[Any, int]) -> Any:
    return value[0]


def harness(lower: int, upper: int, function: ProcessJoinFunction | None = None, **settings: Any) -> OperatorHarness:
    bounds = Time.milliseconds(lower), Time.milliseconds(upper)
    return interval_join_harness(function or Pairs(), *bounds, key_of, **settings)


class Arrived:
    """Every element of the script with what was known when it came."""

    def __init__(self, element: Element, watermark: int, place: int) -> None:
        assert element.timestamp is not None
        self.value, self.time, self.input = element.value, element.timestamp, element.input
        self.late = self.time < watermark
        self.place = place


def oracle(script: Sequence[Step], lower: int, upper: int) -> tuple[list[Any], list[list[Record]]]:
    """Main output with watermarks, and the late elements of each input: a nested loop over all that came before."""
    output: list[Any] = []
    late: list[list[Record]] = [[], []]
    arrived: list[Arrived] = []
    marks = [MIN, MIN]
    the_end = [WatermarkStep(MAX, 0), WatermarkStep(MAX, 1)]
    for place, step in enumerate([*script[:-1], *the_end]):
        before = min(marks)
        if isinstance(step, WatermarkStep):
            marks[step.input] = max(marks[step.input], step.timestamp)
        else:
            assert isinstance(step, Element)
            new = Arrived(step, before, place)
            if new.late:
                late[new.input].append(Record(new.value, new.time))
            else:
                output += pairs_of(new, arrived, lower, upper)
            arrived.append(new)
        if min(marks) > before:
            output.append(Watermark(min(marks)))
    return [*output, Status.FINISHED], late


def pairs_of(new: Arrived, earlier: list[Arrived], lower: int, upper: int) -> list[Record]:
    found = []
    for other in sorted(earlier, key=lambda element: (element.time, element.place)):
        left, right = (new, other) if new.input == 0 else (other, new)
        if other.late or other.input == new.input or other.value[0] != new.value[0]:
            continue
        if lower <= right.time - left.time <= upper:
            later = max(left.time, right.time)
            found.append(Record((left.value, right.value, left.time, right.time, later), later))
    return found


TIMES = st.integers(-3, 12)
BOUNDS = st.tuples(st.integers(-4, 4), st.integers(-4, 4)).map(sorted)


@st.composite
def scripts(draw: st.DrawFn, times: st.SearchStrategy[int] = TIMES) -> list[Step]:
    """Elements (key, number) of both inputs in any order, watermarks in between."""
    steps: list[Step] = []
    for number in range(draw(st.integers(0, 16))):
        if draw(st.integers(0, 3)):
            value = (draw(st.sampled_from("ab")), number)
            steps.append(Element(value, draw(times), draw(st.integers(0, 1))))
        else:
            steps.append(WatermarkStep(draw(times), draw(st.integers(0, 1))))
    return [*steps, EndInput()]


@given(scripts(), BOUNDS)
def test_against_the_nested_loop(script: list[Step], bounds: tuple[int, int]) -> None:
    expected, late = oracle(script, *bounds)
    check_variants(
        lambda: harness(*bounds, left_late_tag=LATE_LEFT, right_late_tag=LATE_RIGHT),
        script,
        expected,
        sides={"late left": late[0], "late right": late[1]},
    )


@given(scripts(TIMES.map(lambda time: time * 300)), BOUNDS.map(lambda bounds: [bound * 300 for bound in bounds]))
def test_over_a_longer_time(script: list[Step], bounds: tuple[int, int]) -> None:
    """Far enough apart for elements to be forgotten while others come."""
    expected, late = oracle(script, *bounds)
    check_variants(lambda: harness(*bounds), script, expected)
    with harness(*bounds) as counting:
        for step in script[:-1]:
            if isinstance(step, Element):
                counting.process_element(*step)
            elif isinstance(step, WatermarkStep):
                counting.process_watermark(*step)
        assert counting.counter("numLateRecordsDropped") == len(late[0]) + len(late[1])


@pytest.mark.parametrize("seed", range(4))
def test_on_disk_against_the_nested_loop(seed: int) -> None:
    """Nothing that has not changed stays in memory there, and equal times are frequent."""
    draw = random.Random(seed)
    span = (10, 300, 3000)[seed % 3]
    lower, upper = sorted((draw.randrange(-span, span), draw.randrange(-span, span)))
    script: list[Step] = []
    watermark = 0
    for number in range(50):
        if draw.random() < 0.75:
            time = max(0, watermark + draw.randrange(-span // 5, span))
            script.append(Element((draw.choice("abcdef"), number), time, draw.randrange(2)))
        else:
            watermark += draw.randrange(span // 2)
            script.append(WatermarkStep(watermark, draw.randrange(2)))
    script.append(EndInput())
    expected, _ = oracle(script, lower, upper)
    check_variants(lambda: harness(lower, upper), script, expected, seed=seed)


def test_on_disk_its_elements_are_rows_of_runs() -> None:
    with harness(-100, 100, state_backend=EmbeddedRocksDBStateBackend()) as joined:
        joined.process_elements([((key, 0), key) for key in range(50)], input=0)
        joined.snapshot_delta()
        joined.process_element((7, 1), 50, input=1)
        assert [value[0] for value in joined.values] == [(7, 0)]
        joined.end_slice()
        figures = joined.operator.keyed_state().figures()[LEFT_BUFFER]
        assert figures["num-files"] == 1
        assert figures["rows-evicted"] == 49, "what has neither changed nor been found has left memory"


@given(scripts(), BOUNDS)
def test_results_are_never_late(script: list[Step], bounds: tuple[int, int]) -> None:
    watermark = MIN
    for item in run_script(lambda: harness(*bounds), script).items:
        if isinstance(item, Watermark):
            watermark = item.timestamp
        elif isinstance(item, Record):
            assert item.timestamp is not None
            assert item.timestamp >= watermark


@given(scripts(), BOUNDS, st.integers(1, 3))
def test_results_go_out_in_pieces(script: list[Step], bounds: tuple[int, int], piece: int) -> None:
    expected, _ = oracle(script, *bounds)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(two_input_operators, "FLUSH_AT", piece)
        check_variants(lambda: harness(*bounds), script, expected)


def test_the_figure_of_the_tutorial() -> None:
    script: list[Step] = [
        Element(("k", 2), 2, 0), Element(("k", 3), 3, 0), Element(("k", 0), 0, 1), Element(("k", 1), 1, 1),
    ]  # fmt: skip
    values = run_script(lambda: harness(-2, 1), script).values
    assert [(left[1], right[1]) for left, right, *_ in values] == [(2, 0), (2, 1), (3, 1)]


def test_an_element_at_the_watermark_is_not_late_and_finds_all_its_partners() -> None:
    script: list[Step] = [
        Element(("k", 1), 5, 0), Element(("k", 2), 0, 0), WatermarkStep(10, 0), WatermarkStep(10, 1),
        Element(("k", 3), 10, 1), Element(("k", 4), 9, 1), Element(("k", 5), 10, 0),
    ]  # fmt: skip
    check_variants(
        lambda: harness(0, 10),
        script,
        [
            Watermark(10),
            Record((("k", 2), ("k", 3), 0, 10, 10), 10),
            Record((("k", 1), ("k", 3), 5, 10, 10), 10),
            Record((("k", 5), ("k", 3), 10, 10, 10), 10),
        ],
    )


class Sorting(ProcessJoinFunction):
    """Pairs to the side output by their keyed number; every third one nowhere."""

    SIDE = OutputTag("side", Types.INT())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any] | None:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        return self.results(seen, left[0]) if seen % 3 else None

    def results(self, seen: int, key: str) -> Iterator[Any]:
        yield self.SIDE, seen
        yield (key, seen)
        yield key


def test_side_outputs_and_keyed_state() -> None:
    script: list[Step] = [
        Element(("a", 1), 1, 0), Element(("b", 2), 2, 1), Element(("a", 3), 3, 1), Element(("b", 4), 4, 0),
        Element(("a", 5), 5, 1), Element(("a", 6), 6, 1), Element(("a", 7), 7, 1),
    ]  # fmt: skip
    main = [(("a", 1), 3), (("b", 1), 4), (("a", 2), 5), (("a", 4), 7)]
    check_variants(
        lambda: harness(-9, 9, Sorting(), side_outputs=[Sorting.SIDE]),
        script,
        [Record(value, time) for pair, time in main for value in (pair, pair[0])],
        sides={"side": [Record(pair[1], time) for pair, time in main]},
    )


def buffered(joined: OperatorHarness) -> int:
    return sum(len(joined.state_of(key, name)) for name in (LEFT_BUFFER, RIGHT_BUFFER) for key in joined.keys(name))


def test_memory_is_bounded_by_the_interval() -> None:
    with harness(-100, 200) as joined:
        most = 0
        for time in range(0, 20_000, 10):
            joined.process_element((time % 70, time), time, input=0)
            joined.process_element((time % 30, time), time, input=1)
            joined.process_watermark(time - 50, input=0)
            joined.process_watermark(time - 50, input=1)
            most = max(most, buffered(joined))
        # 300 ms at most on both sides, behind the watermark's 50 ms and, until they are looked for, 128 ms and twice.
        assert most <= 2 * 2 * (200 + 50 + 128) // 10
        # Keys that never come again are forgotten too.
        for input in (0, 1):
            joined.process_watermark(30_000, input)
        assert buffered(joined) == 0


def test_a_delta_holds_only_what_came() -> None:
    with harness(-(10**6), 10**6) as joined:
        joined.process_elements([((key, 0), key) for key in range(100)], input=0)
        joined.end_epoch()
        backend = joined.operator.keyed_state()
        backend.delta()
        joined.process_element((7, 1), 1000, input=1)
        assert backend.delta() == {RIGHT_BUFFER: ("time buffers", {7: ([1000], [(7, 1)])})}


@pytest.mark.parametrize(
    ("elements", "shown"), [([("a", 1)], "('a', 1)"), ([("a", 1), ("a", 2)], "('a', 2)")], ids=["none", "one of two"]
)
def test_elements_without_timestamps_are_refused(elements: list[Any], shown: str) -> None:
    joined = harness(0, 1).open()
    with pytest.raises(OperatorError) as caught:
        joined.process_elements([(value, None if value == elements[-1] else 5) for value in elements])
    assert caught.value.failure.element == shown
    assert "assign_timestamps_and_watermarks() before key_by()" in caught.value.failure.cause


class Fails(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left[1] / right[1]


def test_a_failure_shows_the_pair() -> None:
    joined = harness(0, 1, Fails()).open()
    joined.process_elements([(("a", 1), 5), (("b", 2), 5)])
    with pytest.raises(OperatorError) as caught:
        joined.process_elements([(("a", 1), 5), (("b", 0), 5)], input=1)
    assert caught.value.failure.element == "(('b', 2), ('b', 0))"
    assert "ZeroDivisionError" in caught.value.failure.cause


def test_the_harness_of_a_function_needs_bounds() -> None:
    with pytest.raises(TypeError, match=r"^Pairs needs bounds: make its harness with interval_join_harness\(\)$"):
        OperatorHarness.for_function(Pairs(), key_of)
