"""``Rank`` against ranking the rows that are left, from the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import check_table, element, few, run

from millrace.relational import types as t
from millrace.relational.rex import Ref, SortKey
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from millrace.runtime.tables.ordering.rank import Rank
from millrace.testing import EndInput, EpochEnd, Step

TYPES = (t.VarCharType(2), t.DoubleType(), t.VarCharType(3), t.IntType())
ORDER = (SortKey(Ref(TYPES[1], 1), descending=True, nulls_first=False), SortKey(Ref(TYPES[2], 2)))
Row = tuple[Any, ...]

ROWS = st.tuples(
    st.sampled_from([None, "a"]),
    st.sampled_from([None, 1.0, 2.0, 3.0]),
    st.sampled_from([None, "x", "y"]),
    st.integers(0, 9),
)


def sort_key(row: Row) -> Any:
    """Descending with NULL last, then ascending with NULL first."""
    return (row[1] is None, -(row[1] or 0)), (row[2] is not None, row[2] or "")


def ranked(rows: Sequence[Row], function: str, first: int, last: int, number: bool) -> list[Row]:
    found: list[Row] = []
    for key in {row[0] for row in rows}:
        ordered = sorted((row for row in rows if row[0] == key), key=sort_key)
        distinct = sorted({sort_key(row) for row in ordered})
        for place, row in enumerate(ordered, 1):
            rank = place
            if function == "RANK":
                rank = 1 + sum(sort_key(other) < sort_key(row) for other in ordered)
            elif function == "DENSE_RANK":
                rank = 1 + distinct.index(sort_key(row))
            if first <= rank <= last:
                found.append((*row, rank) if number else row)
    return found


FUNCTIONS = pytest.mark.parametrize("function", ["ROW_NUMBER", "RANK", "DENSE_RANK"])
NUMBERS = pytest.mark.parametrize("number", [False, True])


def config(function: str, first: int, last: int, number: bool, **settings: Any) -> Rank:
    return Rank(
        function=function, partition=(0,), order=ORDER, types=TYPES, first=first, last=last, number=number, **settings
    )


@FUNCTIONS
@NUMBERS
@few
@given(st.lists(ROWS, max_size=10), st.integers(1, 2), st.integers(2, 3))
def test_insertions(function: str, number: bool, rows: list[Row], first: int, last: int) -> None:
    script = [*(element(row, TYPES) for row in rows), EndInput()]
    check_table(config(function, first, last, number), script, ranked(rows, function, first, last, number))


@FUNCTIONS
@NUMBERS
@few
@given(st.data())
def test_rows_that_are_taken_back(function: str, number: bool, data: st.DataObject) -> None:
    script: list[Step] = []
    left: list[Row] = []
    for row in data.draw(st.lists(ROWS, max_size=12)):
        if left and data.draw(st.integers(0, 2)) == 0:
            # Of equal rows the earliest is taken, so it does not matter which one this is.
            gone = left.pop(left.index(data.draw(st.sampled_from(left))))
            script.append(element(gone, TYPES, DELETE))
        else:
            script.append(element(row, TYPES))
            left.append(row)
    check_table(
        config(function, 1, 2, number, retracts=True), [*script, EndInput()], ranked(left, function, 1, 2, number)
    )


@NUMBERS
@few
@given(st.data())
def test_rows_by_key(number: bool, data: st.DataObject) -> None:
    """Rows of a key take the place of each other; there are no old rows."""
    script: list[Step] = []
    left: dict[tuple[Any, ...], Row] = {}
    for row in data.draw(st.lists(ROWS, max_size=12)):
        key = (row[0], row[3])
        known = left.pop(key, None)
        if known is not None and data.draw(st.booleans()):
            script.append(element(known, TYPES, DELETE))
        else:
            script.append(element(row, TYPES, INSERT if known is None else UPDATE_AFTER))
            left[key] = row
    expected = ranked(list(left.values()), "ROW_NUMBER", 1, 2, number)
    check_table(config("ROW_NUMBER", 1, 2, number, unique=(3,)), [*script, EndInput()], expected)


@NUMBERS
@pytest.mark.parametrize("retracts", [False, True])
def test_on_disk(number: bool, retracts: bool) -> None:
    rows = [("a", n % 3 / 1.0, "xy"[n % 2], n) for n in range(7)]
    script = [*(element(row, TYPES) for row in rows), EndInput()]
    expected = ranked(rows, "ROW_NUMBER", 1, 3, number)
    check_table(config("ROW_NUMBER", 1, 3, number, retracts=retracts), script, expected, disk=True)


def test_places_change_hands() -> None:
    low, high = ("a", 1.0, None, 1), ("a", 2.0, None, 2)
    script = [element(low, TYPES), EpochEnd(), element(high, TYPES), EndInput()]
    assert run(config("ROW_NUMBER", 1, 1, True), script) == [
        (INSERT, (*low, 1)),
        (UPDATE_BEFORE, (*low, 1)),
        (UPDATE_AFTER, (*high, 1)),
    ]
    assert run(config("ROW_NUMBER", 1, 1, False), script) == [(INSERT, low), (DELETE, low), (INSERT, high)]
