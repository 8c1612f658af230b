"""Session windows."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.window.contexts import AssignerContext

from millrace.common.time import Time
from millrace.datastream.window import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    SessionWindowTimeGapExtractor,
    TimeWindow,
    TimeWindowSerializer,
)

STATIC = [EventTimeSessionWindows, ProcessingTimeSessionWindows]
DYNAMIC = [DynamicEventTimeSessionWindows, DynamicProcessingTimeSessionWindows]


class Doubled(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return element * 2


class Merged(MergingWindowAssigner.MergeCallback[TimeWindow]):
    """Keeps the windows of a key up to date, one element after the other."""

    def __init__(self) -> None:
        self.windows: set[TimeWindow] = set()

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        self.windows -= set(to_be_merged)
        self.windows.add(merge_result)


def naive(events: list[tuple[int, int]]) -> set[TimeWindow]:
    """Colour every millisecond of (time, gap); windows that touch become one, as in Flink."""
    coloured = {moment for time, gap in events for moment in range(time, time + gap)}
    starts = sorted(moment for moment in coloured if moment - 1 not in coloured)
    ends = sorted(moment + 1 for moment in coloured if moment + 1 not in coloured)
    return {TimeWindow(start, end) for start, end in zip(starts, ends)}


@given(st.lists(st.tuples(st.integers(-60, 60), st.integers(1, 9))))
def test_sessions_are_the_unions_of_the_gaps_in_any_order(events: list[tuple[int, int]]) -> None:
    sessions = EventTimeSessionWindows.with_dynamic_gap(lambda event: event[1])
    merged = Merged()
    for event in events:
        merged.windows |= set(sessions.assign_windows(event, event[0], AssignerContext()))
        sessions.merge_windows(list(merged.windows), merged)
    assert merged.windows == naive(events)


def test_an_element_opens_a_window_that_lasts_for_the_gap() -> None:
    context = AssignerContext(70)
    assert EventTimeSessionWindows(10).assign_windows("x", -3, context) == [TimeWindow(-3, 7)]
    assert ProcessingTimeSessionWindows(10).assign_windows("x", -3, context) == [TimeWindow(70, 80)]
    assert DynamicEventTimeSessionWindows(Doubled()).assign_windows(4, -3, context) == [TimeWindow(-3, 5)]
    assert DynamicProcessingTimeSessionWindows(Doubled()).assign_windows(4, -3, context) == [TimeWindow(70, 78)]


@pytest.mark.parametrize("assigner", STATIC)
def test_a_fixed_gap(assigner: type[EventTimeSessionWindows]) -> None:
    made = assigner.with_gap(Time.seconds(2))
    assert (type(made), made.session_gap, made.gap_of("x")) == (assigner, 2000, 2000)
    assert assigner.with_gap(datetime.timedelta(seconds=1)).session_gap == 1000
    assert repr(made) == f"{assigner.__name__}(2000)"
    with pytest.raises(ValueError, match=rf"^{assigner.__name__} needs a gap > 0, not 0 ms$"):
        assigner.with_gap(Time.seconds(0))


@pytest.mark.parametrize(("assigner", "dynamic"), list(zip(STATIC, DYNAMIC)))
def test_a_gap_of_the_elements(assigner: type[EventTimeSessionWindows], dynamic: type[Any]) -> None:
    for made in (assigner.with_dynamic_gap(Doubled()), dynamic.with_dynamic_gap(Doubled())):
        assert (type(made), made.gap_of(4), repr(made)) == (dynamic, 8, f"{dynamic.__name__}(Doubled)")
    by_function = dynamic.with_dynamic_gap(len)
    assert (by_function.gap_of("four"), repr(by_function)) == (4, f"{dynamic.__name__}(len)")


def test_gaps_that_are_none() -> None:
    sessions = EventTimeSessionWindows.with_dynamic_gap(Doubled())
    with pytest.raises(ValueError) as not_positive:
        sessions.assign_windows(0, 5, AssignerContext())
    assert str(not_positive.value) == (
        "DynamicEventTimeSessionWindows(Doubled) needs gaps > 0; that of the element 0 is 0 ms"
    )
    with pytest.raises(TypeError) as no_integer:
        sessions.assign_windows("ab", 5, AssignerContext())
    assert str(no_integer.value) == (
        "DynamicEventTimeSessionWindows(Doubled) needs gaps in ms as int; that of the element 'ab' is 'abab'"
    )
    with pytest.raises(TypeError, match=r"needs a SessionWindowTimeGapExtractor or a function from an element to mill"):
        ProcessingTimeSessionWindows.with_dynamic_gap(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("sessions", [EventTimeSessionWindows(5), DynamicEventTimeSessionWindows(Doubled())])
def test_event_time_needs_timestamps(sessions: EventTimeSessionWindows) -> None:
    with pytest.raises(ValueError, match=r"SessionWindows\(.*\) needs event time, but the element has no timestamp"):
        sessions.assign_windows(1, None, AssignerContext())


def test_what_belongs_to_them() -> None:
    event = [EventTimeSessionWindows(5), DynamicEventTimeSessionWindows(Doubled())]
    processing = [ProcessingTimeSessionWindows(5), DynamicProcessingTimeSessionWindows(Doubled())]
    assert all(sessions.is_event_time() and not other.is_event_time() for sessions, other in zip(event, processing))
    assert all(isinstance(sessions.get_default_trigger(None), EventTimeTrigger) for sessions in event)
    assert all(isinstance(sessions.get_default_trigger(None), ProcessingTimeTrigger) for sessions in processing)
    for sessions in [*event, *processing]:
        assert isinstance(sessions, MergingWindowAssigner)
        assert sessions.get_default_trigger(None).can_merge()
        assert sessions.get_window_serializer() == TimeWindowSerializer()
