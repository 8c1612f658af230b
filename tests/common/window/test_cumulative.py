"""Cumulative windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import AssignerContext

from millrace.common.time import Time
from millrace.datastream.window import (
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    EventTimeTrigger,
    ProcessingTimeTrigger,
    TimeWindow,
)

shapes = st.tuples(st.integers(1, 12), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(
        st.just(shape[0]), st.just(shape[1]), st.integers(1 - shape[0] * shape[1], shape[0] * shape[1] - 1)
    )
)
"""step, number of steps, offset"""


def naive(time: int, step: int, steps: int, offset: int) -> list[TimeWindow]:
    """Try every start nearby and every length."""
    max_size = step * steps
    starts = [start for start in range(time - max_size, time + max_size + 1) if (start - offset) % max_size == 0]
    windows = [TimeWindow(start, start + step * count) for start in starts for count in range(1, steps + 1)]
    return [window for window in windows if window.start <= time < window.end]


@given(st.integers(-200, 200), shapes)
def test_an_element_is_in_all_windows_that_contain_its_time(time: int, shape: tuple[int, int, int]) -> None:
    step, steps, offset = shape
    expected = naive(time, step, steps, offset)
    event = CumulativeEventTimeWindows(step * steps, step, offset)
    processing = CumulativeProcessingTimeWindows(step * steps, step, offset)
    assert event.assign_windows("x", time, AssignerContext(-7)) == expected
    assert processing.assign_windows("x", -7, AssignerContext(time)) == expected


def test_windows_grow_from_one_start() -> None:
    assigner = CumulativeEventTimeWindows.of(Time.seconds(3), Time.seconds(1))
    ends = [[window.end for window in assigner.windows_at(time)] for time in (0, 999, 1000, 2999, 3000)]
    assert ends == [[1000, 2000, 3000], [1000, 2000, 3000], [2000, 3000], [3000], [4000, 5000, 6000]]
    assert {window.start for window in assigner.windows_at(2999)} == {0}


@pytest.mark.parametrize("assigner", [CumulativeEventTimeWindows, CumulativeProcessingTimeWindows])
def test_spans_of_time(assigner: type[CumulativeEventTimeWindows]) -> None:
    made = assigner.of(Time.days(1), Time.hours(1), Time.hours(-8))
    assert (type(made), made.max_size, made.step, made.offset) == (assigner, 86_400_000, 3_600_000, -28_800_000)
    assert assigner.of(Time.days(1), Time.hours(1)).offset == 0
    assert repr(made) == f"{assigner.__name__}(86400000, 3600000, -28800000)"


@pytest.mark.parametrize(
    ("max_size", "step", "offset"), [(0, 1, 0), (-2, 1, 0), (10, 0, 0), (10, 3, 0), (10, 20, 0), (10, 5, 10)]
)
def test_what_makes_no_windows(max_size: int, step: int, offset: int) -> None:
    with pytest.raises(ValueError) as caught:
        CumulativeEventTimeWindows(max_size, step, offset)
    assert str(caught.value) == (
        "CumulativeEventTimeWindows needs step > 0, max_size that is a multiple of step, and abs(offset) < max_size, "
        f"not a max_size of {max_size} ms, a step of {step} ms and an offset of {offset} ms"
    )


def test_event_time_needs_timestamps() -> None:
    with pytest.raises(ValueError, match=r"^CumulativeEventTimeWindows\(10, 5, 0\) needs event time, but the element"):
        CumulativeEventTimeWindows(10, 5, 0).assign_windows("x", None, AssignerContext())


def test_what_belongs_to_them() -> None:
    event, processing = CumulativeEventTimeWindows(10, 5, 0), CumulativeProcessingTimeWindows(10, 5, 0)
    assert (event.is_event_time(), processing.is_event_time()) == (True, False)
    assert isinstance(event.get_default_trigger(None), EventTimeTrigger)
    assert isinstance(processing.get_default_trigger(None), ProcessingTimeTrigger)
