"""Windows by count, windows without end, and assigners of the user's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.windows.window_oracle import Firing, Oracle, SessionOracle, Span, grid
from tests.runtime.windows.windowing import (
    MAX,
    MODES,
    SESSION_MODES,
    Mode,
    Show,
    ShowSorted,
    check_event_time,
    compare,
    operators_for,
    scripts,
)

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    WindowAssigner,
)
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, EndInput, ProcessingTime, Record, Step, WatermarkStep, check_variants

ms = Time.milliseconds


# -- by count -----------------------------------------------------------------------------------------------------


def counted(script: list[Step], size: int, slide: int, mode: Mode) -> list[list[Record]]:
    """The windows of a key begin at every ``slide``-th element and hold ``size``; those that stay open never fire."""
    seen: dict[Any, list[Element]] = {}
    expected = []
    for step in script:
        found = []
        if isinstance(step, Element):
            elements = seen.setdefault(step.value[0], [])
            elements.append(step)
            start = len(elements) - size
            if start >= 0 and start % slide == 0:
                contents = tuple(element.value for element in elements[start:])
                firing = Firing(step.value[0], (start, start + size), contents)
                found.append(Record(mode.render(firing, 0), step.timestamp))
        expected.append(found)
    return expected


COUNT_MODES = [mode for mode in MODES if "function" not in mode.settings]


@pytest.mark.parametrize(("size", "slide"), [(1, 1), (3, 3), (4, 2), (5, 3), (2, 3)])
@settings(max_examples=examples(15))
@given(script=scripts(size=25), mode=st.sampled_from(COUNT_MODES))
def test_windows_by_count(size: int, slide: int, script: list[Step], mode: Mode) -> None:
    """Time means nothing to them: no element is late, and the end of input fires nothing."""
    tumbling: Any = CountTumblingWindowAssigner.of(size)
    assigner = tumbling if size == slide else CountSlidingWindowAssigner.of(size, slide)
    makers = operators_for(assigner, **mode.settings)
    compare(makers, script, counted(script, size, slide, mode))


@settings(max_examples=examples(15))
@given(script=scripts(size=25))
def test_windows_by_count_have_numbers(script: list[Step]) -> None:
    makers = operators_for(CountSlidingWindowAssigner.of(4, 2), function=Show())
    (make,) = makers.values()
    numbered = [
        (firing[0], CountWindow(firing[1][0] // 2), firing[2])
        for records in counted(script, 4, 2, Mode("", {}, lambda firing, now: firing))
        for firing in (record.value for record in records)
    ]
    assert [value[:3] for value in check_variants(make, script).values] == numbered


def test_windows_that_have_fired_hold_nothing() -> None:
    (make,) = operators_for(CountTumblingWindowAssigner.of(2), function=Show()).values()
    with make() as harness:
        harness.process_elements([(("k", number), None) for number in range(5)])
        held = [harness.state_of("k", "window-contents", CountWindow(number)) for number in range(3)]
        assert held == [None, None, [("k", 4)]]


# -- without end --------------------------------------------------------------------------------------------------


@settings(max_examples=examples(15))
@given(script=scripts(size=20), mode=st.sampled_from(COUNT_MODES))
def test_one_window_that_fires_at_the_end(script: list[Step], mode: Mode) -> None:
    seen: dict[Any, list[Any]] = {}
    for step in script:
        if isinstance(step, Element):
            seen.setdefault(step.value[0], []).append(step.value)
    fired = [Record(mode.render(Firing(key, (0, 0), tuple(values)), MAX), MAX) for key, values in seen.items()]
    expected: list[list[Record]] = [*([] for _ in script[:-1]), fired]
    compare(operators_for(GlobalWindows.create_with_end_of_stream_trigger(), **mode.settings), script, expected)


def test_one_window_that_never_fires() -> None:
    script: list[Step] = [Element(("k", 1), 1), WatermarkStep(100), ProcessingTime(100), EndInput()]
    compare(operators_for(GlobalWindows.create(), function=Show()), script, [[], [], [], []])


def test_it_keeps_what_has_fired() -> None:
    (make,) = operators_for(GlobalWindows.create(), function=Show(), trigger=CountTrigger.of(2)).values()
    with make() as harness:
        harness.process_elements([(("k", number), None) for number in range(3)])
        assert harness.state_of("k", "window-contents", GlobalWindow.get()) == [("k", 0), ("k", 1), ("k", 2)]


# -- of the user's own --------------------------------------------------------------------------------------------


class TwoGrids(WindowAssigner[Any, TimeWindow]):
    """Windows of 10 ms and of 25 ms for all elements, but none for those whose number can be divided by 5."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        sizes = (10, 25) if element[1] % 5 else ()
        starts = [TimeWindow.get_window_start_with_offset(timestamp, 0, size) for size in sizes]
        return [TimeWindow(start, start + size) for start, size in zip(starts, sizes)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class TwoGridsOracle(Oracle):
    def __init__(self, lateness: int) -> None:
        super().__init__(lambda time: [*grid(10, 10)(time), *grid(25, 25)(time)] if self._number % 5 else [], lateness)

    def element(self, key: Any, value: Any, timestamp: int) -> Any:
        self._number = value[1]
        return super().element(key, value, timestamp)


@settings(max_examples=examples(40))
@given(script=scripts(size=20), mode=st.sampled_from(MODES), lateness=st.sampled_from([0, 8]), side=st.booleans())
def test_an_assigner(script: list[Step], mode: Mode, lateness: int, side: bool) -> None:
    check_event_time(TwoGrids(), lambda: TwoGridsOracle(lateness), script, mode, side, allowed_lateness=lateness)


class Numbered(WindowAssigner[Any, CountWindow]):
    """Uses all that the context offers: a new window for every second of the clock, or after ten elements of a key."""

    SEEN = ValueStateDescriptor("seen", Types.LONG())

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[CountWindow]:
        seen = context.get_runtime_context().get_state(self.SEEN)
        seen.update((seen.value() or 0) + 1)
        return [CountWindow(context.get_current_processing_time() // 1000 * 1000 + seen.value() // 10)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, CountWindow]:
        return CountTrigger.of(2)

    def get_window_serializer(self) -> Any:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


def test_the_context_of_an_assigner() -> None:
    script: list[Step] = [
        *(Element((key, number)) for number in range(4) for key in "ab"),
        ProcessingTime(2_500),
        *(Element((key, number)) for number in range(4, 12) for key in "ab"),
    ]
    (make,) = operators_for(Numbered(), function=Show()).values()
    outcome = check_variants(make, script, key=lambda value: value[0])
    for key in "ab":
        windows = [value[1].id for value in outcome.values if value[0] == key]
        assert windows == [0, 0, 2000, 2000, 2001], "one more in 2000 and in 2001"


class Stretches(MergingWindowAssigner[Any, TimeWindow]):
    """What lies in one stretch of 20 ms is one window, from the first to the last element."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 1)]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        groups: dict[int, list[TimeWindow]] = {}
        for window in windows:
            groups.setdefault(window.start // 20, []).append(window)
        for group in groups.values():
            if len(group) > 1:
                callback.merge(group, self.merged(group))

    def merged(self, group: list[TimeWindow]) -> TimeWindow:
        return TimeWindow(min(window.start for window in group), max(window.end for window in group))

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger.create()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class StretchOracle(SessionOracle):
    def __init__(self, lateness: int) -> None:
        super().__init__(lambda value: 1, lateness)

    def _sessions(self, key: Any) -> list[tuple[Span, tuple[Any, ...]]]:
        groups: dict[int, list[tuple[int, int, Any]]] = {}
        for element in self._alive.get(key, ()):
            groups.setdefault(element[0] // 20, []).append(element)
        spans = [(min(start for start, _, _ in group), max(end for _, end, _ in group)) for group in groups.values()]
        return [(span, tuple(sorted(v for _, _, v in group))) for span, group in zip(spans, groups.values())]


@settings(max_examples=examples(60))
@given(
    script=scripts(size=20, spread=25),
    mode=st.sampled_from(SESSION_MODES),
    lateness=st.sampled_from([0, 8, 30]),
    side=st.booleans(),
)
def test_a_merging_assigner(script: list[Step], mode: Mode, lateness: int, side: bool) -> None:
    check_event_time(Stretches(), lambda: StretchOracle(lateness), script, mode, side, allowed_lateness=lateness)


class Shrinking(Stretches):
    def merged(self, group: list[TimeWindow]) -> TimeWindow:
        return TimeWindow(0, 2)


def test_windows_must_not_merge_into_the_past() -> None:
    for make in operators_for(Shrinking(), function=ShowSorted()).values():
        with make() as harness:
            harness.process_watermark(3)
            harness.process_element(("k", 1), 5)
            with pytest.raises(OperatorError, match=r"Shrinking merged windows into TimeWindow\(start=0, end=2\)"):
                harness.process_element(("k", 2), 7)
