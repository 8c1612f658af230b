"""``OperatorHarness.for_windows``: the operator of a job, arguments as the handles take them, state to look at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.runtime.windows.windowing import LATE, Apply, Show, Total, add_up, key_of

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream import OutputTag
from millrace.datastream.functions import AllWindowFunction, KeySelector, ProcessAllWindowFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimestampedValue,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millrace.runtime.failure import OperatorError
from millrace.testing import OperatorHarness, Record

ms = Time.milliseconds
TUMBLING, SLIDING = TumblingEventTimeWindows.of(ms(10)), SlidingEventTimeWindows.of(ms(10), ms(5))
SESSIONS = EventTimeSessionWindows.with_gap(ms(5))
CONTENTS = "window-contents"


def test_the_example_of_the_documentation() -> None:
    harness = OperatorHarness.for_windows(
        TumblingEventTimeWindows.of(Time.seconds(10)), Apply(), key_selector=lambda value: value[0]
    )
    with harness:
        harness.process_element(("a", 1), timestamp=1_000)
        assert harness.state_of("a", CONTENTS, TimeWindow(0, 10_000)) == [("a", 1)]
        harness.process_watermark(9_999)
        assert harness.records == [Record(("a", (0, 10_000), (("a", 1),)), 9_999)]


class First(KeySelector):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.position = 0

    def get_key(self, value: Any) -> Any:
        return value[self.position]


def test_all_settings() -> None:
    harness = OperatorHarness.for_windows(
        GlobalWindows.create(),
        Show(),
        reduce=add_up,
        trigger=CountTrigger.of(2),
        evictor=CountEvictor.of(2),
        key_selector=First(),
        output_type=Types.PICKLED_BYTE_ARRAY(),
        batch=True,
    )
    assert type(harness.operator).__name__ == "BatchEvictingWindowOperator"
    with harness:
        harness.process_elements([(("k", number), None) for number in range(4)])
        assert [value[2] for value in harness.values] == [(("k", 1),), (("k", 5),)]


def test_late_elements() -> None:
    for tag in (LATE, None):
        harness = OperatorHarness.for_windows(
            TUMBLING, aggregate=Total(), allowed_lateness=Time.milliseconds(5), late_tag=tag, key_selector=key_of
        )
        with harness:
            harness.process_watermark(14)
            harness.process_elements([(("k", 1), 3), (("k", 2), 11)])
            assert harness.side_output(LATE) == ([Record(("k", 1), 3)] if tag else [])
            assert harness.counter("numLateRecordsDropped") == (0 if tag else 1)


def test_late_elements_have_the_type_of_their_tag() -> None:
    tag = OutputTag("late", Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
    with OperatorHarness.for_windows(TUMBLING, Show(), late_tag=tag, key_selector=key_of) as harness:
        harness.process_watermark(20)
        harness.process_element(("k", 1), 1)
        assert repr(harness.side_output(tag)[0].value) == "('k', 1.0)"


class Sum(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield sum(inputs)


class Numbered(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        count = context.window_state().get_state(ValueStateDescriptor("count", Types.INT()))
        count.update((count.value() or 0) + 1)
        return elements


def test_windows_without_keys() -> None:
    with OperatorHarness.for_windows(TUMBLING, Sum()) as harness:
        harness.process_elements([(1, 1), (2, 2), (3, 13)])
        assert harness.state_of(0, CONTENTS, TimeWindow(0, 10)) == [1, 2]
        harness.process_watermark(99)
        assert harness.values == [3, 3]


def test_the_state_of_a_window_function() -> None:
    with OperatorHarness.for_windows(TUMBLING, Numbered(), allowed_lateness=5) as harness:
        harness.process_elements([(1, 1), (2, 12)])
        harness.process_watermark(10)
        harness.process_element(3, 3)
        assert harness.state_of(0, "count", TimeWindow(0, 10)) == 2
        assert harness.state_of(0, "count", TimeWindow(10, 20)) is None
        assert harness.state_of(0, "count") is None


def test_copies_share_nothing() -> None:
    harness = OperatorHarness.for_windows(TUMBLING, Show(), key_selector=key_of)
    assert harness.fresh().operator.function is not harness.operator.function  # type: ignore[attr-defined]
    with harness:
        harness.process_element(("k", 1), 3)
        with harness.restored() as restored:
            assert restored.state_of("k", CONTENTS, TimeWindow(0, 10)) == [("k", 1)]


HELD: dict[str, tuple[Any, dict[str, Any], Any, Any]] = {
    "list": (TUMBLING, {}, TimeWindow(0, 10), [("k", 1), ("k", 2)]),
    "list, sliding": (SLIDING, {}, TimeWindow(-5, 5), [("k", 1), ("k", 2)]),
    "reduce": (TUMBLING, {"reduce": add_up}, TimeWindow(0, 10), ("k", 3)),
    "aggregate": (TUMBLING, {"aggregate": Total()}, TimeWindow(0, 10), ("k", 2, 3, 2)),
    "shared slices": (SLIDING, {"aggregate": Total()}, TimeWindow(5, 15), ("k", 1, 3, 3)),
    "cumulative": (
        CumulativeEventTimeWindows.of(ms(20), ms(5)), {"aggregate": Total()}, TimeWindow(0, 15), ("k", 3, 6, 3)
    ),
    "sessions in lists": (SESSIONS, {}, TimeWindow(1, 9), [("k", 1), ("k", 2)]),
    "sessions": (SESSIONS, {"aggregate": Total()}, TimeWindow(1, 9), ("k", 2, 3, 2)),
    "processing time": (TumblingProcessingTimeWindows.of(ms(10)), {"reduce": add_up}, TimeWindow(0, 10), ("k", 6)),
    "processing time, sliding": (
        SlidingProcessingTimeWindows.of(ms(10), ms(5)), {"aggregate": Total()}, TimeWindow(-5, 5), ("k", 3, 6, 3)
    ),
    "global": (GlobalWindows.create(), {"reduce": add_up}, GlobalWindow.get(), ("k", 6)),
    "evictor": (
        TUMBLING,
        {"evictor": CountEvictor.of(1), "reduce": add_up},
        TimeWindow(0, 10),
        [TimestampedValue(("k", 1), 1), TimestampedValue(("k", 2), 4)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_what_a_window_holds(name: str) -> None:
    """In all the ways that operators keep it."""
    assigner, contents, window, expected = HELD[name]
    with OperatorHarness.for_windows(assigner, Show(), key_selector=key_of, **contents) as harness:
        harness.process_elements([(("k", 1), 1), (("k", 2), 4), (("k", 3), 12)])
        assert harness.state_of("k", CONTENTS, window) == expected
        assert harness.state_of("other", CONTENTS, window) is None
        if isinstance(window, TimeWindow):
            assert harness.state_of("k", CONTENTS, TimeWindow(window.start - 1, window.end)) is None
            assert harness.state_of("k", CONTENTS, TimeWindow(100, 110)) is None
            harness.process_watermark(2**62)
            harness.set_processing_time(2**62)
            assert harness.state_of("k", CONTENTS, window) is None, "the window is over"


def test_it_is_a_copy() -> None:
    for assigner in (TUMBLING, SESSIONS):
        with OperatorHarness.for_windows(assigner, Show(), key_selector=key_of) as harness:
            harness.process_element(("k", 1), 1)
            window = TimeWindow(0, 10) if assigner is TUMBLING else TimeWindow(1, 6)
            harness.state_of("k", CONTENTS, window).clear()
            assert harness.state_of("k", CONTENTS, window) == [("k", 1)]


# -- what is refused: as by the handles -----------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "nothing to do": ({}, TypeError, r"process\(\) at .*test_windows.py:\d+ takes .*, not None"),
    "both": ({"reduce": add_up, "aggregate": Total()}, TypeError, "not both"),
    "keyed function, no key": ({"function": Show(), "key_selector": None}, TypeError, "takes an AllWindowFunction"),
    "function of all, keys": ({"function": Sum()}, TypeError, "takes a WindowFunction"),
    "lateness": ({"function": Show(), "allowed_lateness": -1}, ValueError, "0 ms or more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_settings(name: str) -> None:
    given, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        OperatorHarness.for_windows(TUMBLING, **{"key_selector": key_of, **given})


def test_a_key_selector_that_fails() -> None:
    harness = OperatorHarness.for_windows(TUMBLING, Show(), key_selector=lambda value: value[7]).open()
    with pytest.raises(OperatorError, match="the key selector failed"):
        harness.process_element(("k", 1), 1)
