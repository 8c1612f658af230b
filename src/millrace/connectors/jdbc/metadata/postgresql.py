"""What PostgreSQL says about its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace.connectors.jdbc.metadata.base import ColumnFacts, ColumnFound, KeyFound, Metadata, asked, sized
from millrace.relational import types as t
from millrace.relational.types import DataType

_NOT_OURS = "('pg_catalog', 'information_schema')"
_COLUMNS = """
    SELECT a.attname, format_type(COALESCE(NULLIF(y.typbasetype, 0), a.atttypid),
                                  CASE WHEN y.typbasetype = 0 THEN a.atttypmod ELSE y.typtypmod END), a.attnotnull
    FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
    WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEY = """
    SELECT c.conname, a.attname FROM pg_constraint c
    CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(number, place)
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number
    WHERE c.contype = 'p' AND c.conrelid = to_regclass(%s) ORDER BY k.place
"""
_STATISTICS = """
    SELECT attname, null_frac, n_distinct, avg_width, (histogram_bounds::text::text[])[1],
           (histogram_bounds::text::text[])[array_upper(histogram_bounds::text::text[], 1)]
    FROM pg_stats WHERE schemaname = %s AND tablename = %s AND NOT inherited
"""
DIGITS, SCALE = 38, 18
"""of numeric without either: what Flink takes it for"""


def _decimal(numbers: Sequence[int]) -> DataType:
    if not numbers:
        return t.DecimalType(DIGITS, SCALE)
    precision, scale = (*numbers, 0)[:2]
    return t.DecimalType(precision, scale) if precision <= DIGITS and scale >= 0 else t.string()


def _first(numbers: Sequence[int], default: int) -> int:
    return numbers[0] if numbers else default


_TYPES: Mapping[str, Callable[[Sequence[int]], DataType]] = {
    "boolean": lambda numbers: t.BooleanType(),
    "smallint": lambda numbers: t.SmallIntType(),
    "integer": lambda numbers: t.IntType(),
    "bigint": lambda numbers: t.BigIntType(),
    "real": lambda numbers: t.FloatType(),
    "double precision": lambda numbers: t.DoubleType(),
    "numeric": _decimal,
    "bytea": lambda numbers: t.VarBinaryType(t.MAX_LENGTH),
    "character": lambda numbers: t.CharType(_first(numbers, 1)),
    "character varying": lambda numbers: t.VarCharType(_first(numbers, t.MAX_LENGTH)),
    "date": lambda numbers: t.DateType(),
    "time without time zone": lambda numbers: t.TimeType(_first(numbers, 6)),
    "timestamp without time zone": lambda numbers: t.TimestampType(_first(numbers, 6)),
    "timestamp with time zone": lambda numbers: t.LocalZonedTimestampType(_first(numbers, 6)),
}


def _distinct(found: float, rows: int | None) -> int | None:
    """The number of different values: below zero it is a part of the rows, zero says nothing."""
    if found > 0:
        return round(found)
    return None if found == 0 or rows is None else round(-found * rows)


def type_of(native: str) -> DataType:
    """What a type is read and written as. Those that Millrace does not have (uuid, json, enums, ...) are texts in
    PostgreSQL's own form."""
    if native.endswith("[]"):
        return t.ArrayType(type_of(native[:-2]))
    name, numbers = sized(native)
    make = _TYPES.get(name)
    return t.string() if make is None else make(numbers)


class PostgreSqlMetadata(Metadata):
    def databases(self, connection: Any) -> list[str]:
        query = "SELECT datname FROM pg_database WHERE NOT datistemplate AND datallowconn ORDER BY 1"
        return [name for (name,) in asked(connection, query)]

    def tables(self, connection: Any) -> list[str]:
        query = (
            "SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            f"WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN {_NOT_OURS} "
            "AND n.nspname NOT LIKE 'pg\\_t%' ORDER BY 1"
        )
        return [name for (name,) in asked(connection, query)]

    def full_name(self, table: str) -> str:
        return table if "." in table else f"public.{table}"

    def columns(self, connection: Any, table: str) -> list[ColumnFound]:
        found = asked(connection, _COLUMNS, self._quoted(table))
        return [
            ColumnFound(name, native, type_of(native).not_null() if required else type_of(native))
            for name, native, required in found
        ]

    def key(self, connection: Any, table: str) -> KeyFound | None:
        found = asked(connection, _KEY, self._quoted(table))
        return KeyFound(found[0][0], tuple(name for _, name in found)) if found else None

    def rows(self, connection: Any, table: str) -> int | None:
        found = asked(
            connection, "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", self._quoted(table)
        )
        return int(found[0][0]) if found and found[0][0] >= 0 else None

    def statistics(self, connection: Any, table: str) -> dict[str, ColumnFacts]:
        rows = self.rows(connection, table)
        schema, _, name = self.full_name(table).partition(".")
        return {
            column: ColumnFacts(
                None if rows is None else round(nulls * rows),
                _distinct(distinct, rows),
                float(width),
                least,
                greatest,
            )
            for column, nulls, distinct, width, least, greatest in asked(connection, _STATISTICS, schema, name)
        }

    def _quoted(self, table: str) -> str:
        return ".".join('"' + part.replace('"', '""') + '"' for part in self.full_name(table).split("."))
