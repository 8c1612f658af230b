"""Windows of processing time, by the clock of the harness; and what batch mode does at the end of input.

The oracle is that of event time: an element's timestamp is the clock when it comes, and the clock is the watermark.
Clocks are even and windows end at even times, so no element comes in the very millisecond in which a window fires: then
it would depend on how elements and ticks are grouped whether the window fires with it, or once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.windows.window_oracle import Happened, Oracle, SessionOracle, cumulative, grid
from tests.runtime.windows.windowing import (
    AGGREGATE_LIST,
    AGGREGATE_PROCESS,
    MAX,
    PROCESS_SORTED,
    REDUCE,
    SESSION_MODES,
    Mode,
    Show,
    Total,
    ask,
    compare,
    operators_for,
    run_steps,
    scripts,
    watermarks_of,
)

from millrace.common.time import Time
from millrace.datastream.functions import ProcessWindowFunction
from millrace.datastream.window import (
    CountTumblingWindowAssigner,
    CumulativeProcessingTimeWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millrace.testing import Element, EndInput, ProcessingTime, Record, Step, WatermarkStep, check_variants

ms = Time.milliseconds
WINDOWS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "tumbling": (TumblingProcessingTimeWindows.of(ms(10), ms(-4)), lambda: Oracle(grid(10, 10, -4))),
    "sliding": (SlidingProcessingTimeWindows.of(ms(12), ms(4)), lambda: Oracle(grid(12, 4))),
    "sliding with gaps": (SlidingProcessingTimeWindows.of(ms(4), ms(10)), lambda: Oracle(grid(4, 10))),
    "cumulative": (CumulativeProcessingTimeWindows.of(ms(12), ms(4)), lambda: Oracle(cumulative(12, 4))),
    "sessions": (ProcessingTimeSessionWindows.with_gap(ms(6)), lambda: SessionOracle(lambda value: 6)),
    "dynamic sessions": (
        ProcessingTimeSessionWindows.with_dynamic_gap(lambda value: 2 + 2 * (value[1] % 4)),
        lambda: SessionOracle(lambda value: 2 + 2 * (value[1] % 4)),
    ),
}


@st.composite
def by_the_clock(draw: st.DrawFn) -> list[Step]:
    """Elements without timestamps or with any, between ticks of the clock, and the end of input."""
    script: list[Step] = []
    now = 0
    for number in range(draw(st.integers(1, 18))):
        if draw(st.integers(0, 2)) == 0:
            now += 2 * draw(st.integers(1, 6))
            script.append(ProcessingTime(now))
        else:
            script.append(Element((draw(st.integers(0, 1)), number), draw(st.none() | st.integers(-50, 50))))
    return [*script, EndInput()]


def ask_by_the_clock(model: Any, script: Sequence[Step], at_end: bool) -> list[Happened]:
    now, happened = 0, [Happened()]
    model.watermark(0)
    for step in script:
        if isinstance(step, Element):
            happened.append(model.element(step.value[0], step.value, now))
        elif isinstance(step, ProcessingTime):
            now = step.now
            happened.append(model.watermark(now))
        else:
            happened.append(model.watermark(MAX) if at_end else Happened())
    return happened[1:]


def check_by_the_clock(name: str, script: list[Step], mode: Mode, batch: bool, **settings: Any) -> None:
    assigner, model = WINDOWS[name]
    happened = ask_by_the_clock(model(), script, batch)
    expected = [
        [Record(mode.render(firing, now), firing.window[1] - 1) for firing in step.fired]
        for step, now in zip(happened, watermarks_of(script))
    ]
    compare(operators_for(assigner, batch=batch, **mode.settings, **settings), script, expected)


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=examples(20))
@given(script=by_the_clock(), mode=st.sampled_from(SESSION_MODES), batch=st.booleans())
def test_against_the_oracle(name: str, script: list[Step], mode: Mode, batch: bool) -> None:
    """At the end of input, windows that are open are dropped; in batch mode they fire."""
    check_by_the_clock(name, script, mode, batch, allowed_lateness=7)


@pytest.mark.parametrize("name", WINDOWS)
def test_nothing_fires_after_the_end(name: str) -> None:
    script: list[Step] = [Element(("k", 1)), EndInput(), ProcessingTime(1_000)]
    for mode in (PROCESS_SORTED, AGGREGATE_PROCESS):
        for make in operators_for(WINDOWS[name][0], **mode.settings).values():
            assert check_variants(make, script, []).records == []


@pytest.mark.parametrize("name", ["tumbling", "sliding", "cumulative"])
def test_a_clock_that_goes_back(name: str) -> None:
    """Clocks of two machines differ: elements may come for a window that has fired. They are not lost."""
    script: list[Step] = [
        ProcessingTime(20),
        Element(("k", 1)),
        ProcessingTime(40),
        ProcessingTime(20),
        Element(("k", 2)),
        ProcessingTime(60),
    ]
    assigner = WINDOWS[name][0]
    windows = sorted((window.end, tuple(window)) for window in assigner.windows_at(20))
    fired = {
        place: [Record(("k", window, (("k", number),), -(2**63)), end - 1) for end, window in windows]
        for place, number in ((2, 1), (5, 2))
    }
    compare(operators_for(assigner, function=Show()), script, [fired.get(place, []) for place in range(len(script))])


class Clears(ProcessWindowFunction):
    """Its windows are counted when they go."""

    def open(self, runtime_context: Any) -> None:
        self.cleared = runtime_context.get_metrics_group().counter("cleared")

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.current_processing_time()

    def clear(self, context: Any) -> None:
        self.cleared.inc()


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=examples(10))
@given(script=by_the_clock(), batch=st.booleans(), folded=st.booleans())
def test_clear(name: str, script: list[Step], batch: bool, folded: bool) -> None:
    assigner, model = WINDOWS[name]
    dropped = sum(len(step.dropped) for step in ask_by_the_clock(model(), script, batch))
    contents = {"aggregate": Total()} if folded else {}
    for make in operators_for(assigner, batch=batch, function=Clears(), **contents).values():
        with make() as harness:
            for step in script:
                if isinstance(step, Element):
                    harness.process_element(step.value, step.timestamp)
                elif isinstance(step, ProcessingTime):
                    harness.set_processing_time(step.now)
                    assert {now for _, now in harness.values} <= set(range(step.now + 1))
                else:
                    harness.end_input()
            assert harness.counter("cleared") == dropped


# -- batch mode ---------------------------------------------------------------------------------------------------

EVENT_TIME: dict[str, tuple[Any, Callable[[], Any]]] = {
    "tumbling": (TumblingEventTimeWindows.of(ms(10)), lambda: Oracle(grid(10, 10))),
    "sliding": (SlidingEventTimeWindows.of(ms(10), ms(4)), lambda: Oracle(grid(10, 4))),
    "sessions": (EventTimeSessionWindows.with_gap(ms(5)), lambda: SessionOracle(lambda value: 5)),
}


@pytest.mark.parametrize("name", EVENT_TIME)
@settings(max_examples=examples(15))
@given(script=scripts(), mode=st.sampled_from([PROCESS_SORTED, REDUCE, AGGREGATE_LIST]))
def test_batch_mode_fires_event_time_at_the_end(name: str, script: list[Step], mode: Mode) -> None:
    """There is no watermark but the last one, so no element is late."""
    assigner, model = EVENT_TIME[name]
    script = [step for step in script if not isinstance(step, WatermarkStep)]
    happened = ask(model(), script)
    expected = [[Record(mode.render(firing, MAX), firing.window[1] - 1) for firing in step.fired] for step in happened]
    assert not any(step.fired or step.late for step in happened[:-1])
    compare(operators_for(assigner, batch=True, **mode.settings), script, expected)


def test_batch_mode_leaves_windows_by_count_open() -> None:
    script: list[Step] = [Element(("k", number)) for number in range(3)]
    for make in operators_for(CountTumblingWindowAssigner.of(2), batch=True, **REDUCE.settings).values():
        found, _ = run_steps(make, [*script, EndInput()])
        assert [record.value for step in found for record in step.records] == [("k", 1)]


@pytest.mark.parametrize("name", WINDOWS)
def test_how_far_event_time_was_does_not_matter(name: str) -> None:
    """Before the job was given another number of subtasks, for the keys that this one has now: far beyond the clock."""
    for make in operators_for(WINDOWS[name][0], function=Show()).values():
        with make() as harness:
            harness._gate.begin_at(0, (10**15,) * 128)
            assert harness.operator.ahead is not None
            harness.process_element((0, 1), None)
            harness.set_processing_time(100)
            harness.end_epoch()
            assert [item for item in harness.take_output() if isinstance(item, Record)]
