"""Plans that SQL text alone does not make, or not all of: compared with DuckDB on the same rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from tests.spark.tables.conftest import Run
from tests.spark.tables.plans import (
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    agg,
    arrow,
    at,
    by,
    cast,
    fn,
    group,
    lit,
    project,
    values,
)

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import Frame

COLUMNS: dict[str, t.DataType] = {
    "k": INT,
    "v": INT,
    "s": STRING,
    "d": DOUBLE,
    "m": DECIMAL,
    "b": BOOLEAN,
    "ts": TIMESTAMP,
    "day": DATE,
}
T = values(
    COLUMNS,
    (1, 10, "apple", 1.5, Decimal("1.25"), True, dt.datetime(2020, 1, 1), dt.date(2020, 1, 1)),
    (1, None, "Banana", -2.5, Decimal("-7.50"), False, dt.datetime(1960, 5, 5, 23, 59, 59, 1000), dt.date(1960, 5, 5)),
    (2, 5, None, None, None, None, None, None),
    (None, 7, "", 0.0, Decimal("0.00"), True, dt.datetime(2021, 1, 1, 0, 0, 1), dt.date(1969, 12, 31)),
    (3, -4, "it's", 1e10, Decimal("99999999.99"), False, dt.datetime(1969, 12, 31, 23, 59, 59), dt.date(1, 1, 1)),
    (1, 10, "apple", 1.5, Decimal("1.25"), True, dt.datetime(2020, 1, 1), dt.date(2020, 1, 1)),
    (None, None, "\\'\n", 3.25, Decimal("3.33"), None, dt.datetime(2020, 6, 1), dt.date(9999, 12, 31)),
)
U = values({"k": INT, "w": BIGINT, "s": STRING}, (1, 100, "apple"), (1, 200, "x"), (None, 300, ""), (4, 400, None))
E = values(COLUMNS)
WIDTH = len(COLUMNS)


def joined(kind: str, left: n.Rel = T, right: n.Rel = U, null_aware: bool = False) -> n.Join:
    condition = fn("=", at(left, "k"), at(right, "k", len(left.schema)))
    return n.Join(left, right, kind, condition, null_aware)


def narrow(plan: n.Rel, *names: str) -> n.Project:
    return project(plan, **{name: at(plan, name) for name in names})


def set_op(kind: str, all: bool, left: n.Rel, right: n.Rel) -> n.SetOp:
    return n.SetOp(kind, all, (left, right), left.schema)


def over(
    *calls: tuple[Any, Frame], order: tuple[Any, ...] = by(at(T, "d")), partition: tuple[int, ...] = (0,)
) -> n.Rel:
    fields = tuple(n.Field(f"x{index}", call.type.nullable()) for index, (call, _) in enumerate(calls))
    plan = n.Over(T, partition, order, calls, fields)
    return narrow(plan, "k", "v", "d", *(field.name for field in fields))


def rank(function: str, first: int, last: int, number: bool = True) -> n.Rel:
    field = n.Field("rn", BIGINT) if number else None
    plan = n.Rank(T, function, (0,), by(at(T, "v"), descending=True, nulls_first=False), first, last, field)
    return narrow(plan, "k", "v", *(["rn"] if number else []))


def rank_sql(function: str, condition: str, columns: str = "k, v, rn") -> str:
    window = "(PARTITION BY k ORDER BY v DESC NULLS LAST)"
    return f"SELECT {columns} FROM (SELECT *, {function}() OVER {window} AS rn FROM t) WHERE {condition}"


def window(frame: str) -> str:
    return f"OVER (PARTITION BY k ORDER BY d NULLS FIRST {frame})"


ROWS_2 = Frame(True, 1)
ALL_BEFORE = Frame(False, None)
AHEAD = Frame(True, 0, 1)
V, S, D, M = at(T, "v"), at(T, "s"), at(T, "d"), at(T, "m")
POSITIVE = fn(">", V, lit(0))

PROGRAMS: dict[str, tuple[n.Rel, str]] = {
    "all columns": (T, "SELECT * FROM t"),
    "no rows": (E, "SELECT * FROM e"),
    "arithmetic": (
        project(T, a=fn("+", V, at(T, "k")), b=fn("*", D, lit(2.0)), c=fn("-", V)),
        "SELECT v + k, d * 2, -v FROM t",
    ),
    "texts with quotes": (
        project(T, a=lit("it's \\ \n ${x}"), b=S),
        "SELECT 'it''s \\ ' || chr(10) || ' ${x}', s FROM t",
    ),
    "coalesce and case": (
        project(T, a=fn("COALESCE", S, lit("none")), b=fn("CASE", POSITIVE, lit("yes"), lit("no"))),
        "SELECT coalesce(s, 'none'), CASE WHEN v > 0 THEN 'yes' ELSE 'no' END FROM t",
    ),
    "filter that keeps nothing": (n.Filter(T, fn("=", lit(1), lit(2))), "SELECT * FROM t WHERE 1 = 2"),
    "filter on times": (
        n.Filter(T, fn("<", at(T, "ts"), lit(dt.datetime(1970, 1, 1), TIMESTAMP))),
        "SELECT * FROM t WHERE ts < TIMESTAMP '1970-01-01'",
    ),
    "group": (
        group(T, ["k"], n=agg("COUNT"), s=agg("SUM", V), lo=agg("MIN", S), hi=agg("MAX", at(T, "ts"))),
        "SELECT k, count(*), sum(v)::INT, min(s), max(ts) FROM t GROUP BY k",
    ),
    "group without keys": (
        group(T, [], n=agg("COUNT"), s=agg("SUM", V), a=agg("AVG", D)),
        "SELECT count(*), sum(v)::INT, avg(d) FROM t",
    ),
    "group of nothing without keys": (
        group(E, [], n=agg("COUNT"), s=agg("SUM", V), l=agg("LISTAGG", S), x=agg("COLLECT", S)),
        "SELECT 0::BIGINT, NULL, NULL, map([]::VARCHAR[], []::INT[])",
    ),
    "average of whole numbers": (group(T, ["k"], a=agg("AVG", V)), "SELECT k, trunc(avg(v))::INT FROM t GROUP BY k"),
    "sums of decimals": (group(T, [], a=agg("SUM", M)), "SELECT sum(m)::DECIMAL(38, 2) FROM t"),
    "distinct aggregates": (
        group(T, ["k"], a=agg("COUNT", V, distinct=True), b=agg("SUM", V, distinct=True), c=agg("COUNT")),
        "SELECT k, count(DISTINCT v), sum(DISTINCT v)::INT, count(*) FROM t GROUP BY k",
    ),
    "filtered aggregates": (
        group(T, ["k"], a=agg("COUNT", filter=POSITIVE), b=agg("SUM", V, filter=at(T, "b"))),
        "SELECT k, count(*) FILTER (WHERE v > 0), sum(v) FILTER (WHERE b)::INT FROM t GROUP BY k",
    ),
    "grouping sets": (
        group(T, ["k", "s"], ((0, 1), (0,), ()), n=agg("COUNT"), x=agg("SUM", V)),
        "SELECT k, s, count(*), sum(v)::INT FROM t GROUP BY GROUPING SETS ((k, s), (k), ())",
    ),
    "list of texts in order": (
        group(T, [], x=agg("LISTAGG", S, lit("|"), order=by(D, descending=True))),
        "SELECT string_agg(s, '|' ORDER BY d DESC) FROM t",
    ),
    "array in order": (
        group(T, [], x=agg("ARRAY_AGG", V, order=by(D))),
        "SELECT array_agg(v ORDER BY d NULLS FIRST) FROM t",
    ),
    "percentile": (
        group(T, ["k"], x=agg("PERCENTILE", V, lit(0.25))),
        "SELECT k, quantile_cont(v, 0.25) FROM t GROUP BY k",
    ),
    "left join": (joined("LEFT"), "SELECT * FROM t LEFT JOIN u ON t.k = u.k"),
    "right join": (joined("RIGHT"), "SELECT * FROM t RIGHT JOIN u ON t.k = u.k"),
    "full join": (joined("FULL"), "SELECT * FROM t FULL JOIN u ON t.k = u.k"),
    "not in with NULL": (joined("ANTI", null_aware=True), "SELECT * FROM t WHERE k NOT IN (SELECT k FROM u)"),
    "not in without NULL": (
        joined("ANTI", right=n.Filter(U, fn("IS NOT NULL", at(U, "k"))), null_aware=True),
        "SELECT * FROM t WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL)",
    ),
    "not in nothing": (joined("ANTI", right=E, null_aware=True), "SELECT * FROM t WHERE k NOT IN (SELECT k FROM e)"),
    "left join of nothing": (joined("LEFT", right=E), "SELECT * FROM t LEFT JOIN e ON t.k = e.k"),
    "join with a range": (
        n.Join(T, U, "LEFT", fn("AND", fn("<", V, at(U, "w", WIDTH)), fn("=", S, at(U, "s", WIDTH)))),
        "SELECT * FROM t LEFT JOIN u ON t.v < u.w AND t.s = u.s",
    ),
    "filter above a left join": (
        n.Filter(joined("LEFT"), fn("AND", POSITIVE, fn("IS NULL", at(joined("LEFT"), "w")))),
        "SELECT * FROM t LEFT JOIN u ON t.k = u.k WHERE v > 0 AND w IS NULL",
    ),
    "except all": (
        set_op("EXCEPT", True, narrow(T, "k"), narrow(U, "k")),
        "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
    ),
    "limit after order": (
        n.Sort(T, by(V, descending=True, nulls_first=False), 2, 2),
        "SELECT * FROM t ORDER BY v DESC NULLS LAST LIMIT 2 OFFSET 2",
    ),
    "no limit at all": (n.Sort(narrow(T, "v"), (), 0, 0), "SELECT v FROM t LIMIT 0"),
    "rank": (rank("RANK", 1, 1), rank_sql("rank", "rn <= 1")),
    "top without number": (rank("ROW_NUMBER", 1, 1, False), rank_sql("row_number", "rn = 1", "k, v")),
    "sums over rows": (
        over((agg("SUM", V), ROWS_2), (agg("COUNT", V), ROWS_2)),
        f"SELECT k, v, d, sum(v) {window('ROWS 1 PRECEDING')}::INT, count(v) {window('ROWS 1 PRECEDING')} FROM t",
    ),
    "rows ahead": (
        over((agg("MAX", V), AHEAD)),
        f"SELECT k, v, d, max(v) {window('ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING')} FROM t",
    ),
    "distinct over": (
        over((agg("COUNT", V, distinct=True), ALL_BEFORE), (agg("SUM", V, distinct=True), ALL_BEFORE)),
        f"SELECT k, v, d, count(DISTINCT v) {window('')}, sum(DISTINCT v) {window('')}::INT FROM t",
    ),
    "filtered over": (
        over((agg("SUM", V, filter=at(T, "b")), ALL_BEFORE)),
        f"SELECT k, v, d, sum(v) FILTER (WHERE b) {window('')}::INT FROM t",
    ),
    "over everything": (
        over((agg("COUNT"), ALL_BEFORE), order=(), partition=()),
        "SELECT k, v, d, count(*) OVER () FROM t",
    ),
    "casts": (
        project(T, a=cast(V, STRING), b=cast(V, BIGINT), c=cast(at(T, "ts"), DATE)),
        "SELECT v::VARCHAR, v::BIGINT, ts::DATE FROM t",
    ),
    "each row for every projection": (
        n.Expand(T, ((V, S), (lit(None, INT), fn("COALESCE", S, lit("?")))), project(T, v=V, s=S).columns),
        "SELECT v, s FROM t UNION ALL SELECT NULL, coalesce(s, '?') FROM t",
    ),
    "in Python": (
        n.Filter(project(T, f=fn("DATE_FORMAT", at(T, "ts"), lit("yyyy-MM")), v=V), fn("IS NOT NULL", lit(1))),
        "SELECT strftime(ts, '%Y-%m'), v FROM t",
    ),
    "filter in Python": (
        n.Filter(T, fn("AND", POSITIVE, fn("=", fn("DATE_FORMAT", at(T, "ts"), lit("yyyy")), lit("2020")))),
        "SELECT * FROM t WHERE v > 0 AND year(ts) = 2020",
    ),
}


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, plan in (("t", T), ("u", U), ("e", E)):
            connection.register(name, arrow(plan))
        yield connection


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rows_are_those_of_another_engine(run: Run, oracle: duckdb.DuckDBPyConnection, name: str) -> None:
    plan, sql = PROGRAMS[name]
    expected = oracle.execute(sql).fetchall()
    assert run(plan) == sorted(map(tuple, expected), key=repr)
