"""Tables of DuckDB, whose times and texts have no lengths."""

from __future__ import annotations

from millrace.connectors.jdbc.ddl.base import NewColumn
from millrace.connectors.jdbc.ddl.postgresql import PostgreSqlDdl
from millrace.relational import types as t
from millrace.relational.types import DataType

_NAMES: dict[type[DataType], str] = {
    t.TinyIntType: "tinyint",
    t.CharType: "varchar",
    t.VarCharType: "varchar",
    t.BinaryType: "blob",
    t.VarBinaryType: "blob",
    t.TimeType: "time",
    t.TimestampType: "timestamp",
    t.LocalZonedTimestampType: "timestamptz",
}


def _name(kind: DataType) -> str | None:
    if isinstance(kind, t.ArrayType):
        element = _name(kind.element_type)
        return None if element is None else f"{element}[]"
    return _NAMES.get(type(kind))


class DuckDbDdl(PostgreSqlDdl):
    def type_name(self, column: NewColumn, is_key: bool) -> str:
        return _name(column.type) or super().type_name(column, is_key)
