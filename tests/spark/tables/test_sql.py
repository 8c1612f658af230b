"""Standard SQL in batch mode, compared with DuckDB: the queries of tests/table/sql/queries.py."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from tests.spark.tables.plans import arrow, rows_of
from tests.table.sql.queries import QUERIES, TABLES, Query
from tests.table.sql.sessions import PATH, Session, data_type

from millrace.relational import nodes as n
from millrace.spark.tables.context import Context
from millrace.spark.tables.execute import collect
from millrace.table.sql.binding import TableInfo

VALUES = {
    table.name: n.Values(tuple(n.Field(name, data_type(kind)) for name, kind in table.columns), table.rows)
    for table in TABLES
}


@pytest.fixture(scope="module")
def session() -> Session:
    return Session({name: TableInfo((*PATH, name), plan) for name, plan in VALUES.items()}, streaming=False)


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, plan in VALUES.items():
            connection.register(name, arrow(plan))
        yield connection


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_the_rows_are_those_of_another_engine(
    session: Session, context: Context, oracle: duckdb.DuckDBPyConnection, query: Query
) -> None:
    plan = session.bind(query.sql)
    found = [tuple(map(plain, row)) for row in rows_of(collect(plan, context), plan)]
    expected = [tuple(map(plain, row)) for row in oracle.execute(query.duckdb or query.sql).fetchall()]
    if not query.ordered:
        found, expected = sorted(found, key=repr), sorted(expected, key=repr)
    assert found == expected


def plain(value: Any) -> Any:
    """Numbers by their value: the engines give them other types."""
    return float(value) if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else value
