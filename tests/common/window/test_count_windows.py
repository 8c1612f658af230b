"""Windows of a number of elements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import AssignerContext, Driver

from millrace.datastream.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    TriggerResult,
)

ELEMENTS = 60


def windows_of_elements(assigner: CountTumblingWindowAssigner | CountSlidingWindowAssigner) -> list[list[CountWindow]]:
    context = AssignerContext()
    return [list(assigner.assign_windows(number, None, context)) for number in range(ELEMENTS)]


def naive(size: int, slide: int) -> list[list[CountWindow]]:
    """Window ``id`` holds the ``size`` elements from number ``id * slide`` on; the latest window first."""
    ids = range(ELEMENTS, -1, -1)
    return [[CountWindow(id) for id in ids if id * slide <= number < id * slide + size] for number in range(ELEMENTS)]


@given(st.integers(1, 12))
def test_tumbling(size: int) -> None:
    assert windows_of_elements(CountTumblingWindowAssigner.of(size)) == naive(size, size)


@given(st.integers(1, 12), st.integers(1, 12))
def test_sliding(size: int, slide: int) -> None:
    assert windows_of_elements(CountSlidingWindowAssigner.of(size, slide)) == naive(size, slide)


@given(st.integers(1, 6), st.integers(1, 6))
def test_a_window_fires_when_it_is_full_and_leaves_nothing(size: int, slide: int) -> None:
    assigner = CountSlidingWindowAssigner(size, slide)
    driver = Driver(assigner.get_default_trigger(None))
    fired = []
    for number, windows in enumerate(windows_of_elements(assigner)):
        for window in windows:
            result = driver.element(window)
            if result is not TriggerResult.CONTINUE:
                fired.append((number, window, result))
    full = [(id * slide + size - 1, CountWindow(id)) for id in range(ELEMENTS) if id * slide + size <= ELEMENTS]
    assert fired == [(*number_and_window, TriggerResult.FIRE_AND_PURGE) for number_and_window in full]
    assert {window for _, window in driver.cells}.isdisjoint(window for _, window, _ in fired)


def test_the_count_is_state() -> None:
    context = AssignerContext()
    CountTumblingWindowAssigner(2).assign_windows("x", None, context)
    assert CountTumblingWindowAssigner(2).assign_windows("x", None, context) == [CountWindow(0)]
    assert CountTumblingWindowAssigner(2).assign_windows("x", None, context) == [CountWindow(1)]
    CountSlidingWindowAssigner(2, 1).assign_windows("x", None, context)
    assert context.cells == {"tumble-count-assigner": 3, "slide-count-assigner": 1}


def test_what_belongs_to_them() -> None:
    tumbling, sliding = CountTumblingWindowAssigner(3), CountSlidingWindowAssigner(3, 2)
    assert not tumbling.is_event_time() and not sliding.is_event_time()
    assert tumbling.get_window_serializer() == sliding.get_window_serializer() == CountWindowSerializer()
    assert (repr(tumbling), repr(sliding)) == ("CountTumblingWindowAssigner(3)", "CountSlidingWindowAssigner(3, 2)")
    assert (tumbling.size, sliding.size, sliding.slide) == (3, 3, 2)


def test_what_makes_no_windows() -> None:
    with pytest.raises(ValueError, match=r"^CountTumblingWindowAssigner needs a window size > 0, not 0$"):
        CountTumblingWindowAssigner.of(0)
    with pytest.raises(ValueError, match=r"^CountSlidingWindowAssigner needs a window slide > 0, not -1$"):
        CountSlidingWindowAssigner.of(3, -1)
