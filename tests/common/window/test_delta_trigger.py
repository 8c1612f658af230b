"""The trigger that fires when elements move away."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import Driver

from millrace.datastream.window import DeltaFunction, DeltaTrigger, TimeWindow, TriggerResult

WINDOW, OTHER = TimeWindow(0, 5), TimeWindow(5, 10)
CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE


class Rise(DeltaFunction[int]):
    def get_delta(self, old_data_point: int, new_data_point: int) -> float:
        return new_data_point - old_data_point


def distance(old: int, new: int) -> int:
    return abs(new - old)


@given(st.integers(0, 10), st.lists(st.integers(-20, 20), min_size=1))
def test_it_fires_when_the_distance_to_the_last_firing_is_too_large(threshold: int, values: list[int]) -> None:
    driver = Driver(DeltaTrigger.of(threshold, distance))
    fired = [number for number, value in enumerate(values) if driver.element(WINDOW, value=value) is FIRE]
    # Between two firings nobody is too far from where the first of them was, and the second is.
    for begin, end in pairwise([0, *fired, len(values)]):
        assert all(distance(values[begin], value) <= threshold for value in values[begin:end])
        assert end == len(values) or distance(values[begin], values[end]) > threshold


def test_the_order_of_the_arguments() -> None:
    driver = Driver(DeltaTrigger.of(1.5, Rise()))
    assert [driver.element(WINDOW, value=value) for value in (5, 0, 6, 7, 8)] == [
        *(CONTINUE, CONTINUE, CONTINUE, FIRE, CONTINUE),
    ]


def test_each_window_has_its_own_point() -> None:
    driver = Driver(DeltaTrigger.of(3, distance))
    assert [driver.element(WINDOW, value=1), driver.element(OTHER, value=9)] == [CONTINUE, CONTINUE]
    assert [driver.element(WINDOW, value=9), driver.element(OTHER, value=9)] == [FIRE, CONTINUE]


def test_timers_do_nothing_and_windows_can_not_merge() -> None:
    driver = Driver(DeltaTrigger.of(3, distance))
    driver.element(WINDOW, value=1)
    driver.register_event_time_timer(5)
    driver.register_processing_time_timer(5)
    assert driver.to_watermark(5) == driver.to_time(5) == [(5, CONTINUE)]
    assert not driver.trigger.can_merge()
    with pytest.raises(NotImplementedError, match=r"^DeltaTrigger\(3\) can't be used with windows that merge"):
        driver.merge([WINDOW, OTHER], TimeWindow(0, 10))


def test_clear_forgets_the_point() -> None:
    driver = Driver(DeltaTrigger.of(3, distance))
    driver.element(WINDOW, value=1)
    driver.clear(WINDOW)
    assert driver.is_clean()
    assert driver.element(WINDOW, value=100) is CONTINUE


def test_something_that_is_no_function() -> None:
    with pytest.raises(TypeError) as caught:
        DeltaTrigger.of(3, 5)  # type: ignore[arg-type]
    assert str(caught.value) == "The delta function must be a DeltaFunction or a function of two elements, not 5"
