"""The inner loops of joins and windows against loops."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.tables.columns.matching import (
    common_codes,
    equal_pairs,
    near_pairs,
    ranges,
    running,
    with_missing,
)
from millrace.runtime.tables.columns.sliding import sliding

codes = st.lists(st.integers(-1, 3), max_size=8)
timed = st.lists(st.tuples(st.integers(-1, 2), st.integers(-5, 5)), max_size=8)


def numbers(values: Any) -> Any:
    return np.array(list(values), np.int64)


def pairs(found: tuple[Any, Any]) -> list[tuple[int, int]]:
    return list(zip(found[0].tolist(), found[1].tolist()))


def test_ranges() -> None:
    assert pairs(ranges([5, 0, 9], [2, 0, 1])) == [(0, 5), (0, 6), (2, 9)]


@given(left=codes, right=codes)
def test_equal_pairs(left: list[int], right: list[int]) -> None:
    expected = [(i, j) for (i, a), (j, b) in product(enumerate(left), enumerate(right)) if a == b >= 0]
    assert pairs(equal_pairs(numbers(left), numbers(right))) == expected


@given(left=timed, right=timed, lower=st.integers(-4, 4), length=st.integers(0, 5))
def test_near_pairs(left: Any, right: Any, lower: int, length: int) -> None:
    sides = [numbers(row[place] for row in side) for side in (left, right) for place in (0, 1)]
    found = pairs(near_pairs(*sides, lower, lower + length))
    expected = [
        (i, j)
        for (i, (a, s)), (j, (b, t)) in product(enumerate(left), enumerate(right))
        if a == b >= 0 and lower <= t - s <= lower + length
    ]
    assert sorted(found) == expected
    assert [i for i, _ in found] == sorted(i for i, _ in found)


@pytest.mark.parametrize("null_safe", [(True, True), (False, True), (False, False)])
@given(rows=st.lists(st.tuples(st.none() | st.integers(0, 1), st.none() | st.integers(0, 1)), max_size=6))
def test_common_codes(null_safe: tuple[bool, bool], rows: list[Any]) -> None:
    cut = len(rows) // 2
    sides = [
        [pa.array([row[place] for row in part], pa.int64()) for place in (0, 1)] for part in (rows[:cut], rows[cut:])
    ]
    left, right = common_codes(sides[0], sides[1], (cut, len(rows) - cut), null_safe)
    for one, code in zip(rows[:cut], left.tolist()):
        for other, its in zip(rows[cut:], right.tolist()):
            unknown = any(a is None and not safe for a, safe in zip(one, null_safe))
            assert (code == its and code >= 0) == (one == other and not unknown)


@given(changes=st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3)), max_size=8))
def test_running(changes: list[tuple[int, int]]) -> None:
    before, groups, sums = running(numbers(group for group, _ in changes), numbers(change for _, change in changes))
    for place, (group, _) in enumerate(changes):
        assert before[place] == sum(change for other, change in changes[:place] if other == group)
    assert dict(zip(groups.tolist(), sums.tolist())) == {
        group: sum(change for other, change in changes if other == group) for group, _ in changes
    }


def test_with_missing() -> None:
    assert pairs(with_missing(numbers([1, 1, 3]), numbers([7, 8, 9]), 4)) == [(0, -1), (1, 7), (1, 8), (2, -1), (3, 9)]


@given(
    values=st.lists(st.text("abc", max_size=1), min_size=1, max_size=12),
    steps=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=10),
)
def test_sliding_folds_in_order(values: list[str], steps: list[tuple[int, int]]) -> None:
    bounds: list[tuple[int, int]] = []
    low = high = 0
    for forward, further in steps:
        low = min(low + forward, len(values) - 1)
        high = max(low, min(high + further, len(values) - 1))
        bounds.append((low, high))
    found = sliding(values, [low for low, _ in bounds], [high for _, high in bounds], lambda a, b: a + b, "")
    assert found == [reduce(lambda a, b: a + b, values[low : high + 1]) for low, high in bounds]
