"""Every standard query: its plan, run by DuckDB, gives what DuckDB makes of the query itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from tests.table.sql.binding.duckdb_plans import sql_of
from tests.table.sql.queries import QUERIES, TABLES, Query
from tests.table.sql.sessions import Session

from millrace.relational import nodes as n
from millrace.relational.rex import OuterRef, Subquery, walk
from millrace.relational.rules.top_n import top_n
from millrace.relational.rules.traversal import expressions_of, transform


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    connection = duckdb.connect()
    for table in TABLES:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
        marks = ", ".join("?" * len(table.columns))
        connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", [list(row) for row in table.rows])
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session(streaming=False)
    for table in TABLES:
        session.declare(table.name, *(f"{name} {kind}" for name, kind in table.columns))
    return session


def _comparable(rows: list[tuple[Any, ...]], ordered: bool) -> Any:
    return rows if ordered else Counter(rows)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
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


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_no_subquery_is_left(query: Query, session: Session) -> None:
    for node in n.walk(session.bind(query.sql)):
        for expression in expressions_of(node):
            assert not any(isinstance(part, (Subquery, OuterRef)) for part in walk(expression))
