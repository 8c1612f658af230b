"""What SQLite says about its tables. Its columns take values of any type: that which is declared counts."""

from __future__ import annotations

from typing import Any

from millrace.connectors.jdbc.metadata.base import ColumnFound, KeyFound, Metadata, asked, sized
from millrace.relational import types as t
from millrace.relational.types import DataType

_MOST = 38


def type_of(native: str) -> DataType:
    """What a column is read and written as, by the words in its type that SQLite goes by, too."""
    name, numbers = sized(native)
    if "bool" in name:
        return t.BooleanType()
    if "int" in name:
        return t.BigIntType()
    if any(word in name for word in ("char", "clob", "text")) or not name:
        return t.string()
    if "blob" in name or "binary" in name or name == "bytes":
        return t.VarBinaryType(t.MAX_LENGTH)
    if any(word in name for word in ("real", "floa", "doub")):
        return t.DoubleType()
    if name in ("decimal", "numeric"):
        precision, scale = (*numbers, 0)[:2] if numbers else (_MOST, 18)
        return t.DecimalType(precision, scale) if precision <= _MOST else t.string()
    if name in ("datetime", "timestamp"):
        return t.TimestampType(6)
    return {"date": t.DateType(), "time": t.TimeType(6)}.get(name, t.string())


class SqliteMetadata(Metadata):
    def databases(self, connection: Any) -> list[str]:
        return ["main"]

    def tables(self, connection: Any) -> list[str]:
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
        return [name for (name,) in asked(connection, query)]

    def columns(self, connection: Any, table: str) -> list[ColumnFound]:
        found = asked(connection, 'SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid', table)
        return [
            ColumnFound(name, native, type_of(native).not_null() if required or key else type_of(native))
            for name, native, required, key in found
        ]

    def key(self, connection: Any, table: str) -> KeyFound | None:
        found = asked(connection, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", table)
        return KeyFound("PRIMARY", tuple(name for (name,) in found)) if found else None

    def rows(self, connection: Any, table: str) -> int | None:
        if not asked(connection, "SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'"):
            return None  # ANALYZE has never run
        found = asked(connection, "SELECT stat FROM sqlite_stat1 WHERE tbl = ? AND stat IS NOT NULL", table)
        return max((int(stat.split()[0]) for (stat,) in found), default=None)

    def create_database(self, name: str) -> str:
        raise ValueError("a file of SQLite is one database")

    def drop_database(self, name: str) -> str:
        raise ValueError("a file of SQLite is one database")
