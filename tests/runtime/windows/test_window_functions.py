"""What window functions can do: state of the window and of the key, ``clear``, side outputs, time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.windows.window_oracle import Oracle, SessionOracle, grid
from tests.runtime.windows.windowing import MAX, Total, ask, operators_for, play, run_steps, scripts

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream.functions import ProcessWindowFunction, RuntimeContext
from millrace.datastream.output_tag import OutputTag
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.runtime.failure import OperatorError
from millrace.runtime.windows import aligned_window
from millrace.testing import Element, EndInput, ProcessingTime, Record, Step, WatermarkStep, check_variants

ms = Time.milliseconds
TUMBLING, SLIDING = TumblingEventTimeWindows.of(ms(10)), SlidingEventTimeWindows.of(ms(10), ms(5))
SESSIONS = EventTimeSessionWindows.with_gap(ms(5))
FIRINGS = ValueStateDescriptor("firings", Types.LONG())
HISTORY = ListStateDescriptor("history", Types.PICKLED_BYTE_ARRAY())
DROPPED = ListStateDescriptor("dropped", Types.PICKLED_BYTE_ARRAY())
cleared: list[Any] = []
"""windows that were cleared"""


class Stateful(ProcessWindowFunction):
    """How often the window has fired, and which windows of the key have fired so far."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.cleared = runtime_context.get_metrics_group().counter("cleared")

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        span, history = tuple(context.window()), context.global_state().get_list_state(HISTORY)
        history.add(span)
        yield key, span, self.firings(context), tuple(history.get())

    def firings(self, context: Any) -> int:
        state = context.window_state().get_state(FIRINGS)
        state.update((state.value() or 0) + 1)
        return int(state.value())

    def clear(self, context: Any) -> None:
        span = tuple(context.window())
        self.cleared.inc()
        cleared.append(span)
        context.global_state().get_list_state(DROPPED).add(span)
        self.clear_window_state(context)

    def clear_window_state(self, context: Any) -> None:
        context.window_state().get_state(FIRINGS).clear()


class StatefulSessions(Stateful):
    """Sessions have no state of their own: how often they fired is not counted."""

    def firings(self, context: Any) -> int:
        return 0

    def clear_window_state(self, context: Any) -> None:
        """Nothing to clear."""


def check_state(assigner: Any, model: Any, script: list[Step], function: Stateful, **settings: Any) -> None:
    happened = ask(model, script)
    expected, histories, firings, dropped = [], dict[Any, list[Any]](), Counter[Any](), dict[Any, list[Any]]()
    for key, span, _ in [firing for step in happened for firing in step.fired]:
        history = histories.setdefault(key, [])
        history.append(span)
        firings[key, span] += type(function) is Stateful
        expected.append((key, span, firings[key, span], tuple(history)))
    for key, span in [at for step in happened for at in step.dropped]:
        dropped.setdefault(key, []).append(span)
    spans = Counter(span for each in dropped.values() for span in each)
    for name, make in operators_for(assigner, function=function, **settings).items():
        cleared.clear()
        run_steps(make, script)
        assert Counter(cleared) == spans, name
        outcome = check_variants(make, script, expected, key=lambda value: value[0], random_runs=2)
        assert outcome.measured["metric cleared"].count == spans.total(), name
        with make() as harness:
            for step in script:
                play(harness, step)
            assert not harness.keys("firings"), "all windows have been cleared"
            assert {key: harness.state_of(key, "dropped") for key in harness.keys("dropped")} == dropped


@pytest.mark.parametrize("contents", [{}, {"aggregate": Total()}], ids=["process", "aggregate"])
@pytest.mark.parametrize(("assigner", "slide"), [(TUMBLING, 10), (SLIDING, 5)], ids=["tumbling", "sliding"])
@settings(max_examples=examples(20))
@given(script=scripts(), lateness=st.sampled_from([0, 6, 12]), shares=st.booleans())
def test_state_and_clear(
    assigner: Any, slide: int, contents: dict[str, Any], script: list[Step], lateness: int, shares: bool
) -> None:
    """``clear`` is called once for each key and window, when it is dropped."""
    with patch.object(aligned_window, "may_share", lambda *chunk: shares):
        check_state(
            assigner, Oracle(grid(10, slide), lateness), script, Stateful(), **contents, allowed_lateness=lateness
        )


@pytest.mark.parametrize("contents", [{}, {"aggregate": Total()}], ids=["process", "aggregate"])
@settings(max_examples=examples(20))
@given(script=scripts(), lateness=st.sampled_from([0, 6]))
def test_state_and_clear_of_sessions(contents: dict[str, Any], script: list[Step], lateness: int) -> None:
    model = SessionOracle(lambda value: 5, lateness)
    check_state(SESSIONS, model, script, StatefulSessions(), **contents, allowed_lateness=lateness)


