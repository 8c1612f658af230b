"""What MySQL and MariaDB say about their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace.connectors.jdbc.metadata.base import ColumnFacts, ColumnFound, KeyFound, Metadata, asked, sized
from millrace.relational import types as t
from millrace.relational.types import DataType

_NOT_OURS = ("information_schema", "mysql", "performance_schema", "sys")
_MOST = 38


def _decimal(numbers: Sequence[int]) -> DataType:
    precision, scale = (*numbers, 10, 0)[:2] if len(numbers) != 1 else (numbers[0], 0)
    return t.DecimalType(precision, scale) if precision <= _MOST else t.string()


def _bits(numbers: Sequence[int]) -> DataType:
    return t.BooleanType() if not numbers or numbers[0] == 1 else t.VarBinaryType(t.MAX_LENGTH)


def _tiny(numbers: Sequence[int]) -> DataType:
    return t.BooleanType() if [*numbers] == [1] else t.TinyIntType()


def _bytes(numbers: Sequence[int]) -> DataType:
    return t.VarBinaryType(t.MAX_LENGTH)


def _digits(numbers: Sequence[int]) -> int:
    return numbers[0] if numbers else 0


_TYPES: Mapping[str, Callable[[Sequence[int]], DataType]] = {
    "tinyint": _tiny,
    "tinyint unsigned": lambda numbers: t.SmallIntType(),
    "smallint": lambda numbers: t.SmallIntType(),
    "smallint unsigned": lambda numbers: t.IntType(),
    "mediumint": lambda numbers: t.IntType(),
    "mediumint unsigned": lambda numbers: t.IntType(),
    "int": lambda numbers: t.IntType(),
    "int unsigned": lambda numbers: t.BigIntType(),
    "bigint": lambda numbers: t.BigIntType(),
    "bigint unsigned": lambda numbers: t.DecimalType(20, 0),
    "year": lambda numbers: t.IntType(),
    "float": lambda numbers: t.FloatType(),
    "float unsigned": lambda numbers: t.FloatType(),
    "double": lambda numbers: t.DoubleType(),
    "double unsigned": lambda numbers: t.DoubleType(),
    "decimal": _decimal,
    "decimal unsigned": _decimal,
    "bit": _bits,
    "char": lambda numbers: t.CharType((*numbers, 1)[0]),
    "varchar": lambda numbers: t.VarCharType((*numbers, t.MAX_LENGTH)[0]),
    "date": lambda numbers: t.DateType(),
    "time": lambda numbers: t.TimeType(_digits(numbers)),
    "datetime": lambda numbers: t.TimestampType(_digits(numbers)),
    "timestamp": lambda numbers: t.LocalZonedTimestampType(_digits(numbers)),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point"), _bytes),
}


def type_of(native: str) -> DataType:
    """What a type is read and written as; all that is not known (json, enums, sets, uuid, ...) as text."""
    name, numbers = sized(native.replace(" zerofill", ""))
    make = _TYPES.get(name)
    return t.string() if make is None else make(numbers)


class MySqlMetadata(Metadata):
    def databases(self, connection: Any) -> list[str]:
        return [name for (name,) in asked(connection, "SHOW DATABASES") if name.lower() not in _NOT_OURS]

    def tables(self, connection: Any) -> list[str]:
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
        return [name for (name,) in asked(connection, query)]

    def columns(self, connection: Any, table: str) -> list[ColumnFound]:
        query = (
            "SELECT column_name, column_type, is_nullable FROM information_schema.columns "
            "WHERE table_schema = DATABASE() AND table_name = %s ORDER BY ordinal_position"
        )
        found = [(name, _text(native), nullable) for name, native, nullable in asked(connection, query, table)]
        return [
            ColumnFound(name, native, type_of(native) if nullable == "YES" else type_of(native).not_null())
            for name, native, nullable in found
        ]

    def key(self, connection: Any, table: str) -> KeyFound | None:
        query = (
            "SELECT column_name FROM information_schema.key_column_usage WHERE table_schema = DATABASE() "
            "AND table_name = %s AND constraint_name = 'PRIMARY' ORDER BY ordinal_position"
        )
        found = [name for (name,) in asked(connection, query, table)]
        return KeyFound("PRIMARY", tuple(found)) if found else None

    def rows(self, connection: Any, table: str) -> int | None:
        query = "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = %s"
        found = asked(connection, query, table)
        return int(found[0][0]) if found and found[0][0] is not None else None

    def statistics(self, connection: Any, table: str) -> dict[str, ColumnFacts]:
        # Of columns that an index begins with; more is known only to who may read the system's own tables.
        query = (
            "SELECT column_name, MAX(cardinality) FROM information_schema.statistics WHERE table_schema = DATABASE() "
            "AND table_name = %s AND seq_in_index = 1 AND cardinality IS NOT NULL GROUP BY column_name"
        )
        return {name: ColumnFacts(distinct=int(distinct)) for name, distinct in asked(connection, query, table)}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
