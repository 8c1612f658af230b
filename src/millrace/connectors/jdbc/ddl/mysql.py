"""Tables of MySQL and MariaDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from millrace.connectors.jdbc.ddl.base import Ddl, NewColumn
from millrace.connectors.jdbc.metadata.base import asked
from millrace.relational import types as t
from millrace.relational.types import DataType

_MOST_CHARACTERS = 16_383
"""of a varchar in utf8mb4: 65,535 bytes"""
_OF_KEY = 255
_OPTIONS = ("engine", "charset", "collate", "comment", "row_format")


def _character(kind: t.CharType) -> str:
    return f"char({kind.length})" if kind.length <= _OF_KEY else _text(kind)


def _text(kind: Any) -> str:
    return f"varchar({kind.length})" if kind.length <= _MOST_CHARACTERS else "longtext"


_NAMES: Mapping[type[DataType], Callable[[Any], str]] = {
    t.BooleanType: lambda kind: "tinyint(1)",
    t.TinyIntType: lambda kind: "tinyint",
    t.SmallIntType: lambda kind: "smallint",
    t.IntType: lambda kind: "int",
    t.BigIntType: lambda kind: "bigint",
    t.FloatType: lambda kind: "float",
    t.DoubleType: lambda kind: "double",
    t.DecimalType: lambda kind: f"decimal({kind.precision},{kind.scale})",
    t.CharType: _character,
    t.VarCharType: _text,
    t.BinaryType: lambda kind: f"binary({kind.length})" if kind.length <= _OF_KEY else "longblob",
    t.VarBinaryType: lambda kind: f"varbinary({kind.length})" if kind.length <= _MOST_CHARACTERS else "longblob",
    t.DateType: lambda kind: "date",
    t.TimeType: lambda kind: f"time({min(kind.precision, 6)})",
    t.TimestampType: lambda kind: f"datetime({min(kind.precision, 6)})",
    t.LocalZonedTimestampType: lambda kind: f"timestamp({min(kind.precision, 6)})",
}
_OF_KEYS = {"longtext": f"varchar({_OF_KEY})", "longblob": f"varbinary({_OF_KEY})"}
"""what has no end cannot be a key"""


class MySqlDdl(Ddl):
    """Tables are named ``database.table``."""

    def type_name(self, column: NewColumn, is_key: bool) -> str:
        name = column.native or _NAMES[type(column.type)](column.type)
        return _OF_KEYS.get(name, name) if is_key else name

    def _column(self, column: NewColumn, is_key: bool) -> str:
        # Old servers give the first timestamp a default and forbid NULL unless they are told otherwise.
        return super()._column(column, is_key) + ("" if is_key else " NULL")

    def schema(self, table: str) -> list[str]:
        name, dot, _ = table.rpartition(".")
        return [f"CREATE DATABASE IF NOT EXISTS {self.dialect.name(name)}"] if dot else []

    def behind(self, options: Mapping[str, str]) -> str:
        found = []
        for name, value in options.items():
            if name.lower() not in _OPTIONS:
                super().behind({name: value})
            plain = re.fullmatch(r"\w+", value)
            quoted = "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
            found.append(f" {name.upper()}={value if plain and name.lower() != 'comment' else quoted}")
        return "".join(found)

    def alter(self, table: str, column: NewColumn, is_key: bool) -> list[str]:
        return [f"ALTER TABLE {self.dialect.table(table)} MODIFY COLUMN {self._column(column, is_key)}"]

    def columns(self, connection: Any, table: str) -> list[str]:
        schema, _, name = table.rpartition(".")
        query = (
            "SELECT column_name FROM information_schema.columns "
            "WHERE table_schema = COALESCE(NULLIF(%s, ''), DATABASE()) AND table_name = %s ORDER BY ordinal_position"
        )
        return [found for (found,) in asked(connection, query, schema, name)]
