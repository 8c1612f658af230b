"""LIMIT and aggregates that the database computes: the same answer as without."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.connectors.jdbc.databases import JdbcTables, Place, of_duckdb, of_sqlite
from tests.table.programs.running import changes_in

from millrace.datastream import StreamExecutionEnvironment
from millrace.relational import nodes as n
from millrace.relational.rules.filters_and_projections import push_into_sources
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.testing.local import run_locally

COLUMNS = "k INT, i INT, b BIGINT, d DECIMAL(10, 2), s STRING, x DOUBLE"
THERE = "k INTEGER, i INTEGER, b BIGINT, d DECIMAL(10, 2), s VARCHAR(20), x DOUBLE PRECISION"


class Asked:
    """A query, as it is and with what its source computes."""

    def __init__(self, tables: JdbcTables, sql: str) -> None:
        self._session = tables.environment._session
        plan = optimise_streaming(tables.environment.sql_query(sql)._plan, surroundings_of(self._session))
        self.plan, self.pushed = plan, push_into_sources(plan)

    @property
    def is_pushed(self) -> bool:
        return any(each.source.pushed for each in n.find(self.pushed, n.Scan))

    def rows(self, plan: n.Rel) -> Counter[Any]:
        streams = StreamExecutionEnvironment().set_parallelism(1)
        add_to_program([plan], streams._program, options_of(self._session))
        found: Counter[Any] = Counter()
        for kind, row in changes_in(run_locally(streams).collected, plan.schema):
            found[tuple(row)] += 1 if int(kind) in (0, 2) else -1
        return +found

    def check(self, is_pushed: bool = True) -> None:
        assert self.is_pushed is is_pushed
        if is_pushed:
            assert self.rows(self.pushed) == self.rows(self.plan)


def filled(place: Place, rows: list[Any]) -> str:
    table = place.create(THERE)
    values = ", ".join("(" + ", ".join(map(_text, row)) + ")" for row in rows)
    if rows:
        place.run(f"INSERT INTO {table} VALUES {values}")
    return table


def _text(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


ROWS = [
    (1, 2_147_483_647, 9_223_372_036_854_775_807, "1.25", "a", 1.5),
    (1, 2_147_483_647, 1, "2.25", "A", None),
    (1, None, None, None, None, None),
    (2, -7, -7, "-0.01", "a", -0.5),
    (2, 2, 2, "99999999.99", "b", 2.0),
    (None, -1, -2, "0.00", "", 0.0),
]


@pytest.fixture
def table(tables: JdbcTables, place: Place) -> str:
    return tables.over(place, filled(place, ROWS), COLUMNS)


CALLS = ["COUNT(*)", "COUNT(i)", "SUM(i)", "MIN(i)", "MAX(i)", "AVG(i)"]


@pytest.mark.parametrize("condition", ["", "WHERE i > 0", "WHERE i IN (2, -7) OR k IS NULL"])
@pytest.mark.parametrize("grouped", [False, True])
def test_whole_numbers(tables: JdbcTables, table: str, condition: str, grouped: bool) -> None:
    asked = ", ".join(CALLS)
    if grouped:
        Asked(tables, f"SELECT k, {asked} FROM {table} {condition} GROUP BY k").check()
    else:
        Asked(tables, f"SELECT {asked} FROM {table} {condition}").check()


def test_of_nothing(tables: JdbcTables, place: Place) -> None:
    table = tables.over(place, filled(place, []), COLUMNS)
    Asked(tables, f"SELECT {', '.join(CALLS)} FROM {table}").check()
    Asked(tables, f"SELECT k, {', '.join(CALLS)} FROM {table} GROUP BY k").check()


def test_sums_that_are_too_large_and_decimals(tables: JdbcTables, place: Place, table: str) -> None:
    exact = not place.url.startswith("jdbc:sqlite")  # there decimals are texts, and sums of 64 bits
    Asked(tables, f"SELECT SUM(b), AVG(b) FROM {table}").check(exact)
    Asked(tables, f"SELECT k, SUM(d), MIN(d), MAX(d), COUNT(d) FROM {table} WHERE d < 5 GROUP BY k").check(exact)
    Asked(tables, f"SELECT d, COUNT(*) FROM {table} GROUP BY d").check(exact)


def test_texts_as_keys(tables: JdbcTables, place: Place, table: str) -> None:
    exact = place.url.startswith(("jdbc:postgresql", "jdbc:duckdb"))
    Asked(tables, f"SELECT s, COUNT(*) FROM {table} GROUP BY s").check(exact)
    Asked(tables, f"SELECT COUNT(*) FROM {table} WHERE s = 'a'").check(exact)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT AVG(d) FROM {}",
        "SELECT SUM(x), MAX(x) FROM {}",
        "SELECT MAX(s) FROM {}",
        "SELECT COUNT(DISTINCT i) FROM {}",
        "SELECT COUNT(*) FILTER (WHERE i > 1) FROM {}",
        "SELECT SUM(i + 1) FROM {}",
        "SELECT COUNT(*) FROM {} WHERE i + 1 > 2",
        "SELECT COUNT(*) FROM {} WHERE s < 'b'",
        "SELECT k, i, COUNT(*) FROM {} GROUP BY GROUPING SETS ((k), (i))",
    ],
)
def test_what_might_differ_stays_here(tables: JdbcTables, tmp_path: Path, query: str) -> None:
    place = of_duckdb(str(tmp_path / "x.duckdb"))
    table = tables.over(place, filled(place, ROWS), COLUMNS)
    Asked(tables, query.format(table)).check(False)


def test_a_type_that_is_not_what_is_declared(tables: JdbcTables, tmp_path: Path) -> None:
    place = of_duckdb(str(tmp_path / "x.duckdb"))
    there = filled(place, ROWS)
    other = tables.over(place, there, COLUMNS.replace("d DECIMAL(10, 2)", "d DECIMAL(10, 1)"))
    Asked(tables, f"SELECT SUM(d) FROM {other}").check(False)
    Asked(tables, f"SELECT SUM(i) FROM {other}").check()


def test_values_of_another_type_in_sqlite(tables: JdbcTables, tmp_path: Path) -> None:
    place = of_sqlite(str(tmp_path / "x.db"))
    table = filled(place, ROWS)
    place.run(f"INSERT INTO {table} (i) VALUES ('no number')")
    asked = Asked(tables, f"SELECT SUM(i) FROM {tables.over(place, table, COLUMNS)}")
    for plan in (asked.plan, asked.pushed):
        with pytest.raises(Exception, match=table):
            asked.rows(plan)


def test_it_can_be_switched_off(tables: JdbcTables, place: Place) -> None:
    table = tables.over(place, filled(place, ROWS), COLUMNS, **{"scan.push-down.enabled": "false"})
    Asked(tables, f"SELECT COUNT(*) FROM {table}").check(False)
    Asked(tables, f"SELECT * FROM {table} LIMIT 2").check(False)


def test_limits(tables: JdbcTables, place: Place, table: str) -> None:
    for condition in ("", "WHERE i > 0", "WHERE i + 0 > 0"):
        asked = Asked(tables, f"SELECT k, i FROM {table} {condition} LIMIT 2")
        assert asked.is_pushed is (condition != "WHERE i + 0 > 0")
        everything = Asked(tables, f"SELECT k, i FROM {table} {condition}")
        found = asked.rows(asked.pushed)
        assert found.total() == 2
        assert found <= everything.rows(everything.plan)
    ordered = Asked(tables, f"SELECT k, i FROM {table} ORDER BY i LIMIT 2")
    ordered.check(False)


def test_a_limit_is_seen_in_the_plan(tables: JdbcTables, table: str) -> None:
    plan = Asked(tables, f"SELECT * FROM {table} LIMIT 2").pushed
    (scan,) = n.find(plan, n.Scan)
    assert "limit=2" in scan.details()
    (scan,) = n.find(Asked(tables, f"SELECT COUNT(*) FROM {table}").pushed, n.Scan)
    assert "aggregates=[COUNT(*)]" in scan.details()


number = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([-(2**31), 2**31 - 1]))
wide = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]))
row = st.tuples(number, number, wide, st.none(), st.none(), st.none())


@pytest.fixture(scope="module")
def files() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


_numbers = itertools.count()


@settings(max_examples=8)  # each a file and two jobs
@given(data=st.data())
def test_any_rows(files: Path, data: st.DataObject) -> None:
    make = data.draw(st.sampled_from([of_sqlite, of_duckdb]))
    place, tables = make(str(files / f"{next(_numbers)}.db")), JdbcTables()
    table = tables.over(place, filled(place, data.draw(st.lists(row, max_size=6))), COLUMNS)
    columns = ["k", "i", *["b"] * (make is of_duckdb)]
    call = st.tuples(st.sampled_from(["COUNT", "SUM", "MIN", "MAX", "AVG"]), st.sampled_from(columns))
    calls = ", ".join(f"{name}({column})" for name, column in data.draw(st.lists(call, min_size=1, max_size=4)))
    keys = ", ".join(data.draw(st.lists(st.sampled_from(columns), max_size=2, unique=True)))
    condition = data.draw(st.sampled_from(["", "WHERE i > 0", "WHERE i <> 1 AND k < 2", "WHERE b IS NULL OR i = 0"]))
    head, tail = (f"{keys}, ", f"GROUP BY {keys}") if keys else ("", "")
    Asked(tables, f"SELECT {head}{calls} FROM {table} {condition} {tail}").check()
