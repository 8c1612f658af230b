"""Tumbling, sliding and cumulative windows in event time against the oracle: results, lateness, late elements.

Both operators that can do it: ``aligned_window``, which jobs run, and ``window``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.windows.window_oracle import Oracle, Span, cumulative, grid
from tests.runtime.windows.windowing import (
    AGGREGATE_PROCESS,
    LATE,
    MODES,
    PROCESS,
    Mode,
    check_event_time,
    compare,
    operators_for,
    scripts,
)

from millrace.common.time import Time
from millrace.datastream.window import (
    CumulativeEventTimeWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, EndInput, Record, Step, WatermarkStep

ms = Time.milliseconds
WINDOWS: dict[str, tuple[Any, Callable[[int], list[Span]]]] = {
    "tumbling": (TumblingEventTimeWindows.of(ms(10)), grid(10, 10)),
    "tumbling, offset": (TumblingEventTimeWindows.of(ms(7), ms(-3)), grid(7, 7, -3)),
    "sliding": (SlidingEventTimeWindows.of(ms(12), ms(4)), grid(12, 4)),
    "sliding, no multiple": (SlidingEventTimeWindows.of(ms(10), ms(4), ms(3)), grid(10, 4, 3)),
    "sliding, slices of 1 ms": (SlidingEventTimeWindows.of(ms(7), ms(3), ms(-1)), grid(7, 3, -1)),
    "sliding with gaps": (SlidingEventTimeWindows.of(ms(4), ms(9), ms(-2)), grid(4, 9, -2)),
    "cumulative": (CumulativeEventTimeWindows.of(ms(20), ms(5)), cumulative(20, 5)),
    "cumulative, offset": (CumulativeEventTimeWindows.of(ms(12), ms(4), ms(-5)), cumulative(12, 4, -5)),
}


@pytest.mark.parametrize("name", WINDOWS)
@settings(max_examples=examples(25))
@given(
    script=st.one_of(scripts(), scripts(start=-40), scripts(start=2**53 + 1)),
    mode=st.sampled_from(MODES),
    lateness=st.sampled_from([0, 0, 6, 30]),
    side=st.booleans(),
)
def test_against_the_oracle(name: str, script: list[Step], mode: Mode, lateness: int, side: bool) -> None:
    assigner, windows_of = WINDOWS[name]
    check_event_time(assigner, lambda: Oracle(windows_of, lateness), script, mode, side, allowed_lateness=lateness)


def test_a_late_element_fires_its_windows_again() -> None:
    """Worked by hand: allowed lateness 5, windows of 10 every 5."""
    makers = operators_for(
        SlidingEventTimeWindows.of(ms(10), ms(5)), **PROCESS.settings, allowed_lateness=5, late_tag=LATE
    )
    first, second, third = ("k", 1), ("k", 2), ("k", 3)
    script: list[Step] = [
        Element(first, 7),  # in [0, 10) and [5, 15)
        WatermarkStep(9),
        Element(second, 8),  # [0, 10) is over, but waits until 14
        WatermarkStep(14),
        Element(third, 6),  # [0, 10) is gone, [5, 15) waits until 19
        WatermarkStep(19),
        Element(("k", 4), 9),  # both are gone
    ]
    expected = [
        [],
        [Record(("k", (0, 10), (first,), 9), 9)],
        [Record(("k", (0, 10), (first, second), 9), 9)],
        [Record(("k", (5, 15), (first, second), 14), 14)],
        [Record(("k", (5, 15), (first, second, third), 14), 14)],
        [],
        [],
    ]
    compare(makers, script, expected, [[], [], [], [], [], [], [("k", 4)]])


def test_an_element_that_is_too_late_for_some_windows_counts_in_the_others() -> None:
    makers = operators_for(SlidingEventTimeWindows.of(ms(10), ms(5)), **PROCESS.settings)
    script: list[Step] = [WatermarkStep(9), Element(("k", 1), 7), WatermarkStep(14), Element(("k", 2), 7)]
    compare(makers, script, [[], [], [Record(("k", (5, 15), (("k", 1),), 14), 14)], []], dropped=1)


def test_an_element_between_windows_is_late_only_when_time_has_passed_it() -> None:
    makers = operators_for(SlidingEventTimeWindows.of(ms(4), ms(10)), **PROCESS.settings, late_tag=LATE)
    script: list[Step] = [Element(("k", 1), 5), WatermarkStep(5), Element(("k", 2), 5), Element(("k", 3), 6)]
    compare(makers, script, [[], [], [], []], [[], [], [("k", 2)], []])


def test_one_key_fires_without_the_others() -> None:
    """A late element concerns its own key only."""
    makers = operators_for(TumblingEventTimeWindows.of(ms(10)), **AGGREGATE_PROCESS.settings, allowed_lateness=10)
    script: list[Step] = [Element(("a", 1), 1), Element(("b", 2), 2), WatermarkStep(9), Element(("b", 3), 3)]
    expected = [
        [],
        [],
        [Record((key, (0, 10), ((key, 1, n, n),), 9), 9) for key, n in (("a", 1), ("b", 2))],
        [Record(("b", (0, 10), (("b", 2, 5, 3),), 9), 9)],
    ]
    compare(makers, script, expected)


def test_lateness_without_end() -> None:
    """The state of such windows is kept for ever."""
    makers = operators_for(TumblingEventTimeWindows.of(ms(10)), **PROCESS.settings, allowed_lateness=2**63)
    script: list[Step] = [Element(("k", 1), 1), WatermarkStep(10**15), Element(("k", 2), 2), EndInput()]
    one, both = (("k", 1),), (("k", 1), ("k", 2))
    fired = [[], [Record(("k", (0, 10), one, 10**15), 9)], [Record(("k", (0, 10), both, 10**15), 9)], []]
    compare(makers, script, fired)


@pytest.mark.parametrize("name", ["tumbling", "sliding", "cumulative"])
def test_an_element_without_timestamp(name: str) -> None:
    for make in operators_for(WINDOWS[name][0], **PROCESS.settings).values():
        with make() as harness, pytest.raises(OperatorError, match="assign_timestamps_and_watermarks") as error:
            harness.process_elements([(("k", 1), 1), (("k", 2), None)])
        assert "('k', 2)" in str(error.value)


def test_watermarks_pass_on() -> None:
    """After the results that they cause."""
    for make in operators_for(TumblingEventTimeWindows.of(ms(10)), **PROCESS.settings).values():
        with make() as harness:
            harness.process_element(("k", 1), 3)
            harness.process_watermark(20)
            assert [type(item).__name__ for item in harness.output] == ["Record", "Watermark"]
