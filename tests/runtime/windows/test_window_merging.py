"""Triggers on windows that merge: state, timers and contents come together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from tests.rings import examples
from tests.runtime.windows.window_oracle import MIN, Span
from tests.runtime.windows.windowing import MAX, ShowSorted, compare, operators_for, scripts, watermarks_of

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream.state import MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
)
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, EndInput, ProcessingTime, Record, Step, WatermarkStep

ms = Time.milliseconds
GAP = 5
SESSIONS = EventTimeSessionWindows.with_gap(ms(GAP))


# -- triggers that add up -----------------------------------------------------------------------------------------


class Budget(Trigger[Any, TimeWindow]):
    """Fires when the numbers since the last firing add up to ``limit``; at the end it fires and purges."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = ReducingStateDescriptor("spent", lambda left, right: left + right, Types.LONG())

    def on_element(self, element: Any, timestamp: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        spent: Any = ctx.get_partitioned_state(self.spent)
        spent.add(element[1])
        if spent.get() < self.limit:
            return TriggerResult.CONTINUE
        spent.clear()
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.spent)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(self.spent).clear()


class AddingUp:
    """What a trigger does that adds up a weight over sessions: every element knows whether it has been counted.

    Sessions are found anew from the elements at every step. Purged elements still hold their session together.
    """

    def __init__(self, weight: Callable[[Any], int], limit: int, purges: bool, at_end: bool) -> None:
        self._weight, self._limit, self._purges, self._at_end = weight, limit, purges, at_end
        self._alive: dict[Any, list[dict[str, Any]]] = {}
        self._watermark = MIN

    def _sessions(self, key: Any) -> list[tuple[Span, list[dict[str, Any]]]]:
        groups: list[list[dict[str, Any]]] = []
        for element in sorted(self._alive.get(key, ()), key=lambda element: element["start"]):
            if groups and element["start"] <= max(each["start"] for each in groups[-1]) + GAP:
                groups[-1].append(element)
            else:
                groups.append([element])
        return [((group[0]["start"], group[-1]["start"] + GAP), group) for group in groups]

    def _fire(self, key: Any, span: Span, group: list[dict[str, Any]], purges: bool) -> list[tuple[Any, Span, Any]]:
        contents = tuple(sorted(each["value"] for each in group if not each["purged"]))
        for each in group:
            each["purged"] = each["purged"] or purges
        return [(key, span, contents)] if contents else []

    def element(self, key: Any, value: Any, timestamp: int) -> list[tuple[Any, Span, Any]]:
        new = {"start": timestamp, "value": value, "counted": False, "purged": False}
        self._alive.setdefault(key, []).append(new)
        span, group = next(found for found in self._sessions(key) if any(each is new for each in found[1]))
        if span[1] - 1 <= self._watermark:
            self._alive[key].remove(new)
            return []
        if sum(self._weight(each["value"]) for each in group if not each["counted"]) < self._limit:
            return []
        for each in group:
            each["counted"] = True
        return self._fire(key, span, group, self._purges)

    def watermark(self, time: int) -> list[tuple[Any, Span, Any]]:
        self._watermark, fired = time, []
        for key, alive in self._alive.items():
            for span, group in self._sessions(key):
                if span[1] - 1 <= time:
                    fired += self._fire(key, span, group, False) if self._at_end else []
                    alive[:] = [each for each in alive if not any(each is gone for gone in group)]
        return fired


ADDING: dict[str, tuple[Trigger[Any, Any], Callable[[], AddingUp]]] = {
    "count": (CountTrigger.of(3), lambda: AddingUp(lambda value: 1, 3, False, False)),
    "purging count": (PurgingTrigger.of(CountTrigger.of(2)), lambda: AddingUp(lambda value: 1, 2, True, False)),
    "budget": (Budget(12), lambda: AddingUp(lambda value: int(value[1]), 12, False, True)),
    "purging budget": (PurgingTrigger.of(Budget(12)), lambda: AddingUp(lambda value: int(value[1]), 12, True, True)),
}


@pytest.mark.parametrize("name", ADDING)
@settings(max_examples=examples(30))
@given(script=scripts(size=20))
def test_state_of_triggers_merges(name: str, script: list[Step]) -> None:
    trigger, model = ADDING[name]
    oracle, expected = model(), []
    for step, now in zip(script, watermarks_of(script)):
        if isinstance(step, Element):
            fired = oracle.element(step.value[0], step.value, step.timestamp or 0)
        else:
            fired = oracle.watermark(now)
        expected.append([Record((*firing, now), firing[1][1] - 1) for firing in fired])
    makers = operators_for(SESSIONS, function=ShowSorted(), trigger=trigger, late_tag=None)
    late = sum(isinstance(step, Element) for step in script) - _accepted(script)
    compare(makers, script, expected, dropped=late)


def _accepted(script: list[Step]) -> int:
    """How many elements are in some session: what a window that never purges fires with at its end."""
    oracle, count = AddingUp(lambda value: 0, 1, False, True), 0
    for step, now in zip(script, watermarks_of(script)):
        if isinstance(step, Element):
            oracle.element(step.value[0], step.value, step.timestamp or 0)
        else:
            count += sum(len(contents) for _, _, contents in oracle.watermark(now))
    return count


