"""``GroupAggregateOperator`` against computing everything anew from the rows that are left."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import changes_of, check_table, element, few, harness, rows_of, run, table_of

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.rex import AggCall, Literal, Ref
from millrace.relational.rows import DELETE, INSERT
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.local_aggregate import LocalAggregate, supports_two_phases
from millrace.testing import EndInput, EpochEnd, ProcessingTime, Step

TYPES = (t.VarCharType(10), t.IntType(), t.DoubleType(), t.DecimalType(10, 2), t.VarCharType(5), t.BooleanType())
KEY, NUMBER, REAL, MONEY, TEXT, FLAG = (Ref(each, index) for index, each in enumerate(TYPES))
Row = tuple[Any, ...]
Rows = Sequence[Row]


def some(rows: Rows, column: int) -> list[Any]:
    return [row[column] for row in rows if row[column] is not None]


def average(values: list[int]) -> int | None:
    return int(Decimal(sum(values)) / len(values)) if values else None


def variance(values: list[float], less: int) -> float | None:
    if len(values) <= less:
        return None
    mean = sum(values) / len(values)
    return sum((each - mean) ** 2 for each in values) / (len(values) - less)


def close(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def root(value: float | None) -> float | None:
    return None if value is None else value**0.5


def total(values: Collection[Any]) -> Any:
    return sum(values) if values else None


def median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def flagged(rows: Rows) -> Rows:
    return [row for row in rows if row[5]]


# (call, the same of the rows that are left)
FOLDING: list[tuple[AggCall, Callable[[Rows], Any]]] = [
    (aggregate_call("COUNT", ()), len),
    (aggregate_call("COUNT", (NUMBER,)), lambda rows: len(some(rows, 1))),
    (aggregate_call("SUM", (NUMBER,)), lambda rows: total(some(rows, 1))),
    (aggregate_call("$SUM0", (NUMBER,)), lambda rows: sum(some(rows, 1))),
    (aggregate_call("SUM", (MONEY,)), lambda rows: total(some(rows, 3))),
    (aggregate_call("SUM", (NUMBER,), filter=FLAG), lambda rows: total(some(flagged(rows), 1))),
    (aggregate_call("AVG", (NUMBER,)), lambda rows: average(some(rows, 1))),
    (aggregate_call("AVG", (REAL,)), lambda rows: sum(some(rows, 2)) / len(some(rows, 2)) if some(rows, 2) else None),
    (aggregate_call("VAR_POP", (REAL,)), lambda rows: variance(some(rows, 2), 0)),
    (aggregate_call("STDDEV_SAMP", (REAL,)), lambda rows: root(variance(some(rows, 2), 1))),
]
KEEPING: list[tuple[AggCall, Callable[[Rows], Any]]] = [
    (aggregate_call("MIN", (NUMBER,)), lambda rows: min(some(rows, 1), default=None)),
    (aggregate_call("MAX", (TEXT,)), lambda rows: max(some(rows, 4), default=None)),
    (aggregate_call("MAX", (REAL,), filter=FLAG), lambda rows: max(some(flagged(rows), 2), default=None)),
    (aggregate_call("COUNT", (NUMBER,), distinct=True), lambda rows: len(set(some(rows, 1)))),
    (aggregate_call("COUNT", (NUMBER,), distinct=True, filter=FLAG), lambda rows: len(set(some(flagged(rows), 1)))),
    (aggregate_call("SUM", (NUMBER,), distinct=True), lambda rows: total(set(some(rows, 1)))),
    (aggregate_call("PERCENTILE", (REAL, Literal(t.DoubleType(False), 0.5))), lambda rows: median(some(rows, 2))),
]


ROWS = st.tuples(
    st.sampled_from([None, "a", "b", ""]),
    st.none() | st.integers(-3, 3),
    st.none() | st.integers(-4, 4).map(lambda n: n / 2),
    st.none() | st.integers(-300, 300).map(lambda n: Decimal(n) / 100),
    st.sampled_from([None, "x", "y", "z"]),
    st.none() | st.booleans(),
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Step], list[Row]]:
    """Insertions and deletions of rows that are there; the rows that are left."""
    script: list[Step] = []
    left: list[Row] = []
    for _ in range(draw(st.integers(0, 14))):
        if left and draw(st.integers(0, 2)) == 0:
            row = left.pop(draw(st.integers(0, len(left) - 1)))
            script.append(element(row, TYPES, DELETE))
        else:
            row = draw(ROWS)
            left.append(row)
            script.append(element(row, TYPES))
        if draw(st.integers(0, 3)) == 0:
            script.append(EpochEnd())
    return [*script, EndInput()], left


def expected(rows: Rows, calls: Sequence[tuple[AggCall, Callable[[Rows], Any]]], keys: bool = True) -> list[Row]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[0] if keys else 0, []).append(row)
    return [(*([key] if keys else []), *(compute(group) for _, compute in calls)) for key, group in groups.items()]


def rounded(row: Row) -> Row:
    return tuple(close(each) if isinstance(each, float) else each for each in row)


def config(calls: Sequence[tuple[AggCall, Any]], **settings: Any) -> GroupAggregate:
    found = {"keys": (0,), "key_types": TYPES[:1], "retracts": True, **settings}
    return GroupAggregate(calls=tuple(call for call, _ in calls), **found)


@few
@given(histories())
def test_folding_against_the_rows_that_are_left(history: tuple[list[Step], list[Row]]) -> None:
    script, left = history
    check_table(config(FOLDING), script, expected(left, FOLDING), view=rounded)


@few
@given(histories())
def test_keeping_against_the_rows_that_are_left(history: tuple[list[Step], list[Row]]) -> None:
    script, left = history
    check_table(config(KEEPING), script, expected(left, KEEPING), view=rounded)


@few
@given(histories())
def test_without_old_rows(history: tuple[list[Step], list[Row]]) -> None:
    script, left = history
    calls = [FOLDING[2], KEEPING[0], KEEPING[3]]
    check_table(config(calls, before=False), script, expected(left, calls), keys=[0])


def in_order(rows: Rows, column: int) -> Any:
    return tuple(row[column] for row in rows)


ORDERED: list[tuple[AggCall, Callable[[Rows], Any]]] = [
    (aggregate_call("FIRST_VALUE", (NUMBER,)), lambda rows: next(iter(some(rows, 1)), None)),
    (aggregate_call("LAST_VALUE", (TEXT,)), lambda rows: next(iter(some(rows, 4)[::-1]), None)),
    (aggregate_call("LISTAGG", (TEXT,)), lambda rows: ",".join(some(rows, 4)) if some(rows, 4) else None),
    (aggregate_call("ARRAY_AGG", (NUMBER,)), lambda rows: in_order(rows, 1)),
    (aggregate_call("ARRAY_AGG", (TEXT,), {"nulls": "IGNORE"}), lambda rows: tuple(some(rows, 4)) or None),
    (aggregate_call("LISTAGG", (TEXT,), distinct=True), lambda rows: ",".join(dict.fromkeys(some(rows, 4))) or None),
    (aggregate_call("MIN", (NUMBER,)), lambda rows: min(some(rows, 1), default=None)),
    (aggregate_call("MAX", (REAL,)), lambda rows: max(some(rows, 2), default=None)),
    (aggregate_call("MIN", (TEXT,)), lambda rows: min(some(rows, 4), default=None)),
]


@pytest.mark.parametrize("retracts", [False, True])
@few
@given(rows=st.lists(ROWS, max_size=12))
def test_the_order_of_insertions(retracts: bool, rows: list[Row]) -> None:
    script = [*(element(row, TYPES) for row in rows), EndInput()]
    check_table(config(ORDERED, retracts=retracts), script, expected(rows, ORDERED))


@few
@given(history=histories())
def test_global(history: tuple[list[Step], list[Row]]) -> None:
    """At the end there is a row, also of nothing."""
    script, left = history
    calls = FOLDING[:3]
    rows = expected(left, calls, keys=False) or [(0, 0, None)]
    check_table(config(calls, keys=(), key_types=()), script, rows)


def test_global_before_the_end() -> None:
    """As in Flink: no row before the first row, and none after the last one was taken back."""
    row = ("a", 1, None, None, None, None)
    script = [EpochEnd(), element(row, TYPES), EpochEnd(), element(row, TYPES, DELETE), EpochEnd()]
    assert run(config(FOLDING[:1], keys=(), key_types=()), script) == [(INSERT, (1,)), (DELETE, (1,))]


def test_the_row_of_nothing_comes_once() -> None:
    """Also if a savepoint is taken behind the end of the input: who is restored from it meets the end again."""
    with harness(config(FOLDING[:1], keys=(), key_types=())) as first:
        first.end_input()
        first.end_epoch()
        assert changes_of(first.values) == [(INSERT, (0,))]
        with first.restored() as second:
            second.end_input()
            second.end_epoch()
            assert second.values == []


def test_state_on_disk() -> None:
    rows = [("a", n % 3, n / 2, Decimal(n), "xyz"[n % 3], n % 2 == 0) for n in range(8)]
    script = [*(element(row, TYPES) for row in rows), element(rows[2], TYPES, DELETE), EndInput()]
    left = [row for row in rows if row is not rows[2]]
    calls = [*FOLDING[:3], *KEEPING]
    check_table(config(calls), script, expected(left, calls), disk=True, view=rounded)


def test_one_change_a_key_and_epoch() -> None:
    calls = [(aggregate_call("SUM", (NUMBER,)), None)]

    def row(number: int) -> Any:
        return element(("a", number, None, None, None, None), TYPES)

    script = [row(1), row(2), EpochEnd(), row(3), row(-3), EpochEnd(), row(4), row(5), EndInput()]
    assert run(config(calls), script) == [(INSERT, ("a", 3)), (1, ("a", 3)), (2, ("a", 12))]


def test_state_expires() -> None:
    calls = [(aggregate_call("COUNT", ()), None)]
    row = element(("a", 1, None, None, None, None), TYPES)
    script = [row, EpochEnd(), ProcessingTime(99), row, EpochEnd(), ProcessingTime(199), row, EpochEnd(), EndInput()]
    found = run(config(calls, state_ttl=100), script)
    assert found == [(INSERT, ("a", 1)), (1, ("a", 1)), (2, ("a", 2)), (INSERT, ("a", 1))]


def test_kept_values_expire() -> None:
    """Entry by entry: what was not seen for a while counts anew."""
    calls = [(aggregate_call("COUNT", (NUMBER,), distinct=True), None), (aggregate_call("MIN", (NUMBER,)), None)]
    one, two = (element(("a", number, None, None, None, None), TYPES) for number in (1, 2))
    script = [one, EpochEnd(), ProcessingTime(99), two, EpochEnd(), ProcessingTime(150), one, EpochEnd(), EndInput()]
    assert table_of(run(config(calls, state_ttl=100), script)) == {("a", 3, 1): 1}


@few
@given(histories(), st.integers(1, 4))
def test_two_phases(history: tuple[list[Step], list[Row]], tasks: int) -> None:
    """Partial accumulators of several tasks, merged."""
    _, left = history
    calls = tuple(call for call, _ in FOLDING)
    assert supports_two_phases(calls, True)
    local = LocalAggregate(keys=(0,), calls=calls, retracts=True)
    partial = []
    for task in range(tasks):
        with harness(local) as first:
            for row in left[task::tasks]:
                first.process_element(rows_of([(INSERT, row)], TYPES))
            first.end_epoch()
            partial += first.values
    with harness(config(FOLDING, partial=True)) as second:
        if partial:
            second.process_elements([(rows, None) for rows in partial])
        second.end_epoch()
        found = table_of(changes_of(second.values))
    assert {rounded(row) for row in found} == set(map(rounded, expected(left, FOLDING)))


def test_what_needs_one_phase() -> None:
    for call, _ in [*KEEPING, *ORDERED[2:4]]:
        assert not supports_two_phases([call], True), call


def test_large_numbers() -> None:
    """Sums of whole numbers wrap around as in Java, a DECIMAL that is too large is NULL."""
    types = (t.IntType(), t.DecimalType(38, 0))
    calls = tuple(aggregate_call("SUM", (Ref(each, index),)) for index, each in enumerate(types))
    large = (2**31 - 1, Decimal("9" * 38))
    script = [element(large, types), EpochEnd(), element((1, Decimal(1)), types), EndInput()]
    found = run(GroupAggregate(keys=(), key_types=(), calls=calls, before=False), script)
    assert found[-1] == (2, (-(2**31), None))
