"""Types of SQLAlchemy for those of Flink SQL, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import types as sa
from sqlalchemy.sql.compiler import GenericTypeCompiler
from sqlalchemy.types import TypeEngine

from millrace.relational import types as t
from millrace.relational.types import DataType

MOST = 2**31 - 1


class FlinkType(sa.UserDefinedType[Any]):
    """A type that SQLAlchemy does not have, by its text in SQL: ``FlinkType("MAP<STRING, INT>")``."""

    cache_ok = True

    def __init__(self, text: str) -> None:
        self.text = text

    def get_col_spec(self, **kw: Any) -> str:
        return self.text


def alchemy_type(data_type: DataType) -> TypeEngine[Any]:
    """The type of SQLAlchemy for one of Flink SQL."""
    make = _TYPES.get(type(data_type))
    return FlinkType(str(data_type.nullable())) if make is None else make(data_type)


def _array(kind: t.ArrayType) -> TypeEngine[Any]:
    if isinstance(kind.element_type, t.ArrayType):  # SQLAlchemy counts dimensions instead
        return FlinkType(str(kind.nullable()))
    return sa.ARRAY(alchemy_type(kind.element_type))


def _length(kind: Any) -> int | None:
    return None if kind.length == MOST else kind.length


_TYPES: Mapping[type[DataType], Callable[[Any], TypeEngine[Any]]] = {
    t.BooleanType: lambda kind: sa.BOOLEAN(),
    t.SmallIntType: lambda kind: sa.SMALLINT(),
    t.IntType: lambda kind: sa.INTEGER(),
    t.BigIntType: lambda kind: sa.BIGINT(),
    t.FloatType: lambda kind: sa.REAL(),
    t.DoubleType: lambda kind: sa.DOUBLE(),
    t.DecimalType: lambda kind: sa.DECIMAL(kind.precision, kind.scale),
    t.CharType: lambda kind: sa.CHAR(kind.length),
    t.VarCharType: lambda kind: sa.VARCHAR(_length(kind)),
    t.BinaryType: lambda kind: sa.BINARY(kind.length),
    t.VarBinaryType: lambda kind: sa.VARBINARY(_length(kind)),
    t.DateType: lambda kind: sa.DATE(),
    t.TimeType: lambda kind: sa.TIME(),
    t.TimestampType: lambda kind: sa.TIMESTAMP(),
    t.LocalZonedTimestampType: lambda kind: sa.TIMESTAMP(timezone=True),
    t.ArrayType: _array,
}


class MillraceTypeCompiler(GenericTypeCompiler):
    """Names of types in CREATE TABLE and CAST."""

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        """What SQLAlchemy calls a float is Python's: eight bytes."""
        return "DOUBLE"

    def visit_REAL(self, type_: Any, **kw: Any) -> str:
        return "FLOAT"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    visit_DOUBLE_PRECISION = visit_DOUBLE

    def visit_VARCHAR(self, type_: Any, **kw: Any) -> str:
        return f"VARCHAR({type_.length})" if type_.length else "STRING"

    visit_NVARCHAR = visit_VARCHAR
    visit_TEXT = visit_CLOB = visit_VARCHAR

    def visit_VARBINARY(self, type_: Any, **kw: Any) -> str:
        return f"VARBINARY({type_.length})" if type_.length else "BYTES"

    visit_BLOB = visit_VARBINARY

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP_LTZ(3)" if type_.timezone else "TIMESTAMP(6)"

    visit_TIMESTAMP = visit_DATETIME

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        return "TIME(3)"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        inner = self.process(type_.item_type, **kw)
        for _ in range(type_.dimensions or 1):
            inner = f"ARRAY<{inner}>"
        return inner