@pytest.mark.parametrize("contents", [{}, {"aggregate": Total()}], ids=["process", "aggregate"])
def test_sessions_have_no_state_of_their_own(contents: dict[str, Any]) -> None:
    for make in operators_for(SESSIONS, function=Stateful(), **contents).values():
        with make() as harness:
            harness.process_element(("k", 1), 1)
            with pytest.raises(OperatorError, match=r"(?s)sessions.*use global_state\(\)"):
                harness.process_watermark(10)


class NoResult(Total):
    def get_result(self, accumulator: Any) -> Any:
        return None


def test_a_window_without_result_is_cleared_all_the_same() -> None:
    """As in Flink the function is not called for a result of None, nor for a window that was purged."""
    script: list[Step] = [Element(("k", 1), 1), WatermarkStep(9), EndInput()]
    cases: list[dict[str, Any]] = [
        {"aggregate": NoResult()},
        {"trigger": PurgingTrigger.of(CountTrigger.of(1)), "reduce": max},
        {"allowed_lateness": 3, "aggregate": NoResult()},
    ]
    for case in cases:
        for name, make in operators_for(TUMBLING, function=Stateful(), **case).items():
            cleared.clear()
            found, _ = run_steps(make, script)
            assert cleared == [(0, 10)], name
            assert found[1].records == found[2].records == [], name


EVEN = OutputTag("even")


class Sides(ProcessWindowFunction):
    """Even numbers go to the side, the others to the main output."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        for element in elements:
            yield (EVEN, element) if element[1] % 2 == 0 else element


LAST = [(TUMBLING, 9), (SESSIONS, 7), (GlobalWindows.create_with_end_of_stream_trigger(), MAX)]


@pytest.mark.parametrize(("assigner", "last"), LAST, ids=repr)
def test_results_and_side_outputs_have_the_last_timestamp_of_the_window(assigner: Any, last: int) -> None:
    script: list[Step] = [*(Element(("k", number), number) for number in range(4)), EndInput()]
    for make in operators_for(assigner, function=Sides()).values():
        outcome = check_variants(make, script)
        assert outcome.records == [Record(("k", 1), last), Record(("k", 3), last)]
        assert outcome.sides["even"] == [Record(("k", 0), last), Record(("k", 2), last)]


class Late(Stateful):
    """Writes to the side output of late elements, too."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield OutputTag("late"), (key, "fired")


def test_late_elements_and_the_function_may_share_a_side_output() -> None:
    script: list[Step] = [Element(("k", 1), 1), WatermarkStep(20), Element(("k", 2), 2)]
    for make in operators_for(TUMBLING, function=Late(), late_tag=OutputTag("late")).values():
        outcome = check_variants(make, script, [])
        assert outcome.sides["late"] == [Record(("k", "fired"), 9), Record(("k", 2), 2)]


def test_results_of_windows_without_end_have_the_timestamp_of_the_element_that_fired_them() -> None:
    script: list[Step] = [Element(("k", 1), 5), Element(("k", 2), 3), Element(("k", 3), None)]
    makers = operators_for(GlobalWindows.create(), trigger=CountTrigger.of(1), reduce=max)
    for make in makers.values():
        check_variants(make, script, [Record(("k", 1), 5), Record(("k", 2), 3), Record(("k", 3), None)])


class Clock(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield context.current_watermark(), context.current_processing_time(), context.window()

    def clear(self, context: Any) -> None:
        cleared.append((context.current_watermark(), context.current_processing_time(), context.window()))


@pytest.mark.parametrize("assigner", [TUMBLING, SESSIONS], ids=repr)
@pytest.mark.parametrize("contents", [{}, {"aggregate": Total()}], ids=["process", "aggregate"])
def test_time(assigner: Any, contents: dict[str, Any]) -> None:
    script: list[Step] = [Element(("k", 1), 5), ProcessingTime(77), WatermarkStep(12), WatermarkStep(13)]
    end = 10
    for make in operators_for(assigner, function=Clock(), allowed_lateness=4, **contents).values():
        cleared.clear()
        found, _ = run_steps(make, script)
        window = (0 if assigner is TUMBLING else 5, end)
        assert [record.value for record in found[2].records] == [(12, 77, window)]
        assert cleared == [(13, 77, window)]


class Anything(ProcessWindowFunction):
    """Returns what the element says."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        (element,) = elements
        return element[1]


@pytest.mark.parametrize(("returned", "expected"), [(None, []), ([], []), ((1, 2), [1, 2]), ([("a", 1)], [("a", 1)])])
def test_functions_may_return_any_iterable_or_none(returned: Any, expected: list[Any]) -> None:
    for assigner in (TUMBLING, SESSIONS):
        for make in operators_for(assigner, function=Anything()).values():
            with make() as harness:
                harness.process_element(("k", returned), 1)
                harness.end_input()
                assert harness.values == expected
