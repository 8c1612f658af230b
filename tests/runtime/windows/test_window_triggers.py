"""Every built-in trigger in the operator, against a few lines of plain Python about one key and window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.windows.window_events import Event, Fired, Naive, by_window, expected_of, with_clock
from tests.runtime.windows.window_oracle import MIN, Span, grid
from tests.runtime.windows.windowing import MAX, Show, compare, operators_for, run_steps

from millrace.common.time import Duration, Time
from millrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.testing import Element, EndInput, ProcessingTime, Record, Step, WatermarkStep, check_variants

ms = Time.milliseconds


def count(size: int, purges: bool = False) -> Naive:
    def fire(events: list[Event], last: int) -> Iterator[Fired]:
        seen = [event for event in events if event.value]
        for number in range(size, len(seen) + 1, size):
            contents = [event.value for event in seen[number - size if purges else 0 : number]]
            yield Fired(seen[number - 1].place, 0, contents, seen[number - 1].timestamp)

    return fire


def end_of_window(purges: bool = False) -> Naive:
    def fire(events: list[Event], last: int) -> Iterator[Fired]:
        contents, is_over = [], False
        for event in events:
            if event.value:
                contents.append(event.value)
            fires = event.watermark >= last and (event.value or not is_over)
            is_over = event.watermark >= last
            if fires and contents:
                yield Fired(event.place, last, list(contents), event.timestamp)
                if purges:
                    contents.clear()

    return fire


def every(interval: int, in_event_time: bool) -> Naive:
    """At all multiples of the interval after the first element, and at the end of the window."""

    def fire(events: list[Event], last: int) -> Iterator[Fired]:
        contents: list[Any] = []
        following: int | None = None
        reached = events[0].watermark
        for event in events:
            moved, reached = event.watermark > reached, event.watermark
            if event.value:
                contents.append(event.value)
                if in_event_time and event.watermark >= last:
                    yield Fired(event.place, 0, list(contents), event.timestamp)
                elif following is None:
                    begin = event.timestamp if in_event_time else event.clock
                    following = min(begin - begin % interval + interval, last)
                continue
            if in_event_time and not moved:
                continue  # a timer of the past waits for the next watermark
            now = event.watermark if in_event_time else event.clock
            if now == last == MAX:
                following = last  # no end of the window but that of the input
            while following is not None and following <= min(now, last):
                yield Fired(event.place, following, list(contents), following if in_event_time else None)
                following = min(following + interval, last) if following < last else MAX + 1

    return fire


def delta(threshold: int) -> Naive:
    def fire(events: list[Event], last: int) -> Iterator[Fired]:
        seen = [event for event in events if event.value]
        reference = seen[0].value[1] if seen else 0
        for number, event in enumerate(seen):
            if abs(event.value[1] - reference) > threshold:
                reference = event.value[1]
                yield Fired(event.place, 0, [each.value for each in seen[: number + 1]], event.timestamp)

    return fire


def never(events: list[Event], last: int) -> Iterator[Fired]:
    return iter(())


def end_of_stream(events: list[Event], last: int) -> Iterator[Fired]:
    contents = [event.value for event in events if event.value]
    for event in events:
        if event.watermark == MAX and not event.value:
            yield Fired(event.place, MAX, contents, MAX)


def timeout(size: int, interval: int, resets: bool, clears: bool) -> Naive:
    """Count, or the time since the first element after a firing (``resets``: since the last element) is over."""

    def fire(events: list[Event], last: int) -> Iterator[Fired]:
        contents: list[Any] = []
        counted, deadline, is_set = 0, 0, False
        for event in events:
            if event.value:
                contents.append(event.value)
                counted += 1
                if counted == size:
                    yield Fired(event.place, 0, list(contents), event.timestamp)
                    counted, deadline, is_set = 0, 0, False
                elif not deadline or resets:
                    deadline, is_set = event.clock + interval, True
            elif is_set and event.clock >= deadline:
                yield Fired(event.place, deadline, list(contents), None)
                is_set = False
                if clears:
                    counted, deadline = 0, 0

    return fire


TUMBLING, SLIDING = TumblingEventTimeWindows.of(ms(20)), SlidingEventTimeWindows.of(ms(20), ms(10))
GRIDS: dict[Any, Callable[[int], list[Span]]] = {TUMBLING: grid(20, 20), SLIDING: grid(20, 10)}
ALL = GlobalWindows.create()


def distance(old: Any, new: Any) -> float:
    return float(abs(old[1] - new[1]))


def _timeout(*settings: Any) -> ProcessingTimeoutTrigger[Any, Any]:
    return ProcessingTimeoutTrigger.of(CountTrigger.of(3), Duration.of_millis(10), *settings)


TRIGGERS: dict[str, tuple[Any, Any, Naive]] = {
    "count": (ALL, CountTrigger.of(3), count(3)),
    "count in windows": (SLIDING, CountTrigger.of(2), count(2)),
    "purging count": (ALL, PurgingTrigger.of(CountTrigger.of(3)), count(3, purges=True)),
    "event time": (SLIDING, EventTimeTrigger.create(), end_of_window()),
    "purging event time": (TUMBLING, PurgingTrigger.of(EventTimeTrigger.create()), end_of_window(purges=True)),
    "continuous event time": (TUMBLING, ContinuousEventTimeTrigger.of(ms(6)), every(6, True)),
    "continuous event time, sliding": (SLIDING, ContinuousEventTimeTrigger.of(ms(4)), every(4, True)),
    "continuous event time, all": (ALL, ContinuousEventTimeTrigger.of(ms(6)), every(6, True)),
    "continuous processing time": (ALL, ContinuousProcessingTimeTrigger.of(ms(7)), every(7, False)),
    "delta": (ALL, DeltaTrigger.of(3, distance), delta(3)),
    "delta in windows": (TUMBLING, DeltaTrigger.of(2, distance), delta(2)),
    "never": (TUMBLING, NeverTrigger(), never),
    "end of stream": (ALL, EndOfStreamTrigger(), end_of_stream),
    "timeout": (ALL, _timeout(), timeout(3, 10, False, True)),
    "timeout, reset": (ALL, _timeout(True), timeout(3, 10, True, True)),
    "timeout, not cleared": (ALL, _timeout(False, False), timeout(3, 10, False, False)),
    "timeout, reset, not cleared": (ALL, _timeout(True, False), timeout(3, 10, True, False)),
}


@pytest.mark.parametrize("name", TRIGGERS)
@settings(max_examples=examples(20))
@given(script=with_clock(), lateness=st.sampled_from([0, 0, 15]))
def test_against_the_naive_one(name: str, script: list[Step], lateness: int) -> None:
    assigner, trigger, naive = TRIGGERS[name]
    windows_of = GRIDS.get(assigner)
    makers = operators_for(assigner, function=Show(), trigger=trigger, allowed_lateness=lateness)
    expected = expected_of(script, windows_of, naive, lateness)
    for operator, make in makers.items():
        found, _ = run_steps(make, script)
        for place, step in enumerate(script):
            assert by_window(found[place].records) == by_window(expected[place]), (operator, place, step)
        outcome = check_variants(make, script, key=lambda value: value[0], random_runs=2)
        assert by_window(outcome.records) == by_window([record for step in expected for record in step])


def test_processing_time_in_windows_of_event_time() -> None:
    """Worked by hand: the clock decides when windows fire, the watermark when they go."""
    makers = operators_for(TUMBLING, function=Show(), trigger=ProcessingTimeTrigger.create())
    one, two, three = (("k", number) for number in (1, 2, 3))
    script: list[Step] = [
        Element(one, 5),
        Element(two, 25),
        ProcessingTime(18),
        ProcessingTime(19),
        WatermarkStep(30),
        Element(three, 12),  # [0, 20) is gone
        ProcessingTime(60),
        EndInput(),
    ]
    first, second = Record(("k", (0, 20), (one,), MIN), 19), Record(("k", (20, 40), (two,), 30), 39)
    compare(makers, script, [[], [], [], [first], [], [], [second], []], dropped=1)
