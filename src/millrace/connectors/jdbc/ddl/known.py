"""Which statements belong to which dialect."""

from __future__ import annotations

from millrace.connectors.jdbc.ddl.base import Ddl
from millrace.connectors.jdbc.ddl.duckdb import DuckDbDdl
from millrace.connectors.jdbc.ddl.mysql import MySqlDdl
from millrace.connectors.jdbc.ddl.postgresql import PostgreSqlDdl
from millrace.connectors.jdbc.ddl.sqlite import SqliteDdl
from millrace.connectors.jdbc.dialects.base import Dialect
from millrace.connectors.jdbc.dialects.duckdb import DuckDbDialect
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect
from millrace.connectors.jdbc.dialects.postgresql import PostgreSqlDialect


def ddl_of(dialect: Dialect) -> Ddl:
    if isinstance(dialect, DuckDbDialect):
        return DuckDbDdl(dialect)
    if isinstance(dialect, PostgreSqlDialect):
        return PostgreSqlDdl(dialect)
    return MySqlDdl(dialect) if isinstance(dialect, MySqlDialect) else SqliteDdl(dialect)
