"""Windows with evictors: every built-in one before and after, with every kind of contents, against plain lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.windows.window_events import Event, Fired, Naive, by_window, expected_of
from tests.runtime.windows.window_oracle import SessionOracle, grid
from tests.runtime.windows.windowing import (
    AGGREGATE_LIST,
    AGGREGATE_PROCESS,
    MAX,
    PROCESS,
    REDUCE,
    REDUCE_PROCESS,
    Firing,
    Mode,
    Show,
    ShowSorted,
    Total,
    check_event_time,
    compare,
    operators_for,
    run_steps,
    scripts,
)

from millrace.common.time import Time
from millrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
    TumblingEventTimeWindows,
)
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, EndInput, OperatorHarness, Record, Step, check_variants

ms = Time.milliseconds
Kept = list[tuple[Any, int]]
"""elements with their timestamps"""
Rule = Callable[[Kept], Kept]


def distance(old: Any, new: Any) -> float:
    return float(abs(old[1] - new[1]))


class Odd(Evictor[Any, Any]):
    """Of the user's own: odd numbers leave after they were seen once, numbers over 15 are never seen."""

    def evict_before(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        assert size == len(elements)
        elements[:] = [element for element in elements if element.get_value()[1] <= 15]

    def evict_after(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        assert size == len(elements)
        for element in [element for element in elements if element.get_value()[1] % 2]:
            elements.remove(element)


def _nothing(kept: Kept) -> Kept:
    return kept


def _last_two(kept: Kept) -> Kept:
    return kept[-2:]


def _recent(kept: Kept) -> Kept:
    return [each for each in kept if each[1] > max(time for _, time in kept) - 8]


def _near(kept: Kept) -> Kept:
    return [each for each in kept if distance(each[0], kept[-1][0]) < 4]


EVICTORS: dict[str, tuple[Evictor[Any, Any], Rule, Rule]] = {
    "count": (CountEvictor.of(2), _last_two, _nothing),
    "count, after": (CountEvictor.of(2, True), _nothing, _last_two),
    "none left": (CountEvictor.of(0), lambda kept: [], _nothing),
    "none left, after": (CountEvictor.of(0, True), _nothing, lambda kept: []),
    "time": (TimeEvictor.of(ms(8)), _recent, _nothing),
    "time, after": (TimeEvictor.of(ms(8), True), _nothing, _recent),
    "delta": (DeltaEvictor.of(4, distance), _near, _nothing),
    "delta, after": (DeltaEvictor.of(4, distance, True), _nothing, _near),
    "custom": (
        Odd(),
        lambda kept: [each for each in kept if each[0][1] <= 15],
        lambda kept: [each for each in kept if each[0][1] % 2 == 0],
    ),
}


def evicting(before: Rule, after: Rule, every: int | None, folded: bool) -> Naive:
    """Fires at every ``every``-th element, or else at the end of the window and for each late element.

    ``folded``: a window that nothing is left of gives nothing.
    """

    def fire(events: list[Event], last: int) -> Iterator[Fired]:
        kept, count, is_over = Kept(), 0, False
        for event in events:
            if event.value:
                kept.append((event.value, event.timestamp))
                count += 1
            ends = event.watermark >= last and (event.value or not is_over)
            is_over = event.watermark >= last
            if not (ends if every is None else event.value and count % every == 0) or not kept:
                continue
            kept = before(kept)
            if kept or not folded:
                yield Fired(event.place, last, [value for value, _ in kept], event.timestamp)
            kept = after(kept) if kept else kept

    return fire


WINDOWS: dict[str, tuple[Any, Any, int | None]] = {
    "event time": (SlidingEventTimeWindows.of(ms(20), ms(10)), grid(20, 10), None),
    "count": (GlobalWindows.create(), None, 3),
}
EVICTING_MODES = [PROCESS, REDUCE_PROCESS, AGGREGATE_PROCESS, AGGREGATE_LIST]


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("name", EVICTORS)
@settings(max_examples=examples(10))
@given(script=scripts(size=20), mode=st.sampled_from(EVICTING_MODES), lateness=st.sampled_from([0, 12]))
def test_against_plain_lists(name: str, windows: str, script: list[Step], mode: Mode, lateness: int) -> None:
    (evictor, before, after), (assigner, windows_of, every) = EVICTORS[name], WINDOWS[windows]
    trigger = None if every is None else CountTrigger.of(every)
    naive = evicting(before, after, every, mode is not PROCESS)
    expected = [
        [Record(mode.render(Firing(*value[:3]), value[3]), timestamp) for value, timestamp in records]
        for records in expected_of(script, windows_of, naive, lateness)
    ]
    makers = operators_for(
        assigner, **mode.settings, evictor=evictor, trigger=trigger, allowed_lateness=lateness if windows_of else 0
    )
    (make,) = makers.values()
    found, _ = run_steps(make, script)
    for place, step in enumerate(script):
        assert by_window(found[place].records) == by_window(expected[place]), (place, step)
    outcome = check_variants(make, script, key=lambda value: value[0], random_runs=2)
    assert by_window(outcome.records) == by_window([record for step in expected for record in step])


@settings(max_examples=examples(20))
@given(script=scripts(size=20), lateness=st.sampled_from([0, 10]), side=st.booleans())
def test_sessions(script: list[Step], lateness: int, side: bool) -> None:
    """An evictor that lets everything stay: elements survive the merging of their sessions."""
    mode = Mode("process", {"function": ShowSorted()}, lambda f, now: (f.key, f.window, f.contents, now))
    check_event_time(
        EventTimeSessionWindows.with_gap(ms(5)),
        lambda: SessionOracle(lambda value: 5, lateness),
        script,
        mode,
        side,
        allowed_lateness=lateness,
        evictor=CountEvictor.of(99),
    )


def test_the_elements_have_timestamps() -> None:
    """What the evictor gets, and what stays in the state."""
    (make,) = operators_for(TumblingEventTimeWindows.of(ms(10)), **REDUCE.settings, evictor=CountEvictor.of(1)).values()
    with make() as harness:
        harness.process_elements([(("k", 1), 3), (("k", 2), 4)])
        held = harness.state_of("k", "window-contents", TimeWindow(0, 10))
        assert held == [TimestampedValue(("k", 1), 3), TimestampedValue(("k", 2), 4)]


def test_without_timestamps() -> None:
    makers = operators_for(
        GlobalWindows.create(), function=Show(), evictor=TimeEvictor.of(ms(1)), trigger=CountTrigger.of(2)
    )
    script: list[Step] = [Element(("k", 1)), Element(("k", 2))]
    (make,) = makers.values()
    outcome = check_variants(make, script)
    assert [value[2] for value in outcome.values] == [(("k", 1), ("k", 2))]


def test_a_purging_trigger_empties_the_window() -> None:
    makers = operators_for(
        GlobalWindows.create(), reduce=lambda left, right: (left[0], left[1] + right[1]), evictor=CountEvictor.of(3),
        trigger=PurgingTrigger.of(CountTrigger.of(2)),
    )  # fmt: skip
    script: list[Step] = [Element(("k", number), number) for number in range(1, 5)]
    compare(makers, script, [[], [Record(("k", 3), 2)], [], [Record(("k", 7), 4)]])


class Timed(Evictor[Any, Any]):
    """Shows what the context says."""

    def evict_before(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        now = (evictor_context.get_current_watermark(), evictor_context.get_current_processing_time())
        elements.append(TimestampedValue(("k", now)))
        evictor_context.get_metric_group().counter("evictions").inc()

    def evict_after(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        elements.clear()


def test_the_context_of_an_evictor() -> None:
    (make,) = operators_for(TumblingEventTimeWindows.of(ms(10)), function=Show(), evictor=Timed()).values()
    with make() as harness:
        harness.set_processing_time(77)
        harness.process_element(("k", 1), 3)
        harness.process_watermark(12)
        assert harness.values == [("k", (0, 10), (("k", 1), ("k", (12, 77))), 12)]
        assert harness.counter("evictions") == 1


class Wrong(Evictor[Any, Any]):
    def evict_before(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        raise ValueError("no eviction")

    def evict_after(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        """Never reached."""


def test_errors_name_window_and_key() -> None:
    (make,) = operators_for(TumblingEventTimeWindows.of(ms(10)), aggregate=Total(), evictor=Wrong()).values()
    with make() as harness:
        harness.process_element(("k", 1), 3)
        with pytest.raises(OperatorError, match=r"(?s)TimeWindow\(start=0, end=10\) of key 'k' fired.*no eviction"):
            harness.process_watermark(9)


def test_batch_mode_fires_at_the_end() -> None:
    for batch in (False, True):
        harness = OperatorHarness.for_windows(
            TumblingEventTimeWindows.of(ms(10)), Show(), evictor=CountEvictor.of(1), batch=batch,
            key_selector=lambda value: value[0],
        )  # fmt: skip
        script: list[Step] = [Element(("k", 1), 3), Element(("k", 2), 4), EndInput()]
        check_variants(harness.fresh, script, [("k", (0, 10), (("k", 2),), MAX)])
