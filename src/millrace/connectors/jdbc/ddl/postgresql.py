"""Tables of PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from millrace.connectors.jdbc.ddl.base import Ddl, NewColumn
from millrace.relational import types as t
from millrace.relational.types import DataType

_MOST_CHARACTERS = 10_485_760
_BUILT_IN = re.compile(
    r"(uuid|jsonb?|inet|cidr|macaddr8?|xml|interval|money|numeric|bit|bit varying|varbit|tsvector|time with time zone)"
    r"(\(\d+(,\d+)?\))?(\[\])*"
)
"""types without one of ours that has the same values; those that users have made are not there in another database"""


def _sized(name: str, most: int) -> Callable[[Any], str]:
    return lambda kind: f"{name}({kind.length})" if kind.length <= most else "text"


_NAMES: Mapping[type[DataType], Callable[[Any], str]] = {
    t.BooleanType: lambda kind: "boolean",
    t.TinyIntType: lambda kind: "smallint",
    t.SmallIntType: lambda kind: "smallint",
    t.IntType: lambda kind: "integer",
    t.BigIntType: lambda kind: "bigint",
    t.FloatType: lambda kind: "real",
    t.DoubleType: lambda kind: "double precision",
    t.DecimalType: lambda kind: f"numeric({kind.precision},{kind.scale})",
    t.CharType: _sized("character", _MOST_CHARACTERS),
    t.VarCharType: _sized("character varying", _MOST_CHARACTERS),
    t.BinaryType: lambda kind: "bytea",
    t.VarBinaryType: lambda kind: "bytea",
    t.DateType: lambda kind: "date",
    t.TimeType: lambda kind: f"time({min(kind.precision, 6)})",
    t.TimestampType: lambda kind: f"timestamp({min(kind.precision, 6)})",
    t.LocalZonedTimestampType: lambda kind: f"timestamptz({min(kind.precision, 6)})",
    t.ArrayType: lambda kind: f"{_name(kind.element_type)}[]",
}


def _name(kind: DataType) -> str:
    return _NAMES[type(kind)](kind)


class PostgreSqlDdl(Ddl):
    def type_name(self, column: NewColumn, is_key: bool) -> str:
        return column.native if _BUILT_IN.fullmatch(column.native) else _name(column.type)

    def schema(self, table: str) -> list[str]:
        name, dot, _ = table.rpartition(".")
        return [f"CREATE SCHEMA IF NOT EXISTS {self.dialect.name(name)}"] if dot else []

    def alter(self, table: str, column: NewColumn, is_key: bool) -> list[str]:
        name, kind = self.dialect.name(column.name), self.type_name(column, is_key)
        return [f"ALTER TABLE {self.dialect.table(table)} ALTER COLUMN {name} TYPE {kind} USING {name}::{kind}"]
