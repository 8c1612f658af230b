"""Sliding windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import AssignerContext

from millrace.common.time import Time
from millrace.datastream.window import (
    EventTimeTrigger,
    ProcessingTimeTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
)

slides = st.integers(1, 30).flatmap(lambda slide: st.tuples(st.just(slide), st.integers(1 - slide, slide - 1)))


def naive(time: int, size: int, slide: int, offset: int) -> list[TimeWindow]:
    """Try every start nearby, the latest first."""
    starts = [start for start in range(time + 1, time - size - 1, -1) if (start - offset) % slide == 0]
    return [TimeWindow(start, start + size) for start in starts if start <= time < start + size]


@given(st.integers(-200, 200), st.integers(1, 100), slides)
def test_an_element_is_in_all_windows_that_contain_its_time(
    time: int, size: int, slide_and_offset: tuple[int, int]
) -> None:
    slide, offset = slide_and_offset
    expected = naive(time, size, slide, offset)
    assert SlidingEventTimeWindows(size, slide, offset).assign_windows("x", time, AssignerContext(-7)) == expected
    assert SlidingProcessingTimeWindows(size, slide, offset).assign_windows("x", -7, AssignerContext(time)) == expected


def test_the_latest_window_comes_first() -> None:
    windows = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)).assign_windows("x", 7000, AssignerContext())
    assert windows == [TimeWindow(5000, 15000), TimeWindow(0, 10000)]


def test_elements_in_a_gap_are_in_no_window() -> None:
    assigner = SlidingEventTimeWindows(2, 10, 0)
    assert [len(assigner.assign_windows("x", time, AssignerContext())) for time in (-1, 0, 1, 2, 9, 10)] == [
        *(0, 1, 1, 0, 0, 1),
    ]


@pytest.mark.parametrize("assigner", [SlidingEventTimeWindows, SlidingProcessingTimeWindows])
def test_spans_of_time(assigner: type[SlidingEventTimeWindows]) -> None:
    made = assigner.of(Time.seconds(10), Time.seconds(2), Time.milliseconds(-1))
    assert (type(made), made.size, made.slide, made.offset) == (assigner, 10_000, 2_000, -1)
    assert assigner.of(Time.seconds(10), Time.seconds(2)).offset == 0
    assert repr(made) == f"{assigner.__name__}(10000, 2000, -1)"


@pytest.mark.parametrize(("size", "slide", "offset"), [(0, 5, 0), (10, 0, 0), (10, -5, 0), (10, 5, 5), (10, 5, -5)])
def test_what_makes_no_windows(size: int, slide: int, offset: int) -> None:
    with pytest.raises(ValueError) as caught:
        SlidingProcessingTimeWindows(size, slide, offset)
    assert str(caught.value) == (
        "SlidingProcessingTimeWindows needs size > 0, slide > 0 and abs(offset) < slide, "
        f"not a size of {size} ms, a slide of {slide} ms and an offset of {offset} ms"
    )


def test_more_windows_than_flink_allows() -> None:
    SlidingEventTimeWindows(10_000_000, 1, 0)
    with pytest.raises(ValueError, match=r"needs size / slide <= 10000000, not 10000001 ms / 1 ms"):
        SlidingEventTimeWindows(10_000_001, 1, 0)


def test_event_time_needs_timestamps() -> None:
    with pytest.raises(ValueError, match=r"^SlidingEventTimeWindows\(10, 5, 0\) needs event time, but the element has"):
        SlidingEventTimeWindows(10, 5, 0).assign_windows("x", None, AssignerContext())


def test_what_belongs_to_them() -> None:
    event, processing = SlidingEventTimeWindows(10, 5, 0), SlidingProcessingTimeWindows(10, 5, 0)
    assert (event.is_event_time(), processing.is_event_time()) == (True, False)
    assert isinstance(event.get_default_trigger(None), EventTimeTrigger)
    assert isinstance(processing.get_default_trigger(None), ProcessingTimeTrigger)
