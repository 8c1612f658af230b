"""What aligned windows and sessions hold: one accumulator per key and window, or per key and shared slice.

And how often an element is added. What comes out is compared with the oracle in test_window and test_window_sharing.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from tests.runtime.windows.window_contents import put, rows, windows
from tests.runtime.windows.windowing import MAX, Total

from millrace.common.time import Time
from millrace.datastream.window import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.runtime.windows import aligned_window
from millrace.runtime.windows.aligned_window import SLICES
from millrace.runtime.windows.slicing import CONTENTS

ms = Time.milliseconds
SLIDING = SlidingEventTimeWindows.of(ms(10), ms(2))


# -- what is held -------------------------------------------------------------------------------------------------


def test_one_accumulator_per_key_and_window() -> None:
    with windows(TumblingEventTimeWindows.of(ms(10)), Total()) as harness:
        elements = put(harness, 300, keys=3, span=40)
        held = rows(harness, CONTENTS)
    assert sorted(held) == [10, 20, 30, 40]
    for end, accumulators in held.items():
        for key, accumulator in accumulators.items():
            numbers = [n for (k, n), time in elements if k == key and time // 10 * 10 + 10 == end]
            assert accumulator == (key, len(numbers), sum(numbers), max(numbers))


def test_one_accumulator_per_key_and_session() -> None:
    with windows(EventTimeSessionWindows.with_gap(ms(5)), Total()) as harness:
        elements = put(harness, 300, keys=3, span=40)
        held = rows(harness, CONTENTS)
    for key in range(3):
        numbers = [n for (k, n), _ in elements if k == key]
        assert held[key] == [[min(t for (k, _), t in elements if k == key), 44, (key, 100, sum(numbers), max(numbers))]]


@pytest.mark.parametrize(
    ("assigner", "size"),
    [
        (SLIDING, 2),
        (SlidingEventTimeWindows.of(ms(9), ms(6), ms(1)), 3),
        (CumulativeEventTimeWindows.of(ms(12), ms(4)), 4),
    ],
    ids=repr,
)
def test_one_accumulator_per_key_and_slice(assigner: Any, size: int) -> None:
    with windows(assigner, Total()) as harness:
        elements = put(harness, 300, keys=3, span=40)
        assert rows(harness, CONTENTS) == {}
        held = rows(harness, SLICES)
    slices = {(k, (time - assigner.offset) // size * size + assigner.offset + size) for (k, _), time in elements}
    assert {(key, end) for end, accumulators in held.items() for key in accumulators} == slices
    for end, accumulators in held.items():
        for key, accumulator in accumulators.items():
            numbers = [n for (k, n), time in elements if k == key and end - size <= time < end]
            assert accumulator == (key, len(numbers), sum(numbers), max(numbers))


@pytest.mark.parametrize(
    ("assigner", "last"),
    [(SLIDING, 48), (CumulativeEventTimeWindows.of(ms(12), ms(4)), 48), (TumblingEventTimeWindows.of(ms(10)), 40)],
    ids=repr,
)
def test_nothing_is_left_behind(assigner: Any, last: int) -> None:
    with windows(assigner, Total(), allowed_lateness=5) as harness:
        put(harness, 100, keys=3, span=40)
        harness.process_watermark(last - 1 + 5 - 1)
        assert rows(harness, CONTENTS) or rows(harness, SLICES)
        harness.process_watermark(last - 1 + 5)
        assert rows(harness, CONTENTS) == rows(harness, SLICES) == {}


# -- how often functions are called -------------------------------------------------------------------------------

ADDED: list[Any] = []
"""one entry per call of ``add``"""


class Counting(Total):
    def add(self, value: Any, accumulator: Any) -> Any:
        ADDED.append(value)
        return super().add(value, accumulator)


@pytest.mark.parametrize(("shares", "times"), [(True, 1), (False, 5)])
def test_how_often_an_element_is_added(shares: bool, times: int) -> None:
    with patch.object(aligned_window, "may_share", lambda *chunk: shares), windows(SLIDING, Counting()) as harness:
        ADDED.clear()
        elements = put(harness, 200, keys=3, span=40)
        assert sorted(ADDED) == sorted([value for value, _ in elements] * times)
        harness.process_watermark(MAX)
        assert len(ADDED) == 200 * times, "nothing is added again when windows fire"


def test_finding_out_has_a_fixed_price() -> None:
    counts = []
    for count in (1_000, 10_000):
        with windows(SLIDING, Counting()) as harness:
            ADDED.clear()
            put(harness, count, keys=10, span=40)
            counts.append(len(ADDED) - count)
            put(harness, count, keys=10, span=40)
            assert len(ADDED) == 2 * count + counts[-1], "once for all chunks"
    assert counts[0] == counts[1] <= 500
