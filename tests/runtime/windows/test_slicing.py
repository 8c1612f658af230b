"""Slices against the assigners themselves, and against counting milliseconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Time
from millrace.datastream.window import (
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millrace.runtime.windows.slicing import Slicing, slicing_of

ms = Time.milliseconds


@st.composite
def assigners(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(["tumbling", "sliding", "cumulative"]))
    size = draw(st.integers(1, 12))
    if kind == "tumbling":
        return TumblingEventTimeWindows.of(ms(size), ms(draw(st.integers(1 - size, size - 1))))
    slide = draw(st.integers(1, 12))
    if kind == "sliding":
        return SlidingEventTimeWindows.of(ms(size), ms(slide), ms(draw(st.integers(1 - slide, slide - 1))))
    largest = size * draw(st.integers(1, 4))
    return CumulativeEventTimeWindows.of(ms(largest), ms(size), ms(draw(st.integers(1 - largest, largest - 1))))


def sliced(assigner: Any) -> Slicing:
    slicing = slicing_of(assigner)
    assert slicing is not None
    return slicing


def slice_at(slicing: Slicing, time: int) -> int:
    return time - (time - slicing.offset) % slicing.slice_size


@given(assigners(), st.integers(-60, 60))
def test_the_windows_of_a_slice_are_those_of_its_times(assigner: Any, time: int) -> None:
    slicing = sliced(assigner)
    ends = slicing.window_ends(slice_at(slicing, time))
    assert [slicing.window(end) for end in ends] == assigner.windows_at(time)


@given(assigners(), st.lists(st.integers(-60, 60), max_size=6))
def test_a_column_of_times_has_the_windows_of_each(assigner: Any, times: list[int]) -> None:
    slicing = sliced(assigner)
    places, starts, ends = slicing.expand(np.array(times, np.int64))
    found = list(zip(places.tolist(), starts.tolist(), ends.tolist()))
    assert found == [(place, *window) for place, time in enumerate(times) for window in assigner.windows_at(time)]
    slices = slicing.slice_ends_at(np.array(times, np.int64)).tolist()
    assert slices == [slice_at(slicing, time) + slicing.slice_size for time in times]


@given(assigners(), st.integers(-60, 60))
def test_the_last_window_of_a_slice(assigner: Any, time: int) -> None:
    slicing = sliced(assigner)
    ends = [window.end for window in assigner.windows_at(time)]
    slice_end = slice_at(slicing, time) + slicing.slice_size
    assert slicing.last_window(slice_end) == max(ends, default=slice_end)


@given(assigners(), st.integers(-60, 60))
def test_no_window_cuts_through_a_slice(assigner: Any, time: int) -> None:
    slicing = sliced(assigner)
    start = slice_at(slicing, time)
    within = {tuple(assigner.windows_at(moment)) for moment in range(start, start + slicing.slice_size)}
    assert len(within) == 1


@given(assigners(), st.integers(-60, 60))
def test_slices_make_up_their_window(assigner: Any, time: int) -> None:
    slicing = sliced(assigner)
    for window in assigner.windows_at(time):
        covered = [moment for end in slicing.slice_ends(window.end) for moment in range(end - slicing.slice_size, end)]
        assert covered == list(range(window.start, window.end))


def test_an_example() -> None:
    slicing = sliced(SlidingEventTimeWindows.of(ms(10), ms(4), ms(1)))
    assert slicing.slice_size == 2
    assert slicing.window_ends(5) == [15, 11, 7]
    assert slicing.window(15) == TimeWindow(5, 15)
    assert list(slicing.slice_ends(15)) == [7, 9, 11, 13, 15]


@pytest.mark.parametrize(
    ("assigner", "worth"),
    [
        (TumblingEventTimeWindows.of(ms(10)), False),
        (SlidingEventTimeWindows.of(ms(10), ms(10)), False),
        (SlidingEventTimeWindows.of(ms(10), ms(12)), False),
        (SlidingEventTimeWindows.of(ms(10), ms(2)), True),
        (SlidingEventTimeWindows.of(ms(10), ms(4)), True),
        (SlidingEventTimeWindows.of(ms(10_000), ms(3_333)), False),
        (CumulativeEventTimeWindows.of(ms(10), ms(2)), True),
        (CumulativeEventTimeWindows.of(ms(10), ms(10)), False),
    ],
    ids=repr,
)
def test_when_sharing_is_worth_it(assigner: Any, worth: bool) -> None:
    """Not when there are more slices to merge than windows to add to, by far."""
    assert sliced(assigner).worth_sharing is worth


class Mine(TumblingEventTimeWindows[Any]):
    """May do anything."""


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingProcessingTimeWindows.of(ms(4)),
        SlidingProcessingTimeWindows.of(ms(4), ms(2)),
        CumulativeProcessingTimeWindows.of(ms(4), ms(2)),
    ],
    ids=repr,
)
def test_processing_time_is_sliced_alike(assigner: Any) -> None:
    slicing = sliced(assigner)
    assert [slicing.window(end) for end in slicing.window_ends(slice_at(slicing, 5))] == assigner.windows_at(5)


@pytest.mark.parametrize(
    "assigner", [Mine.of(ms(4)), EventTimeSessionWindows.with_gap(ms(4)), GlobalWindows.create()], ids=repr
)
def test_other_assigners_are_not_sliced(assigner: Any) -> None:
    assert slicing_of(assigner) is None
