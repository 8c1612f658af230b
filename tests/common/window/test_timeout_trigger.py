"""The trigger that does not wait for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import Driver

from millrace.common.time import Time
from millrace.datastream.window import (
    CountTrigger,
    EventTimeTrigger,
    GlobalWindow,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    TriggerResult,
)

CONTINUE, FIRE, FIRE_AND_PURGE = TriggerResult.CONTINUE, TriggerResult.FIRE, TriggerResult.FIRE_AND_PURGE
WINDOW = GlobalWindow()
MS_10 = Time.milliseconds(10)


def times_of(driver: Driver, arrivals: list[int]) -> list[int]:
    """When the window fires, if an element comes at each of ``arrivals``."""
    fired = []
    for now in arrivals:
        fired += [time for time, result in driver.to_time(now) if result is FIRE]
        if driver.element(WINDOW) is FIRE:
            fired.append(now)
    return fired + [time for time, _ in driver.to_time(10**6)]


arrivals = st.lists(st.integers(0, 60)).map(sorted)


@given(arrivals, st.integers(1, 4))
def test_it_fires_when_full_or_ten_ms_after_the_first_element(times: list[int], size: int) -> None:
    expected: list[int] = []
    batch: list[int] = []
    for now in times:
        if batch and now >= batch[0] + 10:
            expected.append(batch[0] + 10)
            batch = []
        batch.append(now)
        if len(batch) == size:
            expected.append(now)
            batch = []
    expected += [batch[0] + 10] if batch else []
    driver = Driver(ProcessingTimeoutTrigger.of(CountTrigger.of(size), MS_10))
    assert times_of(driver, times) == expected
    assert driver.is_clean()


@given(arrivals)
def test_it_fires_ten_ms_after_the_last_element(times: list[int]) -> None:
    expected = [now + 10 for now, after in zip(times, [*times[1:], 10**6]) if after >= now + 10]
    driver = Driver(ProcessingTimeoutTrigger.of(CountTrigger.of(1000), MS_10, reset_timer_on_new_record=True))
    assert times_of(driver, times) == expected
    assert driver.is_clean()


def test_the_count_may_outlive_the_timeout() -> None:
    kept = ProcessingTimeoutTrigger.of(CountTrigger.of(2), MS_10, False, should_clear_on_timeout=False)
    cleared = ProcessingTimeoutTrigger.of(CountTrigger.of(2), MS_10)
    answers = []
    for trigger in (kept, cleared):
        driver = Driver(trigger)
        driver.element(WINDOW)
        assert driver.to_time(10) == [(10, FIRE)]
        answers.append(driver.element(WINDOW))
    assert answers == [FIRE, CONTINUE]


def test_without_clearing_the_timeout_is_over_once() -> None:
    # As in Flink: the time of the timeout stays in the state, so that no other begins.
    driver = Driver(ProcessingTimeoutTrigger.of(CountTrigger.of(9), MS_10, False, False))
    driver.element(WINDOW)
    assert driver.to_time(10) == [(10, FIRE)]
    driver.element(WINDOW)
    assert driver.to_time(100) == []


def test_it_purges_if_the_nested_trigger_does_at_that_timer() -> None:
    window = TimeWindow(0, 10)
    driver = Driver(ProcessingTimeoutTrigger.of(PurgingTrigger.of(EventTimeTrigger()), MS_10))
    driver.element(window)
    assert driver.to_time(10) == [(10, FIRE)]
    driver.element(window)
    assert driver.to_watermark(9) == [(9, FIRE_AND_PURGE)]
    assert driver.is_clean()


def test_every_timer_of_the_nested_trigger_fires() -> None:
    driver = Driver(ProcessingTimeoutTrigger.of(ProcessingTimeTrigger(), Time.seconds(1)))
    driver.element(TimeWindow(0, 10))
    assert driver.to_time(9) == [(9, FIRE)]
    assert driver.is_clean()


def test_clear_forgets_everything() -> None:
    driver = Driver(ProcessingTimeoutTrigger.of(CountTrigger.of(5), MS_10))
    driver.element(WINDOW)
    assert not driver.is_clean()
    driver.clear(WINDOW)
    assert driver.is_clean()


def test_windows_can_not_merge() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(5), MS_10)
    assert not trigger.can_merge()
    with pytest.raises(NotImplementedError, match=r"^ProcessingTimeoutTrigger\(CountTrigger\(5\), 10\) can't be used"):
        Driver(trigger).merge([TimeWindow(0, 2), TimeWindow(1, 3)], TimeWindow(0, 3))
