"""Tumbling windows."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import AssignerContext

from millrace.common.constants import MIN_LONG_VALUE
from millrace.common.time import Duration, Time
from millrace.datastream.window import (
    EventTimeTrigger,
    ProcessingTimeTrigger,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

sizes = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(1 - size, size - 1)))


def naive(time: int, size: int, offset: int) -> list[TimeWindow]:
    """Try every start nearby."""
    starts = [start for start in range(time - size, time + size + 1) if (start - offset) % size == 0]
    return [TimeWindow(start, start + size) for start in starts if start <= time < start + size]


@given(st.integers(-200, 200), sizes)
def test_an_element_is_in_the_window_that_contains_its_time(time: int, size_and_offset: tuple[int, int]) -> None:
    size, offset = size_and_offset
    expected = naive(time, size, offset)
    assert len(expected) == 1
    assert TumblingEventTimeWindows(size, offset).assign_windows("x", time, AssignerContext(-7)) == expected
    assert TumblingProcessingTimeWindows(size, offset).assign_windows("x", -7, AssignerContext(time)) == expected


def test_every_day_of_china() -> None:
    days = TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8))
    hour = 3_600_000
    assert days.assign_windows(None, 15 * hour, AssignerContext()) == [TimeWindow(-8 * hour, 16 * hour)]
    assert days.assign_windows(None, 16 * hour, AssignerContext()) == [TimeWindow(16 * hour, 40 * hour)]


@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows, TumblingProcessingTimeWindows])
def test_spans_of_time_of_any_kind(assigner: type[TumblingEventTimeWindows]) -> None:
    made = assigner.of(Time.seconds(5), Duration.of_millis(-2))
    assert (type(made), made.size, made.offset) == (assigner, 5000, -2)
    assert assigner.of(datetime.timedelta(minutes=1)).size == 60_000
    assert assigner.of(Time.seconds(1)).offset == 0
    assert repr(made) == f"{assigner.__name__}(5000, -2)"


@pytest.mark.parametrize(("size", "offset"), [(0, 0), (-1, 0), (10, 10), (10, -10)])
def test_what_makes_no_windows(size: int, offset: int) -> None:
    with pytest.raises(ValueError) as caught:
        TumblingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(offset))
    assert str(caught.value) == (
        "TumblingEventTimeWindows needs size > 0 and abs(offset) < size, "
        f"not a size of {size} ms and an offset of {offset} ms"
    )


@pytest.mark.parametrize("timestamp", [None, MIN_LONG_VALUE])
def test_event_time_needs_timestamps(timestamp: int | None) -> None:
    with pytest.raises(ValueError) as caught:
        TumblingEventTimeWindows(10, 0).assign_windows("x", timestamp, AssignerContext())
    assert str(caught.value) == (
        "TumblingEventTimeWindows(10, 0) needs event time, but the element has no timestamp: call "
        "stream.assign_timestamps_and_watermarks(...) with a timestamp assigner before the window, "
        "or use windows in processing time"
    )
    processing = TumblingProcessingTimeWindows(10, 0)
    assert processing.assign_windows("x", timestamp, AssignerContext(3)) == [TimeWindow(0, 10)]


def test_what_belongs_to_them() -> None:
    event, processing = TumblingEventTimeWindows(10, 0), TumblingProcessingTimeWindows(10, 0)
    assert (event.is_event_time(), processing.is_event_time()) == (True, False)
    assert isinstance(event.get_default_trigger(None), EventTimeTrigger)
    assert isinstance(processing.get_default_trigger(None), ProcessingTimeTrigger)
    assert event.get_window_serializer() == processing.get_window_serializer() == TimeWindowSerializer()
