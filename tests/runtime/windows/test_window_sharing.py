"""Windows that share slices: the same results as the oracle's; wrong merges are found out; when sharing begins.

In most tests sharing is forced, since a harness that gets one element at a time sees no evidence that it is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.windows.window_contents import put, rows, windows
from tests.runtime.windows.window_oracle import Oracle, Span, cumulative, grid
from tests.runtime.windows.windowing import (
    AGGREGATE,
    AGGREGATE_LIST,
    AGGREGATE_PROCESS,
    MAX,
    Mode,
    Show,
    Total,
    check_event_time,
    scripts,
)

from millrace.common.time import Time
from millrace.datastream.functions import AggregateFunction
from millrace.datastream.window import (
    CumulativeEventTimeWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
)
from millrace.runtime.windows import aligned_window
from millrace.runtime.windows.aligned_window import SLICES
from millrace.runtime.windows.slicing import CONTENTS
from millrace.testing import Step

ms = Time.milliseconds
SLIDING = SlidingEventTimeWindows.of(ms(10), ms(2))


class Nested(AggregateFunction):
    """Numbers by their last digit, in lists in a dict that ``merge`` changes in place."""

    def create_accumulator(self) -> dict[int, list[int]]:
        return {}

    def add(self, value: Any, accumulator: dict[int, list[int]]) -> dict[int, list[int]]:
        accumulator.setdefault(value[1] % 3, []).append(value[1])
        return accumulator

    def get_result(self, accumulator: dict[int, list[int]]) -> Any:
        return tuple(sorted(number for numbers in accumulator.values() for number in numbers))

    def merge(self, acc_a: dict[int, list[int]], acc_b: dict[int, list[int]]) -> dict[int, list[int]]:
        for digit, numbers in acc_b.items():
            acc_a.setdefault(digit, []).extend(numbers)
            numbers.clear()
        acc_b.clear()
        return acc_a


NESTED = Mode("nested", {"aggregate": Nested(), "function": Show()}, AGGREGATE_LIST.render)


SHARED: dict[str, tuple[Any, Callable[[int], list[Span]]]] = {
    "sliding": (SlidingEventTimeWindows.of(ms(12), ms(4)), grid(12, 4)),
    "sliding, no multiple": (SlidingEventTimeWindows.of(ms(10), ms(4), ms(3)), grid(10, 4, 3)),
    "cumulative": (CumulativeEventTimeWindows.of(ms(20), ms(5), ms(-2)), cumulative(20, 5, -2)),
}


@pytest.mark.parametrize("name", SHARED)
@settings(max_examples=examples(25))
@given(
    script=scripts(size=18),
    mode=st.sampled_from([AGGREGATE, AGGREGATE_PROCESS, AGGREGATE_LIST, NESTED]),
    lateness=st.sampled_from([0, 6, 30]),
)
def test_shared_slices_against_the_oracle(name: str, script: list[Step], mode: Mode, lateness: int) -> None:
    """Shared from the first element on, in all variants: also where copies take turns."""
    assigner, windows_of = SHARED[name]
    with patch.object(aligned_window, "may_share", lambda *chunk: True):
        check_event_time(assigner, lambda: Oracle(windows_of, lateness), script, mode, True, allowed_lateness=lateness)


def sliding_results(aggregate: AggregateFunction) -> tuple[list[Any], bool]:
    """The results of sliding windows over 200 elements, and whether they shared slices."""
    with windows(SLIDING, aggregate) as harness:
        put(harness, 200, keys=3, span=40)
        shared = bool(rows(harness, SLICES))
        harness.process_watermark(MAX)
        return sorted(harness.values), shared


def recomputed(aggregate: AggregateFunction) -> list[Any]:
    oracle = Oracle(grid(10, 2))
    for number in range(200):
        oracle.element(number % 3, (number % 3, number), number * 7 % 40)
    found = []
    for key, span, values in oracle.watermark(MAX).fired:
        accumulator = aggregate.create_accumulator()
        for value in values:
            accumulator = aggregate.add(value, accumulator)
        found.append((key, span, (aggregate.get_result(accumulator),), MAX))
    return sorted(found)


class Elements(AggregateFunction):
    """The elements in order; merging gives another order."""

    def create_accumulator(self) -> tuple[Any, ...]:
        return ()

    def add(self, value: Any, accumulator: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*accumulator, value[1])

    def get_result(self, accumulator: tuple[Any, ...]) -> Any:
        return accumulator

    def merge(self, acc_a: tuple[Any, ...], acc_b: tuple[Any, ...]) -> Any:
        return acc_a + acc_b


class NoMerge(Total):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return None


class Refuses(Total):
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise NotImplementedError


class Last(Elements):
    def add(self, value: Any, accumulator: Any) -> Any:
        return (value[1],)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


class Average(AggregateFunction):
    """Its merge is right for accumulators of as many elements only."""

    def create_accumulator(self) -> tuple[float, int]:
        return (0.0, 0)

    def add(self, value: Any, accumulator: tuple[float, int]) -> tuple[float, int]:
        mean, count = accumulator
        return (mean * count + value[1]) / (count + 1), count + 1

    def get_result(self, accumulator: tuple[float, int]) -> float:
        return accumulator[0]

    def merge(self, acc_a: tuple[float, int], acc_b: tuple[float, int]) -> tuple[float, int]:
        return (acc_a[0] + acc_b[0]) / 2, acc_a[1] + acc_b[1]


WRONG = [Elements(), NoMerge(), Refuses(), Last(), Average()]


@pytest.mark.parametrize("aggregate", WRONG, ids=lambda function: type(function).__name__)
def test_a_wrong_merge_is_not_used(aggregate: AggregateFunction) -> None:
    assert sliding_results(aggregate) == (recomputed(aggregate), False)


def test_a_right_merge_is_used() -> None:
    assert sliding_results(Total()) == (recomputed(Total()), True)


def test_sharing_begins_when_elements_show_that_it_is_right() -> None:
    """One element is no evidence, so its windows stand alone; those after them share."""
    with windows(SLIDING, Total()) as harness:
        harness.process_element((0, 1), 4)
        assert (sorted(rows(harness, CONTENTS)), rows(harness, SLICES)) == ([6, 8, 10, 12, 14], {})
        harness.process_elements([((0, 2), 5), ((0, 3), 9)])
        assert (sorted(rows(harness, CONTENTS)), sorted(rows(harness, SLICES))) == ([6, 8, 10, 12, 14], [10])
        harness.process_watermark(13)
        assert (rows(harness, CONTENTS), sorted(rows(harness, SLICES))) == ({}, [10])
        harness.process_watermark(MAX)
        assert [value[2][0][2] for value in harness.values] == [3, 3, 6, 6, 6, 3, 3]


class Mixed(Total):
    """Numbers for one key, lists that ``merge`` changes in place for the other."""

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        key, number = value
        return [*(accumulator or ()), number] if key == "list" else (accumulator or 0) + number

    def get_result(self, accumulator: Any) -> Any:
        return sum(accumulator) if isinstance(accumulator, list) else accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        acc_a += acc_b
        return acc_a


def test_a_new_copy_looks_at_what_an_earlier_one_wrote() -> None:
    """It need not have seen the elements that told the earlier one how to share."""
    first = windows(SLIDING, Total()).open()
    first.process_elements([((0, 1), 4), ((0, 2), 5)])
    second = first.fresh().apply(first.snapshot_delta()).open()
    second.process_element((0, 4), 9)
    second.process_watermark(MAX)
    assert [value[2][0][2] for value in second.values] == [3, 3, 7, 7, 7, 4, 4]


def test_processing_time_shares_nothing() -> None:
    """A clock that goes back would bring elements to slices of windows that have fired."""
    with windows(SlidingProcessingTimeWindows.of(ms(10), ms(2)), Total()) as harness:
        put(harness, 10, keys=1, span=10)
        assert sorted(rows(harness, CONTENTS)) == [2, 4, 6, 8, 10]
        assert not rows(harness, SLICES)
