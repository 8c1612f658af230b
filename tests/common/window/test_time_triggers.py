"""The triggers that fire at the end of a window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import Driver

from millrace.datastream.window import EventTimeTrigger, ProcessingTimeTrigger, TimeWindow, TriggerResult

WINDOW = TimeWindow(0, 10)
CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE

# An element, or the time that the clock moves to.
steps = st.lists(st.one_of(st.none(), st.integers(-5, 20)), max_size=12)


@given(steps)
def test_event_time(given_steps: list[int | None]) -> None:
    driver, answers, expected = Driver(EventTimeTrigger.create()), [], []
    waiting = False
    for step in given_steps:
        over = driver.watermark >= 9
        if step is None:
            answers.append(driver.element(WINDOW))
            expected.append(FIRE if over else CONTINUE)
            waiting = waiting or not over
        elif step > driver.watermark:
            answers.append(driver.to_watermark(step))
            expected.append([(9, FIRE)] if waiting and step >= 9 else [])
            waiting = waiting and step < 9
    assert answers == expected


@given(steps)
def test_processing_time(given_steps: list[int | None]) -> None:
    driver, answers, expected = Driver(ProcessingTimeTrigger.create(), now=-10), [], []
    waiting = False
    for step in given_steps:
        if step is None:
            answers.append(driver.element(WINDOW))
            expected.append(CONTINUE)
            waiting = True
        elif step > driver.now:
            answers.append(driver.to_time(step))
            expected.append([(9, FIRE)] if waiting and step >= 9 else [])
            waiting = waiting and step < 9
    assert answers == expected


def test_the_other_clock_does_nothing() -> None:
    event, processing = Driver(EventTimeTrigger()), Driver(ProcessingTimeTrigger())
    event.register_processing_time_timer(9)
    assert event.to_time(9) == [(9, CONTINUE)]
    processing.register_event_time_timer(9)
    assert processing.to_watermark(9) == [(9, CONTINUE)]


def test_event_time_fires_only_at_the_end() -> None:
    driver = Driver(EventTimeTrigger())
    driver.element(WINDOW)
    driver.register_event_time_timer(12)  # that at which the window is dropped, if lateness is allowed
    assert driver.to_watermark(12) == [(9, FIRE), (12, CONTINUE)]


def test_merged_windows_fire_at_their_new_end() -> None:
    event, processing = Driver(EventTimeTrigger()), Driver(ProcessingTimeTrigger())
    for driver in (event, processing):
        assert driver.trigger.can_merge()
        driver.element(TimeWindow(0, 10))
        driver.element(TimeWindow(12, 20))
        driver.merge([TimeWindow(0, 10), TimeWindow(12, 20)], TimeWindow(0, 20))
    assert event.to_watermark(30) == [(19, FIRE)]
    assert processing.to_time(30) == [(19, FIRE)]


def test_windows_that_are_over_set_no_timer_when_they_merge() -> None:
    event, processing = Driver(EventTimeTrigger()), Driver(ProcessingTimeTrigger(), now=9)
    event.to_watermark(9)
    for driver in (event, processing):
        driver.merge([TimeWindow(0, 5), TimeWindow(5, 10)], TimeWindow(0, 10))
        assert driver.is_clean()


def test_clear_deletes_the_timers() -> None:
    for driver in (Driver(EventTimeTrigger()), Driver(ProcessingTimeTrigger())):
        driver.element(WINDOW)
        assert not driver.is_clean()
        driver.clear(WINDOW)
        assert driver.is_clean()


def test_their_text() -> None:
    assert repr(EventTimeTrigger()) == "EventTimeTrigger()"
    assert repr(ProcessingTimeTrigger()) == "ProcessingTimeTrigger()"
