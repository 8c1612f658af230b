"""The tables of a server, with their schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.connectors.cdc.mysql import charsets
from millrace.connectors.cdc.schema import Column, TableId, TableSchema
from millrace.connectors.jdbc.metadata.base import asked
from millrace.connectors.jdbc.metadata.mysql import type_of

_NOT_OURS = "('information_schema', 'mysql', 'performance_schema', 'sys')"
_TABLES_AT_ONCE = 200


def table_names(connection: Any) -> list[TableId]:
    """All tables but those of the server itself."""
    rows = asked(
        connection,
        "SELECT table_schema, table_name FROM information_schema.tables "
        f"WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema NOT IN {_NOT_OURS} ORDER BY 1, 2",
    )
    return [TableId("", str(database), str(name)) for database, name in rows]


def schemas(connection: Any, tables: Sequence[TableId]) -> dict[TableId, TableSchema]:
    """As they are now; tables that are not there are left out."""
    found: dict[TableId, TableSchema] = {}
    for begin in range(0, len(tables), _TABLES_AT_ONCE):
        found.update(_some(connection, tables[begin : begin + _TABLES_AT_ONCE]))
    return found


def _some(connection: Any, tables: Sequence[TableId]) -> Mapping[TableId, TableSchema]:
    columns: dict[TableId, list[Column]] = {}
    for database, table, name, native, nullable, comment, default in _asked(
        connection,
        tables,
        "SELECT table_schema, table_name, column_name, column_type, is_nullable, column_comment, column_default "
        "FROM information_schema.columns WHERE {} ORDER BY 1, 2, ordinal_position",
    ):
        kind = type_of(native) if nullable == "YES" else type_of(native).not_null()
        column = Column(name, kind, native, comment or None, None if default == "NULL" else default)
        columns.setdefault(TableId("", database, table), []).append(column)
    keys: dict[TableId, list[str]] = {}
    for database, table, name in _asked(
        connection,
        tables,
        "SELECT table_schema, table_name, column_name FROM information_schema.key_column_usage "
        "WHERE constraint_name = 'PRIMARY' AND {} ORDER BY 1, 2, ordinal_position",
    ):
        keys.setdefault(TableId("", database, table), []).append(name)
    return {table: TableSchema(tuple(each), tuple(keys.get(table, ()))) for table, each in columns.items()}


def engines(connection: Any, tables: Sequence[TableId]) -> dict[TableId, str]:
    """How their rows are kept: InnoDB, or another way."""
    query = "SELECT table_schema, table_name, engine FROM information_schema.tables WHERE {}"
    return {TableId("", database, table): str(engine) for database, table, engine in _asked(connection, tables, query)}


def text_charsets(connection: Any, table: TableId) -> dict[str, str | None]:
    """The character sets of the columns of a table, as Python calls them."""
    query = (
        "SELECT table_schema, table_name, column_name, character_set_name FROM information_schema.columns "
        "WHERE character_set_name IS NOT NULL AND {}"
    )
    return {name: charsets.codec(charset) for _, _, name, charset in _asked(connection, [table], query)}


def collation(connection: Any, table: TableId, column: str) -> str | None:
    """By which the texts of a column are ordered."""
    query = (
        "SELECT collation_name FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name = %s AND column_name = %s"
    )
    rows = asked(connection, query, table.schema, table.table, column)
    return str(rows[0][0]) if rows and rows[0][0] is not None else None


def _asked(connection: Any, tables: Sequence[TableId], query: str) -> list[list[Any]]:
    """A query over some tables; texts that come as bytes are decoded."""
    if not tables:
        return []
    wanted = " OR ".join(["(table_schema = %s AND table_name = %s)"] * len(tables))
    rows = asked(
        connection, query.format(f"({wanted})"), *(part for each in tables for part in (each.schema, each.table))
    )
    return [[value.decode() if isinstance(value, bytes) else value for value in row] for row in rows]
