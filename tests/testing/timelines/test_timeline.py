"""Timelines: what they tell of a program is what the program does when nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Duration, Time, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.common.window import WindowAssigner
from millrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessWindowFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.failure import JobFailedError
from millrace.testing import run_locally
from millrace.testing.timelines import (
    Arrival,
    Event,
    TimelineError,
    TimerFired,
    TimerSet,
    WatermarkMoved,
    WindowFired,
    timeline,
)

LATE = OutputTag("late")
Element = tuple[str, int]
"""key, event time in ms"""


class At(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        time: int = value[1]
        return time


class Contents(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, sorted(elements)


def timed(elements: list[Element], slack: int = 2, parallelism: int = 1) -> DataStream:
    env = StreamExecutionEnvironment().set_parallelism(parallelism)
    strategy: Any = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(slack))
    return env.from_collection(elements).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(At()))


def windowed(elements: list[Element], assigner: WindowAssigner[Any, Any], lateness: int = 0) -> Any:
    windows: Any = timed(elements).key_by(lambda element: element[0]).window(assigner)
    return windows.allowed_lateness(Time.milliseconds(lateness)).side_output_late_data(LATE).process(Contents())


ASSIGNERS: dict[str, Callable[[], Any]] = {
    "tumbling": lambda: TumblingEventTimeWindows.of(Time.milliseconds(5)),
    "sliding": lambda: SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(3)),
    "sessions": lambda: EventTimeSessionWindows.with_gap(Time.milliseconds(3)),
}
ELEMENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), min_size=1, max_size=9)


@pytest.mark.parametrize("assigner", ASSIGNERS)
@settings(max_examples=8)  # each runs three jobs of an epoch per element
@given(elements=ELEMENTS, lateness=st.sampled_from([0, 4]))
def test_windows_and_late_elements_are_those_of_the_program(
    assigner: str, elements: list[Element], lateness: int
) -> None:
    (seen,) = timeline(windowed(elements, ASSIGNERS[assigner](), lateness)).operators
    plain = windowed(elements, ASSIGNERS[assigner](), lateness)
    late = run_locally(plain.get_side_output(LATE), epoch_records=1).collected
    fired = run_locally(windowed(elements, ASSIGNERS[assigner](), lateness), epoch_records=1).collected
    assert [event.results[0] for event in seen.fired] == fired
    assert [event.value for event in seen.late] == late
    assert [event.value for event in seen.events if isinstance(event, Arrival)] == elements
    for window in seen.fired:
        assert (window.key, sorted(window.elements)) == window.results[0]


def test_the_watermark_is_the_latest_time_less_the_slack() -> None:
    elements = [("a", 3), ("a", 9), ("a", 4), ("a", 12)]
    (seen,) = timeline(windowed(elements, ASSIGNERS["tumbling"]())).operators
    moved = [event.time for event in seen.events if isinstance(event, WatermarkMoved)]
    assert moved == [0, 6, 9, MAX_WATERMARK]


class Reminders(KeyedProcessFunction):
    """Sets a timer 5 ms ahead, and deletes that of the element before."""

    def __init__(self) -> None:
        self._last: dict[Any, int] = {}

    def process_element(self, value: Element, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        if value[0] in self._last:
            timers.delete_event_time_timer(self._last[value[0]])
        self._last[value[0]] = value[1] + 5
        timers.register_event_time_timer(value[1] + 5)
        timers.delete_event_time_timer(777)  # there is none
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


def test_timers_are_told_when_they_are_set_deleted_and_fire() -> None:
    stream: Any = timed([("a", 1), ("a", 3), ("b", 20)], slack=1).key_by(lambda element: element[0])
    (seen,) = timeline(stream.process(Reminders(), Types.PICKLED_BYTE_ARRAY())).operators
    timers = [event for event in seen.events if isinstance(event, (TimerSet, TimerFired))]
    assert timers == [
        TimerSet("a", 6, False),
        TimerSet("a", 6, False, deleted=True),
        TimerSet("a", 8, False),
        TimerSet("b", 25, False),
        TimerFired("a", 8, False),
        TimerFired("b", 25, False),
    ]
    arrived = [event.value for event in seen.events if isinstance(event, Arrival)]
    assert arrived == [("a", 1), ("a", 3), ("b", 20)]
    assert order(seen.events, TimerSet("a", 6, False)) > order(seen.events, Arrival("a", ("a", 1), 1, False))


def order(events: tuple[Event, ...], event: Event) -> int:
    return events.index(event)


def test_windows_of_a_count_have_no_times() -> None:
    windows: Any = timed([("a", 1), ("a", 2), ("a", 3)]).key_by(lambda element: element[0]).count_window(2)
    (seen,) = timeline(windows.reduce(lambda a, b: (a[0], a[1] + b[1]))).operators
    assert seen.fired == (WindowFired("a", None, None, (), (("a", 3),)),)


def test_a_trigger_that_fires_early() -> None:
    windows: Any = timed([("a", 1), ("a", 2)]).key_by(lambda element: element[0]).window(ASSIGNERS["tumbling"]())
    (seen,) = timeline(windows.trigger(CountTrigger.of(1)).process(Contents())).operators
    assert [len(window.elements) for window in seen.fired] == [1, 2]


def test_each_subtask_has_a_timeline_of_its_own() -> None:
    elements = [(key, number) for number, key in enumerate("abcdefgh")]
    keyed: Any = timed(elements, parallelism=2).key_by(lambda element: element[0])
    seen = timeline(keyed.window(ASSIGNERS["tumbling"]()).process(Contents())).operators
    assert [each.name.rpartition(" ")[2] for each in seen] == ["(1/2)", "(2/2)"]
    arrived = [event.value for each in seen for event in each.events if isinstance(event, Arrival)]
    assert sorted(arrived) == elements


def test_a_large_program_is_stopped() -> None:
    elements = [("a", number) for number in range(1000)]
    recorded = timeline(windowed(elements, ASSIGNERS["tumbling"]()), elements=10)
    assert not recorded.complete
    (seen,) = recorded.operators
    assert sum(isinstance(event, Arrival) for event in seen.events) == 10


def test_a_small_program_is_complete() -> None:
    assert timeline(windowed([("a", 1)], ASSIGNERS["tumbling"]())).complete


def test_nothing_to_show() -> None:
    env = StreamExecutionEnvironment()
    env.from_sequence(1, 3).print()
    with pytest.raises(TimelineError, match="neither windows nor a keyed process function"):
        timeline(env)


def test_batch_mode_is_refused() -> None:
    stream = windowed([("a", 1)], ASSIGNERS["tumbling"]())
    stream.get_execution_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)
    with pytest.raises(TimelineError, match="in batch mode no watermark moves"):
        timeline(stream)


class Broken(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        raise ValueError("out of order")


def test_a_failure_is_that_of_the_program() -> None:
    windows: Any = timed([("a", 1)]).key_by(lambda element: element[0]).window(ASSIGNERS["tumbling"]())
    with pytest.raises(JobFailedError, match="out of order"):
        timeline(windows.process(Broken()))
