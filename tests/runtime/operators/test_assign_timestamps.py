"""``AssignTimestampsOperator``: timestamps, watermarks and idleness begin here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Duration
from millrace.common.watermark_strategy import (
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.timestamps import AssignTimestampsOperator
from millrace.testing import (
    Element,
    EndInput,
    EpochEnd,
    OperatorHarness,
    ProcessingTime,
    Record,
    Status,
    StatusStep,
    Step,
    Watermark,
    WatermarkStep,
    check_variants,
)

END = [Watermark(MAX_WATERMARK), Status.FINISHED]


class Second(TimestampAssigner):
    """The timestamp is the second field."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def assigning(strategy: WatermarkStrategy) -> OperatorHarness:
    return OperatorHarness(lambda: AssignTimestampsOperator(strategy))


STAMPED = st.lists(st.integers(0, 100).map(lambda t: Element(("v", t))), max_size=10)


@pytest.mark.parametrize("bound", [0, 10])
@given(script=STAMPED)
def test_periodic_watermarks(bound: int, script: list[Step]) -> None:
    """They come once per chunk: in all variants the last one before the end is the same, and none is too high."""
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
        if bound
        else WatermarkStrategy.for_monotonous_timestamps()
    ).with_timestamp_assigner(Second())
    times = [step.value[1] for step in script if isinstance(step, Element)]
    outcome = check_variants(lambda: assigning(strategy), [*script, EndInput()], watermarks=False)
    assert outcome.records == [Record(("v", t), t) for t in times]
    marks = [item.timestamp for item in outcome.items if isinstance(item, Watermark)]
    assert marks == [*([max(times) - bound - 1] if times else []), MAX_WATERMARK]
    with assigning(strategy) as harness:
        highest = -1
        for step in script:
            if isinstance(step, Element):
                harness.process_element(step.value)
                highest = max(highest, step.value[1])
                assert [w for w in harness.output if isinstance(w, Watermark)][-1] == Watermark(highest - bound - 1)


class Punctuated(WatermarkGenerator):
    """A watermark after every element that says so, at the highest timestamp yet."""

    def __init__(self) -> None:
        self.highest = MIN_TIMESTAMP

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.highest = max(self.highest, event_timestamp)
        if event[0] == "!":
            output.emit_watermark(self.highest)
        elif event[0] == "idle":
            output.mark_idle()

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


PUNCTUATED = WatermarkStrategy.for_generator(Punctuated).with_timestamp_assigner(Second())


@given(st.lists(st.tuples(st.sampled_from(["!", "v"]), st.integers(0, 50)).map(Element), max_size=12))
def test_punctuated_watermarks_stay_at_their_place(script: list[Step]) -> None:
    expected: list[Any] = []
    highest, last = MIN_TIMESTAMP, MIN_TIMESTAMP
    for step in script:
        assert isinstance(step, Element)
        kind, time = step.value
        expected.append(Record(step.value, time))
        highest = max(highest, time)
        if kind == "!" and highest > last:
            last = highest
            expected.append(Watermark(last))
    check_variants(lambda: assigning(PUNCTUATED), [*script, EndInput()], [*expected, *END])


def test_a_watermark_of_the_generator_ends_idleness() -> None:
    with assigning(PUNCTUATED) as harness:
        harness.process_elements([(("idle", 1), None), (("!", 2), None), (("idle", 3), None)])
        assert harness.output == [
            Record(("idle", 1), 1), Status.IDLE, Status.ACTIVE, Record(("!", 2), 2), Watermark(2),
            Record(("idle", 3), 3), Status.IDLE,
        ]  # fmt: skip


def test_no_watermarks() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(Second())
    script: list[Step] = [Element(("a", 5)), WatermarkStep(100), Element(("b", 3)), EndInput()]
    check_variants(lambda: assigning(strategy), script, [Record(("a", 5), 5), Record(("b", 3), 3), *END])


def test_without_an_assigner_the_timestamps_stay() -> None:
    script: list[Step] = [Element("a", 5), EpochEnd(), Element("b"), EpochEnd(), Element("c", 9), EndInput()]
    expected = [Record("a", 5), Watermark(4), Record("b"), Record("c", 9), Watermark(8), *END]
    check_variants(lambda: assigning(WatermarkStrategy.for_monotonous_timestamps()), script, expected)


def test_the_assigner_sees_the_former_timestamp() -> None:
    class Former(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return value if record_timestamp == MIN_TIMESTAMP else record_timestamp + 1

    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(Former())
    expected = [Record(1, 6), Record(2, 2), Record(3, 8)]
    check_variants(lambda: assigning(strategy), [Element(1, 5), Element(2), Element(3, 7)], expected)


def test_upstream_watermarks_and_status_end_here() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    script: list[Step] = [
        WatermarkStep(50), StatusStep(Status.IDLE), StatusStep(Status.ACTIVE), Element("a", 5), WatermarkStep(60),
        EndInput(),
    ]  # fmt: skip
    check_variants(lambda: assigning(strategy), script, [Record("a", 5), Watermark(4), *END])


def test_idleness() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(100))
    script: list[Step] = [
        ProcessingTime(1_000), Element("a", 5), ProcessingTime(1_099), ProcessingTime(1_100), ProcessingTime(1_500),
        Element("b", 9), ProcessingTime(1_590), Element("c", 9), ProcessingTime(1_680), ProcessingTime(1_690),
        EndInput(),
    ]  # fmt: skip
    expected = [
        Record("a", 5), Watermark(4), Status.IDLE, Status.ACTIVE, Record("b", 9), Watermark(8), Record("c", 9),
        Status.IDLE, Status.ACTIVE, *END,
    ]  # fmt: skip
    check_variants(lambda: assigning(strategy), script, expected)


def test_a_stream_that_never_begins_becomes_idle_too() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_idleness(Duration.of_millis(100))
    with assigning(strategy) as harness:
        harness.set_processing_time(1_000)
        harness.set_processing_time(1_099)
        assert harness.output == []
        harness.set_processing_time(1_100)
        assert harness.output == [Status.IDLE]


def test_a_failing_assigner_names_the_element() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    with assigning(strategy) as harness, pytest.raises(OperatorError) as caught:
        harness.process_elements([(("a", 1), None), (("b", "x"), None)])
    assert caught.value.failure.element == "('b', 'x')"
    assert caught.value.failure.during == " to extract a timestamp"
