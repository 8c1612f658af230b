"""The triggers that fire at regular intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import Driver, Fired

from millrace.common.time import Duration, Time
from millrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    GlobalWindow,
    TimeWindow,
    TriggerResult,
)

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
EVENT, PROCESSING = ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger

intervals = st.integers(1, 15)
starts = st.integers(-40, 40)
lengths = st.integers(1, 40)


def naive(window: TimeWindow, first: int, interval: int) -> Fired:
    """All multiples of the interval after ``first`` that lie in the window, and its last millisecond."""
    times = {time for time in range(first + 1, window.end) if time % interval == 0}
    return [(time, FIRE) for time in sorted(times | {window.max_timestamp()})]


@given(intervals, starts, lengths, st.data())
def test_event_time(interval: int, start: int, length: int, data: st.DataObject) -> None:
    window = TimeWindow(start, start + length)
    elements = data.draw(st.lists(st.integers(start, start + length - 1), min_size=1))
    watermarks = sorted(data.draw(st.lists(st.integers(start - 5, window.end + 5))))
    driver = Driver(EVENT(interval))
    fired: Fired = []
    for element in elements:
        assert driver.element(window, element) is (FIRE if driver.watermark >= window.max_timestamp() else CONTINUE)
        if watermarks:
            fired += driver.to_watermark(watermarks.pop(0))
    fired += driver.to_watermark(window.end + 10)
    assert [answer for answer in fired if answer[1] is FIRE] == naive(window, elements[0], interval)
    driver.clear(window)
    assert driver.is_clean()


@given(intervals, starts, lengths, st.data())
def test_processing_time(interval: int, start: int, length: int, data: st.DataObject) -> None:
    window = TimeWindow(start, start + length)
    times = sorted(data.draw(st.lists(st.integers(start, start + length - 1), min_size=1)))
    driver = Driver(PROCESSING(interval))
    fired: Fired = []
    for time in times:
        fired += driver.to_time(time)
        assert driver.element(window) is CONTINUE
    fired += driver.to_time(window.end + 10)
    assert [answer for answer in fired if answer[1] is FIRE] == naive(window, times[0], interval)
    driver.clear(window)
    assert driver.is_clean()


def test_late_elements_fire_at_once() -> None:
    driver = Driver(EVENT.of(Time.milliseconds(4)))
    driver.to_watermark(9)
    assert driver.element(TimeWindow(0, 10), 3) is FIRE
    assert driver.is_clean()


def test_a_global_window_never_ends() -> None:
    driver = Driver(EVENT.of(Time.seconds(5)))
    driver.element(GlobalWindow(), 12_000)
    assert driver.to_watermark(30_000) == [(15_000, FIRE), (20_000, FIRE), (25_000, FIRE), (30_000, FIRE)]
    clock = Driver(PROCESSING.of(Time.seconds(5)), now=12_000)
    clock.element(GlobalWindow())
    assert clock.to_time(22_000) == [(15_000, FIRE), (20_000, FIRE)]


def test_merged_windows_fire_at_the_earliest_of_their_times_and_at_their_new_end() -> None:
    early, late, both = TimeWindow(2, 12), TimeWindow(11, 21), TimeWindow(2, 21)
    event = Driver(EVENT(5))
    assert event.trigger.can_merge()
    event.element(late, 11)
    event.element(early, 2)
    event.merge([early, late], both)
    event.element(both, 11)  # the element for which the windows merged
    fired = [(time, window) for time, window in sorted(event.event_timers) if window == both]
    assert fired == [(5, both), (20, both)]
    # The timers of the windows that are no more can't be known any longer. An operator leaves them out.
    event.event_timers = {(time, window) for time, window in event.event_timers if window == both}
    assert event.to_watermark(30) == [(5, FIRE), (10, FIRE), (15, FIRE), (20, FIRE)]

    clock = Driver(PROCESSING(5), now=2)
    clock.element(early)
    clock.merge([early, late], both)
    clock.processing_timers = {(time, window) for time, window in clock.processing_timers if window == both}
    assert clock.to_time(30) == [(5, FIRE), (10, FIRE), (15, FIRE), (20, FIRE)]


def test_windows_without_elements_merge_without_a_timer() -> None:
    for driver in (Driver(EVENT(5)), Driver(PROCESSING(5))):
        driver.merge([TimeWindow(0, 2), TimeWindow(1, 3)], TimeWindow(0, 3))
        assert driver.is_clean()


def test_the_other_clock_does_nothing() -> None:
    event, processing = Driver(EVENT(5)), Driver(PROCESSING(5))
    event.element(TimeWindow(0, 10), 1)
    event.register_processing_time_timer(5)
    assert event.to_time(20) == [(5, CONTINUE)]
    processing.element(TimeWindow(0, 10), 1)
    processing.register_event_time_timer(5)
    assert processing.to_watermark(20) == [(5, CONTINUE)]


def test_event_time_needs_timestamps() -> None:
    with pytest.raises(ValueError, match=r"^ContinuousEventTimeTrigger\(5\) needs event time, but the element has no"):
        Driver(EVENT(5)).element(GlobalWindow())


@pytest.mark.parametrize("trigger", [EVENT, PROCESSING])
def test_the_interval(trigger: type[ContinuousEventTimeTrigger]) -> None:
    made = trigger.of(Duration.of_seconds(2))
    assert (type(made), made.interval, repr(made)) == (trigger, 2000, f"{trigger.__name__}(2000)")
    with pytest.raises(ValueError, match=rf"^{trigger.__name__} needs an interval > 0, not 0 ms$"):
        trigger.of(Time.seconds(0))
