"""Accumulators: what they add up to, alone and merged, compared with plain Python."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.accumulators import (
    Accumulator,
    AverageAccumulator,
    DoubleCounter,
    DoubleMaximum,
    DoubleMinimum,
    Histogram,
    IntCounter,
    IntMaximum,
    IntMinimum,
    ListAccumulator,
    LongCounter,
    LongMaximum,
    LongMinimum,
)

ORACLES: dict[type[Accumulator[Any, Any]], Callable[[list[int]], Any]] = {
    IntCounter: sum,
    LongCounter: sum,
    DoubleCounter: lambda values: float(sum(values)),
    IntMinimum: lambda values: min([*values, 2**31 - 1]),
    IntMaximum: lambda values: max([*values, -(2**31)]),
    LongMinimum: lambda values: min([*values, 2**63 - 1]),
    LongMaximum: lambda values: max([*values, -(2**63)]),
    DoubleMinimum: lambda values: min([*values, float("inf")]),
    DoubleMaximum: lambda values: max([*values, float("-inf")]),
    AverageAccumulator: lambda values: sum(values) / len(values) if values else 0.0,
    Histogram: lambda values: dict(sorted(Counter(values).items())),
    ListAccumulator: list,
}
kinds = pytest.mark.parametrize("kind", ORACLES, ids=lambda kind: kind.__name__)


def filled(kind: type[Accumulator[Any, Any]], values: list[int]) -> Accumulator[Any, Any]:
    accumulator = kind()
    for value in values:
        accumulator.add(value)
    return accumulator


@kinds
@given(parts=st.lists(st.lists(st.integers(-1000, 1000)), max_size=4))
def test_parts_merge_to_the_whole(kind: type[Accumulator[Any, Any]], parts: list[list[int]]) -> None:
    merged = kind()
    for part in parts:
        other = filled(kind, part)
        before = pickle.dumps(other)
        merged.merge(other)
        assert pickle.dumps(other) == before, "merging leaves the other one as it is"
    everything = [value for part in parts for value in part]
    assert merged.get_local_value() == filled(kind, everything).get_local_value() == ORACLES[kind](everything)


@kinds
def test_reset_and_clone(kind: type[Accumulator[Any, Any]]) -> None:
    accumulator = filled(kind, [3, 5])
    copy = accumulator.clone()
    accumulator.add(9)
    assert copy.get_local_value() == ORACLES[kind]([3, 5])
    accumulator.reset_local()
    assert accumulator.get_local_value() == kind().get_local_value() == ORACLES[kind]([])
    accumulator.merge(copy)
    assert accumulator.get_local_value() == copy.get_local_value()
    assert str(accumulator) == f"{kind.__name__} {accumulator.get_local_value()}"


def test_first_values() -> None:
    assert IntCounter(5).get_local_value() == 5
    assert DoubleCounter().get_local_value() == 0.0 and isinstance(DoubleCounter().get_local_value(), float)
    assert IntMinimum(3).get_local_value() == 3
    assert [type(value) for value in Histogram().get_local_value()] == []


def test_a_list_gives_out_what_is_new() -> None:
    values = ListAccumulator()
    assert values.take_increment() is None
    values.add(1)
    first = values.take_increment()
    assert first is not None and first.get_local_value() == [1]
    assert values.take_increment() is None
    values.add(2)
    second = values.take_increment()
    assert second is not None and second.get_local_value() == [2]
    assert values.get_local_value() == [1, 2]
    values.reset_local()
    values.add(7)
    third = values.take_increment()
    assert third is not None and third.get_local_value() == [7]
