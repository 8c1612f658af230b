"""Every standard query: its plan, run by DuckDB, gives what DuckDB makes of the query itself."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from tests.corpus import corpus
from tests.table.sql.binding.duckdb_plans import sql_of
from tests.table.sql.queries import AGGREGATES, JOINS, QUERIES, SETS, SUBQUERIES, TABLES, Query
from tests.table.sql.sessions import Session

from millrace.relational import nodes as n
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes.rel import expressions_of, transform
from millrace.relational.rex import OuterRef, Subquery, walk
from millrace.relational.rules import optimizer
from millrace.relational.rules.window_rules import top_n

Rows = dict[str, list[list[Any]]]


@contextmanager
def _database(rows: Rows) -> Iterator[Any]:
    connection = duckdb.connect()
    for table in TABLES:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
        marks = ", ".join("?" * len(table.columns))
        if rows[table.name]:
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows[table.name])
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    with _database({table.name: [list(row) for row in table.rows] for table in TABLES}) as connection:
        yield connection


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session(streaming=False)
    for table in TABLES:
        session.declare(table.name, *(f"{name} {kind}" for name, kind in table.columns))
    return session


def _comparable(rows: list[tuple[Any, ...]], ordered: bool) -> Any:
    return rows if ordered else Counter(rows)


@corpus("query", QUERIES, 163)
def test_plan_means_what_the_query_means(query: Query, session: Session, database: Any) -> None:
    plan = transform(session.bind(query.sql), top_n)
    expected = database.execute(query.duckdb or query.sql)
    names = [column[0] for column in expected.description]
    rows = expected.fetchall()
    found = database.execute(sql_of(plan)).fetchall()
    assert _comparable(found, query.ordered) == _comparable(rows, query.ordered)
    assert len(plan.schema) == len(names)
    assert [column.name for column in plan.schema[:1]] == names[:1]
    for at, column in enumerate(plan.schema):
        assert column.type.is_nullable or all(row[at] is not None for row in rows), column


@corpus("query", QUERIES, 163)
def test_no_subquery_is_left(query: Query, session: Session) -> None:
    for node in n.walk(session.bind(query.sql)):
        for expression in expressions_of(node):
            assert not any(isinstance(part, (Subquery, OuterRef)) for part in walk(expression))


@pytest.mark.parametrize(
    "optimise", [optimizer.optimise_batch, optimizer.optimise_streaming], ids=["batch", "streaming"]
)
@corpus("query", QUERIES, 163)
def test_optimised_plan_means_the_same(
    query: Query, optimise: Callable[[n.Rel, Surroundings], n.Rel], session: Session, database: Any
) -> None:
    plan = session.bind(query.sql)
    optimised = optimise(plan, Surroundings(1))
    assert optimised.schema == plan.schema
    found = database.execute(sql_of(optimised)).fetchall()
    expected = database.execute(query.duckdb or query.sql).fetchall()
    assert _comparable(found, query.ordered) == _comparable(expected, query.ordered)


def _value(kind: str, random: random.Random) -> Any:
    """A quarter of NULLs, and few different values, so that much is equal."""
    if random.random() < 0.25:
        return None
    if kind == "VARCHAR":
        return random.choice(["pen", "Bonn", "x"])
    if kind == "BOOLEAN":
        return random.random() < 0.5
    if kind == "DATE":
        return datetime.date(2020, 1, random.randint(1, 3))
    if kind.startswith("TIMESTAMP"):
        return datetime.datetime(2024, 5, 6, random.randint(0, 3))
    return Decimal(random.choice(["1.50", "2.25"])) if kind.startswith("DEC") else random.choice([1, 2, 3, 10, 20])


@pytest.mark.parametrize("seed", range(8))
def test_on_random_rows(seed: int, session: Session) -> None:
    source = random.Random(seed)
    rows = {
        table.name: [[_value(kind, source) for _, kind in table.columns] for _ in range(source.choice([0, 1, 3, 7]))]
        for table in TABLES
    }
    with _database(rows) as connection:
        for query in (*SUBQUERIES, *JOINS, *SETS, *AGGREGATES):
            try:
                expected = connection.execute(query.sql).fetchall()
            except duckdb.Error:
                continue  # a scalar subquery with several rows
            found = connection.execute(sql_of(session.bind(query.sql))).fetchall()
            assert Counter(found) == Counter(expected), query.sql
