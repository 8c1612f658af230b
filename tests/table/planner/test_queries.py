"""Standard SQL queries in streaming mode, in many epochs: the final table is DuckDB's result."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from tests.table.planner.programs import changelog, final
from tests.table.sql.queries import QUERIES, TABLES, Query
from tests.table.sql.sessions import PATH, Session

from millrace.relational import nodes as n
from millrace.table.sql.binding import TableInfo, bind_query
from millrace.table.sql.parser import parse_query, parse_type


@pytest.fixture(scope="module")
def session() -> Session:
    tables = {}
    for table in TABLES:
        columns = tuple(n.Field(name, parse_type(kind)) for name, kind in table.columns)
        tables[table.name] = TableInfo((*PATH, table.name), n.Values(columns, table.rows))
    return Session(tables)


@pytest.fixture(scope="module")
def oracle() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for table in TABLES:
        columns = ", ".join(f"{name} {kind}" for name, kind in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
        connection.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(table.columns))})", table.rows)
    return connection


OVER_NO_TIME = {f"over_{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15)}
"""OVER windows that are not in the order of time: a later row would change the results of all"""
ORDERED = [query for query in QUERIES if query.name in OVER_NO_TIME]
OTHERS = [query for query in QUERIES if query.name not in OVER_NO_TIME]


@pytest.mark.parametrize("query", OTHERS, ids=lambda query: query.name)
def test_the_final_table(query: Query, session: Session, oracle: duckdb.DuckDBPyConnection) -> None:
    plan = bind_query(parse_query(query.sql), session)
    found = final(changelog(plan, epoch_records=3))
    wanted = oracle.execute(query.duckdb or query.sql).fetchall()
    assert _comparable(found.elements()) == _comparable(wanted)


@pytest.mark.parametrize("query", ORDERED, ids=lambda query: query.name)
def test_what_a_stream_cannot_order(query: Query, session: Session) -> None:
    plan = bind_query(parse_query(query.sql), session)
    with pytest.raises(NotImplementedError, match="ordered by a time attribute"):
        changelog(plan)


def _comparable(rows: Any) -> Counter[Any]:
    return Counter(tuple(map(_plain, row)) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, (float, Decimal)) and not isinstance(value, bool):
        return None if math.isnan(value) else round(float(value), 6)
    return value
