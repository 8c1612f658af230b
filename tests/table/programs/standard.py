"""Standard SQL: the queries of tests/table/sql/queries.py as programs. DuckDB knows their rows."""

from __future__ import annotations

from tests.table.programs.program import Program, Source
from tests.table.sql.queries import QUERIES, TABLES

SOURCES = tuple(
    Source(table.name, ", ".join(f"{name} {kind}" for name, kind in table.columns), table.rows) for table in TABLES
)
PROGRAMS = [Program(query.name, query.sql, SOURCES, duckdb=query.duckdb, ordered=query.ordered) for query in QUERIES]
