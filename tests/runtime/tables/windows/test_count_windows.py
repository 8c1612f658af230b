"""Windows of a number of rows against slices of the list of rows of each key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import check_table, element, few, run

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.nodes import WindowSpec
from millrace.relational.rex import Ref
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.testing import EndInput, EpochEnd, ProcessingTime

TYPES = (t.VarCharType(1), t.IntType())
NUMBER = Ref(TYPES[1], 1)
CALLS = (
    aggregate_call("SUM", (NUMBER,)),
    aggregate_call("COUNT", (NUMBER,), distinct=True),
    aggregate_call("ARRAY_AGG", (NUMBER,)),
)


def config(size: int, slide: int | None, **settings: Any) -> WindowAggregate:
    found = {"keys": (0,), "key_types": TYPES[:1], "calls": CALLS, **settings}
    return WindowAggregate(window=WindowSpec("ROWS", size, slide), time=None, zoned=True, **found)


@pytest.mark.parametrize(("size", "slide"), [(1, None), (3, None), (3, 1), (3, 2), (2, 3)], ids=str)
@few
@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3)), max_size=12))
def test_windows(size: int, slide: int | None, rows: list[tuple[Any, int]]) -> None:
    expected = []
    for key in {row[0] for row in rows}:
        numbers = [row[1] for row in rows if row[0] == key]
        for start in range(0, len(numbers) - size + 1, slide or size):
            seen = numbers[start : start + size]
            expected.append((key, sum(seen), len(set(seen)), tuple(seen)))
    check_table(config(size, slide), [*(element(row, TYPES) for row in rows), EndInput()], expected)


def test_without_keys() -> None:
    script = [*(element(("a", number), TYPES) for number in (1, 2, 3, 4, 5)), EndInput()]
    found = run(config(2, None, keys=(), key_types=()), script)
    assert [row for _, row in found] == [(3, 2, (1, 2)), (7, 2, (3, 4))]


def test_on_disk() -> None:
    rows = [("ab"[number % 2], number) for number in range(8)]
    script = [*(element(row, TYPES) for row in rows), EndInput()]
    expected = [("a", 2, 2, (0, 2)), ("a", 10, 2, (4, 6)), ("b", 4, 2, (1, 3)), ("b", 12, 2, (5, 7))]
    check_table(config(2, None), script, expected, disk=True)


def test_a_key_that_is_idle_begins_anew() -> None:
    script = [
        ProcessingTime(0),
        element(("a", 1), TYPES),
        EpochEnd(),
        ProcessingTime(1_000),
        element(("a", 2), TYPES),
        element(("a", 3), TYPES),
        EndInput(),
    ]
    assert [row[1] for _, row in run(config(2, None, state_ttl=100), script)] == [5]
