"""DISTINCT beside MAX and MIN of texts, against a plain computation of each group."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from tests.spark.tables.conftest import Run
from tests.spark.tables.plans import BIGINT, DECIMAL, DOUBLE, INT, STRING, agg, at, cast, fn, group, lit, values

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import AggCall
from millrace.spark.tables.execute import explain
from millrace.spark.tables.steps.context import Context

DRAWN = random.Random(46)
COLUMNS: dict[str, t.DataType] = {"k": STRING, "v": INT, "s": STRING, "big": BIGINT, "x": DOUBLE, "m": DECIMAL}


def _row() -> tuple[Any, ...]:
    drawn = (
        DRAWN.choice("ab"),
        DRAWN.randrange(-4, 5),
        DRAWN.choice(["", "s", "ß", "ss", "z" * 40]),
        DRAWN.randrange(3) << 40,
        DRAWN.choice([0.0, -0.0, 1.5, -2.25]),
        Decimal(DRAWN.randrange(-300, 300)) / 100,
    )
    return tuple(None if DRAWN.random() < 0.2 else each for each in drawn)


ROWS = [_row() for _ in range(200)]
TABLE = values(COLUMNS, *ROWS)
V, S, BIG, X, M = (at(TABLE, name) for name in ("v", "s", "big", "x", "m"))
POSITIVE = fn(">", V, lit(0))

Rows = Sequence[tuple[Any, ...]]


def of(column: str, rows: Rows) -> list[Any]:
    place = list(COLUMNS).index(column)
    return [row[place] for row in rows if row[place] is not None]


def positive(rows: Rows) -> Rows:
    return [row for row in rows if row[1] is not None and row[1] > 0]


def total(found: Iterable[Any]) -> Any:
    found = list(found)
    return sum(found) if found else None


def mean(found: Iterable[int]) -> int | None:
    found = list(found)
    return int(sum(found) / len(found)) if found else None


CALLS: list[tuple[AggCall, Callable[[Rows], Any]]] = [
    (agg("COUNT", V, distinct=True), lambda rows: len(set(of("v", rows)))),
    (agg("COUNT", V, distinct=True, filter=POSITIVE), lambda rows: len(set(of("v", positive(rows))))),
    (agg("COUNT", S, distinct=True), lambda rows: len(set(of("s", rows)))),
    (agg("COUNT", S, distinct=True, filter=POSITIVE), lambda rows: len(set(of("s", positive(rows))))),
    (agg("COUNT", X, distinct=True), lambda rows: len(set(of("x", rows)))),
    (agg("SUM", V, distinct=True), lambda rows: total(set(of("v", rows)))),
    (agg("AVG", V, distinct=True), lambda rows: mean(set(of("v", rows)))),
    (agg("SUM", M, distinct=True), lambda rows: total(set(of("m", rows)))),
    (agg("MAX", S), lambda rows: max(of("s", rows), default=None)),
    (agg("MIN", S, filter=POSITIVE), lambda rows: min(of("s", positive(rows)), default=None)),
    (agg("MAX", S, distinct=True, filter=POSITIVE), lambda rows: max(of("s", positive(rows)), default=None)),
    (agg("COUNT"), len),
    (agg("COUNT", filter=POSITIVE), lambda rows: len(positive(rows))),
    (agg("COUNT", S), lambda rows: len(of("s", rows))),
    (agg("SUM", BIG), lambda rows: total(of("big", rows))),
    (agg("AVG", V), lambda rows: mean(of("v", rows))),
    (agg("SUM", X), lambda rows: total(of("x", rows))),
    (agg("MIN", M), lambda rows: min(of("m", rows), default=None)),
    (agg("MAX", BIG, distinct=True), lambda rows: max(of("big", rows), default=None)),
]
NAMED = {f"a{at}": call for at, (call, _) in enumerate(CALLS)}


@pytest.mark.parametrize("keys", [[], ["k"], ["v"], ["s", "k"]], ids=str)
@pytest.mark.parametrize("count", [0, 1, len(ROWS)])
def test_each_call_over_each_group(run: Run, keys: list[str], count: int) -> None:
    rows = ROWS[:count]
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(row[list(COLUMNS).index(key)] for key in keys), []).append(row)
    expected = [(*key, *(oracle(found) for _, oracle in CALLS)) for key, found in groups.items()]
    assert run(group(values(COLUMNS, *rows), keys, **NAMED)) == sorted(expected, key=repr)


LONG = t.DecimalType(30, 0)


@pytest.mark.parametrize(
    ("calls", "by_value"),
    [
        ([agg("COUNT", V, distinct=True), agg("COUNT", BIG, distinct=True), agg("MAX", S)], True),
        ([agg("COUNT", V, distinct=True), agg("MIN", S), agg("SUM", X)], True),
        ([agg("COUNT", V, distinct=True), agg("MAX", S), agg("FIRST_VALUE", V)], False),
        ([agg("COUNT", V, distinct=True), agg("MAX", S), agg("SUM", cast(V, LONG))], False),
    ],
)
def test_rows_are_not_sorted_for_a_text_beside_what_is_distinct(
    context: Context, calls: list[AggCall], by_value: bool
) -> None:
    plan: n.Rel = group(TABLE, ["k"], **{f"a{at}": call for at, call in enumerate(calls)})
    below = explain(plan, context, "simple").rpartition("SortAggregate")[2]
    assert ("HashAggregate" in below and "Expand" in below) is by_value, below