def test_a_purging_trigger_with_allowed_lateness() -> None:
    """Worked by hand: what has fired is gone, its session is not."""
    trigger = PurgingTrigger.of(EventTimeTrigger.create())
    makers = operators_for(SESSIONS, function=ShowSorted(), trigger=trigger, allowed_lateness=20)
    one, late, later = Element(("k", 1), 0), Element(("k", 2), 3), Element(("k", 3), 9)
    script: list[Step] = [one, WatermarkStep(10), late, later, EndInput()]
    expected = [
        [],
        [Record(("k", (0, 5), (("k", 1),), 10), 4)],
        [Record(("k", (0, 8), (("k", 2),), 10), 7)],
        [],
        [Record(("k", (9, 14), (("k", 3),), MAX), 13)],
    ]
    compare(makers, script, expected)


def test_a_continuous_trigger_goes_on_at_the_earliest_time() -> None:
    """Worked by hand: the session from 0 would fire at 10, that from 12 at 20; as one it fires at 10, and then on."""
    makers = operators_for(SESSIONS, function=ShowSorted(), trigger=ContinuousEventTimeTrigger.of(ms(10)))
    script: list[Step] = [
        Element(("k", 1), 6),
        Element(("k", 2), 16),
        Element(("k", 3), 11),
        WatermarkStep(10),
        WatermarkStep(19),
        WatermarkStep(20),
    ]
    all_of_them = (("k", 1), ("k", 2), ("k", 3))
    fired = [[Record(("k", (6, 21), all_of_them, now), 20)] if now else [] for now in (0, 0, 0, 10, 0, 20)]
    compare(makers, script, fired)


def test_a_continuous_trigger_by_the_clock() -> None:
    """Worked by hand: both sessions would fire at 10; as one they fire once."""
    makers = operators_for(SESSIONS, function=ShowSorted(), trigger=ContinuousProcessingTimeTrigger.of(ms(10)))
    contents = tuple(("k", number) for number in (1, 2, 3))
    fired = Record(("k", (1000, 1013), contents, MIN), 1012)
    script: list[Step] = [
        ProcessingTime(3),
        Element(("k", 1), 1000),
        Element(("k", 2), 1008),
        ProcessingTime(6),
        Element(("k", 3), 1004),
        ProcessingTime(10),
        ProcessingTime(19),
        ProcessingTime(20),
    ]
    compare(makers, script, [[], [], [], [], [], [fired], [], [fired]])


def test_windows_that_are_gone_leave_no_timers() -> None:
    (make,) = operators_for(SESSIONS, function=ShowSorted(), trigger=CountTrigger.of(9), allowed_lateness=3).values()
    with make() as harness:
        for number, timestamp in enumerate((0, 8, 16, 4, 12)):
            harness.process_element(("k", number), timestamp)
        assert harness.num_event_time_timers() == 1, "when the state of [0, 21) is dropped"
        harness.process_watermark(22)
        assert harness.keys("window-contents") == ["k"]
        harness.process_watermark(23)
        assert harness.keys("window-contents") == harness.keys("merging-window-set") == harness.keys("count") == []


# -- triggers of the user's own -----------------------------------------------------------------------------------


class Anytime(Trigger[Any, TimeWindow]):
    """Notes every callback with what the context says."""

    calls: list[Any] = []

    def on_element(self, element: Any, timestamp: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        self.calls.append(("element", element, timestamp, window, ctx.get_current_watermark()))
        ctx.get_metric_group().counter("elements").inc()
        ctx.register_event_time_timer(100)
        ctx.delete_event_time_timer(100)
        ctx.register_processing_time_timer(ctx.get_current_processing_time() + 50)
        ctx.register_processing_time_timer(200)
        ctx.delete_processing_time_timer(200)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        self.calls.append(("event time", time, window))
        return TriggerResult.PURGE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        self.calls.append(("processing time", time, window, ctx.get_current_processing_time()))
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        self.calls.append(("merge", window))
        ctx.register_processing_time_timer(120)

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        self.calls.append(("clear", window))


def test_all_callbacks() -> None:
    """Also: a timer that a trigger left behind for a window that is gone does nothing."""
    for make in operators_for(SESSIONS, function=ShowSorted(), trigger=Anytime()).values():
        Anytime.calls.clear()
        with make() as harness:
            one, two = ("k", 1), ("k", 2)
            harness.process_element(one, 0)
            harness.process_element(two, 3)
            harness.set_processing_time(130)
            assert harness.values == [("k", (0, 8), (one, two), MIN)] * 2
            harness.process_watermark(7)
            assert harness.records == [Record(value, 7) for value in harness.values]
            assert harness.counter("elements") == 2
            assert Anytime.calls == [
                ("element", one, 0, (0, 5), MIN),
                ("merge", (0, 8)),
                ("clear", (0, 5)),
                ("element", two, 3, (0, 8), MIN),
                ("processing time", 50, (0, 8), 130),
                ("processing time", 120, (0, 8), 130),
                ("event time", 7, (0, 8)),
                ("clear", (0, 8)),
            ]
            assert harness.num_event_time_timers() == harness.num_processing_time_timers() == 0


class Unmergeable(CountTrigger[Any, Any]):
    def __init__(self, state: Any) -> None:
        super().__init__(5)
        self.state = state

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.state)


LONG = Types.LONG()


@pytest.mark.parametrize("state", [ValueStateDescriptor("mine", LONG), MapStateDescriptor("mine", LONG, LONG)])
def test_state_that_can_not_be_merged(state: Any) -> None:
    for make in operators_for(SESSIONS, function=ShowSorted(), trigger=Unmergeable(state)).values():
        with make() as harness, pytest.raises(OperatorError, match="state 'mine' can't be merged: only list, reducing"):
            harness.process_elements([(("k", 1), 0), (("k", 2), 3)])
