"""``Deduplicate`` against picking the row of each key from the whole input."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import check_table, element, few, rows_of, run

from millrace.relational import types as t
from millrace.relational.rows import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.testing import Element, EndInput, EpochEnd, ProcessingTime, Step

TYPES = (t.VarCharType(2), t.TimestampType(3), t.IntType())
START = datetime(2024, 1, 1)
Row = tuple[Any, ...]

ROWS = st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.integers(0, 4), st.integers(0, 9)), max_size=12)


def timed(rows: list[Row]) -> list[Row]:
    return [(key, START + timedelta(seconds=time), number) for key, time, number in rows]


def script_of(rows: list[Row]) -> list[Step]:
    return [*(element(row, TYPES) for row in rows), EndInput()]


def picked(rows: list[Row], last: bool, time: bool) -> list[Row]:
    best: dict[Any, Row] = {}
    for row in rows:
        known = best.get(row[0])
        if known is None or (last and (not time or row[1] >= known[1])) or (not last and time and row[1] < known[1]):
            best[row[0]] = row
    return list(best.values())


def config(last: bool, time: bool, **settings: Any) -> Deduplicate:
    return Deduplicate(keys=(0,), types=TYPES, last=last, time=1 if time else None, **settings)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("time", [False, True])
@few
@given(ROWS)
def test_against_all_rows(last: bool, time: bool, rows: list[Row]) -> None:
    rows = timed(rows)
    check_table(config(last, time), script_of(rows), picked(rows, last, time))
    check_table(config(last, time, before=False), script_of(rows), picked(rows, last, time), keys=[0])


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("time", [False, True])
def test_the_rank_is_one(last: bool, time: bool) -> None:
    rows = timed([("a", 1, 1), ("a", 2, 2), ("b", 1, 3)])
    expected = [(*row, 1) for row in picked(rows, last, time)]
    check_table(config(last, time, number=True), script_of(rows), expected, disk=True)


def test_an_earlier_row_takes_the_first_back() -> None:
    late, early = timed([("a", 5, 1), ("a", 3, 2)])
    found = run(config(False, True), [element(late, TYPES), EpochEnd(), element(early, TYPES), EndInput()])
    assert found == [(INSERT, late), (UPDATE_BEFORE, late), (UPDATE_AFTER, early)]


def test_rows_of_long_ago_and_of_this_epoch_in_one_batch() -> None:
    many = timed([(f"k{number}", 1, number) for number in range(50)])
    script: list[Step] = [Element(rows_of([(INSERT, row) for row in many], TYPES)), EpochEnd()]
    again = timed([("k1", 2, 1), ("new", 2, 2)])
    late = timed([("new", 1, 3), ("k1", 3, 4), ("k40", 3, 5), ("new", 3, 6)])
    script += [Element(rows_of([(INSERT, row) for row in rows], TYPES)) for rows in (again, late)]
    found = run(config(True, True), [*script, EndInput()])[50:]
    assert found == [
        *[(UPDATE_BEFORE, many[1]), (UPDATE_AFTER, late[1])],
        (INSERT, late[3]),
        *[(UPDATE_BEFORE, many[40]), (UPDATE_AFTER, late[2])],
    ]


def test_the_first_row_is_forgotten() -> None:
    one, two, three = timed([("a", 1, 1), ("a", 1, 2), ("a", 1, 3)])
    script = [element(one, TYPES), EpochEnd(), ProcessingTime(99), element(two, TYPES), EpochEnd()]
    script += [ProcessingTime(100), element(three, TYPES), EndInput()]
    assert run(config(False, False, state_ttl=100), script) == [(INSERT, one), (INSERT, three)]
