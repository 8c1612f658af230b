"""The trigger that counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import Driver

from millrace.datastream.window import CountTrigger, GlobalWindow, TimeWindow, TriggerResult

A, B, C = TimeWindow(0, 5), TimeWindow(3, 9), TimeWindow(0, 9)
CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE


@given(st.integers(1, 7), st.lists(st.sampled_from([A, B])))
def test_every_nth_element_of_a_window_fires(size: int, windows: list[TimeWindow]) -> None:
    driver = Driver(CountTrigger.of(size))
    fired = [driver.element(window) is FIRE for window in windows]
    assert fired == [windows[: number + 1].count(window) % size == 0 for number, window in enumerate(windows)]


@given(st.integers(1, 7), st.integers(0, 10), st.integers(0, 10))
def test_merged_windows_go_on_from_the_sum(size: int, in_a: int, in_b: int) -> None:
    driver = Driver(CountTrigger.of(size))
    for window in [A] * in_a + [B] * in_b:
        driver.element(window)
    assert driver.trigger.can_merge()
    driver.merge([A, B], C)
    counted = in_a % size + in_b % size
    answers = [driver.element(C) for _ in range(size)]
    first = max(0, size - counted - 1)
    assert answers.index(FIRE) == first


def test_timers_do_nothing() -> None:
    driver = Driver(CountTrigger.of(2))
    driver.element(GlobalWindow())
    driver.register_event_time_timer(5)
    driver.register_processing_time_timer(5)
    assert driver.to_watermark(5) == driver.to_time(5) == [(5, CONTINUE)]
    assert driver.element(GlobalWindow()) is FIRE


def test_clear_forgets_the_count() -> None:
    driver = Driver(CountTrigger.of(2))
    driver.element(A)
    driver.clear(A)
    assert driver.is_clean()
    assert driver.element(A) is CONTINUE
    assert repr(driver.trigger) == "CountTrigger(2)"
