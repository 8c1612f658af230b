"""What DuckDB says about its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.connectors.jdbc.metadata.base import ColumnFound, KeyFound, Metadata, asked, sized
from millrace.relational import types as t
from millrace.relational.types import DataType

_MAIN = "main"
_TYPES: Mapping[str, DataType] = {
    "boolean": t.BooleanType(),
    "tinyint": t.TinyIntType(),
    "utinyint": t.SmallIntType(),
    "smallint": t.SmallIntType(),
    "usmallint": t.IntType(),
    "integer": t.IntType(),
    "uinteger": t.BigIntType(),
    "bigint": t.BigIntType(),
    "ubigint": t.DecimalType(20, 0),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "blob": t.VarBinaryType(t.MAX_LENGTH),
    "date": t.DateType(),
    "time": t.TimeType(6),
    "timestamp": t.TimestampType(6),
    "timestamp_s": t.TimestampType(0),
    "timestamp_ms": t.TimestampType(3),
    "timestamp with time zone": t.LocalZonedTimestampType(6),
}


def type_of(native: str) -> DataType:
    """What a type is read and written as; all that is not known (uuid, json, enums, structs, ...) as text."""
    if native.endswith("[]"):
        return t.ArrayType(type_of(native[:-2]))
    name, numbers = sized(native)
    if name == "decimal" and len(numbers) == 2:
        return t.DecimalType(numbers[0], numbers[1])
    return _TYPES.get(name, t.string())


class DuckDbMetadata(Metadata):
    """Tables outside of the schema ``main`` are ``schema.table``."""

    def databases(self, connection: Any) -> list[str]:
        return [name for (name,) in asked(connection, "SELECT current_database()")]

    def tables(self, connection: Any) -> list[str]:
        query = (
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database() "
            "ORDER BY 1, 2"
        )
        return [name if schema == _MAIN else f"{schema}.{name}" for schema, name in asked(connection, query)]

    def columns(self, connection: Any, table: str) -> list[ColumnFound]:
        query = (
            "SELECT column_name, data_type, is_nullable FROM information_schema.columns "
            "WHERE table_catalog = current_database() AND table_schema = ? AND table_name = ? ORDER BY ordinal_position"
        )
        return [
            ColumnFound(name, native, type_of(native) if nullable == "YES" else type_of(native).not_null())
            for name, native, nullable in asked(connection, query, *_parts(table))
        ]

    def key(self, connection: Any, table: str) -> KeyFound | None:
        query = (
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY' "
            "AND database_name = current_database() AND schema_name = ? AND table_name = ?"
        )
        found = asked(connection, query, *_parts(table))
        return KeyFound("PRIMARY", tuple(found[0][0])) if found else None

    def rows(self, connection: Any, table: str) -> int | None:
        query = "SELECT estimated_size FROM duckdb_tables() WHERE schema_name = ? AND table_name = ?"
        found = asked(connection, query, *_parts(table))
        return int(found[0][0]) if found else None

    def create_database(self, name: str) -> str:
        raise ValueError("a file of DuckDB is one database")

    def drop_database(self, name: str) -> str:
        raise ValueError("a file of DuckDB is one database")


def _parts(table: str) -> tuple[str, str]:
    schema, dot, name = table.partition(".")
    return (schema, name) if dot else (_MAIN, table)
