"""Sessions in event time against an oracle that finds them anew from the single elements at every step.

Elements come out of order, so that sessions merge in every way; some are late; with allowed lateness sessions that have
fired grow, merge and fire again. PyFlink 2.3 loses elements there when windows are reduced or aggregated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.windows.window_oracle import SessionOracle
from tests.runtime.windows.windowing import (
    AGGREGATE_LIST,
    LATE,
    MAX,
    PROCESS,
    PROCESS_SORTED,
    REDUCE_PROCESS,
    SESSION_MODES,
    Mode,
    ask,
    check_event_time,
    compare,
    operators_for,
    run_steps,
    scripts,
)

from millrace.common.time import Time
from millrace.datastream.window import EventTimeSessionWindows, SessionWindowTimeGapExtractor
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, EndInput, Record, Step, WatermarkStep

ms = Time.milliseconds
GAP = EventTimeSessionWindows.with_gap(ms(5))


class ByNumber(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return dynamic_gap(element)


def dynamic_gap(value: Any) -> int:
    """From 1 to 16 ms: now and then a session that has long ended covers a later one."""
    return 1 + value[1] * 7 % 16


SESSIONS: dict[str, tuple[Any, Callable[[Any], int]]] = {
    "static": (GAP, lambda value: 5),
    "dynamic": (EventTimeSessionWindows.with_dynamic_gap(ByNumber()), dynamic_gap),
}


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("mode", SESSION_MODES, ids=repr)
@settings(max_examples=examples(20))
@given(
    script=st.one_of(scripts(size=20), scripts(start=-30, size=20, keys=1)),
    lateness=st.sampled_from([0, 4, 20]),
    side=st.booleans(),
)
def test_against_the_oracle(name: str, mode: Mode, script: list[Step], lateness: int, side: bool) -> None:
    assigner, gap_of = SESSIONS[name]
    check_event_time(assigner, lambda: SessionOracle(gap_of, lateness), script, mode, side, allowed_lateness=lateness)


@pytest.mark.parametrize("mode", [PROCESS_SORTED, REDUCE_PROCESS, AGGREGATE_LIST], ids=repr)
@settings(max_examples=examples(60))
@given(st.data())
def test_no_element_is_lost(mode: Mode, data: st.DataObject) -> None:
    """One key and no watermark until all elements are there: every one is in the end in exactly one session."""
    times = data.draw(st.permutations([3 * place for place in range(data.draw(st.integers(2, 12)))]))
    gone = data.draw(st.sets(st.sampled_from(times), max_size=3))
    script: list[Step] = [Element(("k", n), time) for n, time in enumerate(times) if time not in gone]
    happened = ask(SessionOracle(lambda value: 5), [*script, EndInput()])
    fired = [Record(mode.render(firing, MAX), firing.window[1] - 1) for firing in happened[-1].fired]
    for name, make in operators_for(GAP, **mode.settings).items():
        assert run_steps(make, [*script, EndInput()])[0][-1].records == fired, name
    assert sum(len(firing.contents) for firing in happened[-1].fired) == len(script)


def test_a_late_bridge_between_sessions_that_have_fired() -> None:
    """Worked by hand: gap 5, allowed lateness 20."""
    makers = operators_for(GAP, **PROCESS_SORTED.settings, allowed_lateness=20, late_tag=LATE)
    one, two, bridge, outside = ("k", 1), ("k", 2), ("k", 3), ("k", 4)
    script: list[Step] = [
        Element(one, 0),
        Element(two, 8),
        WatermarkStep(15),  # both are over: [0, 5) and [8, 13)
        Element(bridge, 4),  # they become one, and fire as one
        WatermarkStep(23),
        Element(outside, -5),  # joins: [-5, 13) waits until 32
        WatermarkStep(32),
        Element(outside, -5),  # too late
        EndInput(),
    ]
    expected = [
        [],
        [],
        [Record(("k", (0, 5), (one,), 15), 4), Record(("k", (8, 13), (two,), 15), 12)],
        [Record(("k", (0, 13), (one, two, bridge), 15), 12)],
        [],
        [Record(("k", (-5, 13), (one, two, bridge, outside), 23), 12)],
        [],
        [],
        [],
    ]
    compare(makers, script, expected, [[], [], [], [], [], [], [], [outside], []])


def test_a_late_element_lets_a_session_that_has_fired_go_on() -> None:
    """It moves the end of the session past the watermark: the session fires again there, not at once."""
    makers = operators_for(GAP, **PROCESS_SORTED.settings, allowed_lateness=20)
    script: list[Step] = [Element(("k", 1), 0), WatermarkStep(6), Element(("k", 2), 4), WatermarkStep(8), EndInput()]
    expected = [
        [],
        [Record(("k", (0, 5), (("k", 1),), 6), 4)],
        [],
        [Record(("k", (0, 9), (("k", 1), ("k", 2)), 8), 8)],
        [],
    ]
    compare(makers, script, expected)


def test_a_late_element_is_saved_by_an_open_session() -> None:
    """Alone it would be too late; the session that it joins is not."""
    makers = operators_for(GAP, **PROCESS_SORTED.settings)
    open_one, saved, late = Element(("k", 1), 4), Element(("k", 2), 1), Element(("k", 3), -5)
    script: list[Step] = [open_one, WatermarkStep(7), saved, late, EndInput()]
    contents = (("k", 1), ("k", 2))
    compare(makers, script, [[], [], [], [], [Record(("k", (1, 9), contents, MAX), 8)]], dropped=1)


def test_the_order_of_the_elements_follows_the_sessions() -> None:
    """Sessions that merge bring their elements in the order of time, the element that connects them comes last."""
    script = [Element(("k", number), time) for number, time in enumerate((16, 8, 0, 20, 4, 12))]
    makers = operators_for(GAP, reduce=lambda left, right: (left[0], f"{left[1]} {right[1]}"))
    compare(makers, [*script, EndInput()], [*([] for _ in script), [Record(("k", "2 1 4 0 3 5"), 24)]])
    in_lists = operators_for(GAP, **PROCESS.settings)
    contents = tuple(("k", number) for number in (2, 1, 4, 0, 3, 5))
    compare(in_lists, [*script, EndInput()], [*([] for _ in script), [Record(("k", (0, 25), contents, MAX), 24)]])


def test_a_gap_must_be_positive() -> None:
    assigner = EventTimeSessionWindows.with_dynamic_gap(lambda value: value[1])
    for mode in (PROCESS_SORTED, AGGREGATE_LIST):
        for make in operators_for(assigner, **mode.settings).values():
            with make() as harness, pytest.raises(OperatorError, match="gaps > 0"):
                harness.process_element(("k", 0), 1)


def test_an_element_without_timestamp() -> None:
    for mode in (PROCESS_SORTED, AGGREGATE_LIST):
        for make in operators_for(GAP, **mode.settings).values():
            with make() as harness, pytest.raises(OperatorError, match="assign_timestamps_and_watermarks"):
                harness.process_element(("k", 0), None)
