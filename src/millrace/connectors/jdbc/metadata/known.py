"""Which metadata belongs to which dialect."""

from __future__ import annotations

from millrace.connectors.jdbc.dialects.base import Dialect
from millrace.connectors.jdbc.dialects.duckdb import DuckDbDialect
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect
from millrace.connectors.jdbc.dialects.postgresql import PostgreSqlDialect
from millrace.connectors.jdbc.metadata.base import Metadata
from millrace.connectors.jdbc.metadata.duckdb import DuckDbMetadata
from millrace.connectors.jdbc.metadata.mysql import MySqlMetadata
from millrace.connectors.jdbc.metadata.postgresql import PostgreSqlMetadata
from millrace.connectors.jdbc.metadata.sqlite import SqliteMetadata


def metadata_of(dialect: Dialect) -> Metadata:
    if isinstance(dialect, PostgreSqlDialect):
        return PostgreSqlMetadata()
    if isinstance(dialect, DuckDbDialect):
        return DuckDbMetadata()
    return MySqlMetadata() if isinstance(dialect, MySqlDialect) else SqliteMetadata()
