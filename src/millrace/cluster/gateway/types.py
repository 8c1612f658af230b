"""Data types as the gateway describes columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millrace.relational import types as t
from millrace.relational.types import DataType

_ROOTS: Mapping[type[DataType], str] = {
    t.NullType: "NULL",
    t.BooleanType: "BOOLEAN",
    t.TinyIntType: "TINYINT",
    t.SmallIntType: "SMALLINT",
    t.IntType: "INTEGER",
    t.BigIntType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
    t.DecimalType: "DECIMAL",
    t.CharType: "CHAR",
    t.VarCharType: "VARCHAR",
    t.BinaryType: "BINARY",
    t.VarBinaryType: "VARBINARY",
    t.DateType: "DATE",
    t.TimeType: "TIME_WITHOUT_TIME_ZONE",
    t.TimestampType: "TIMESTAMP_WITHOUT_TIME_ZONE",
    t.LocalZonedTimestampType: "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    t.ZonedTimestampType: "TIMESTAMP_WITH_TIME_ZONE",
    t.YearMonthIntervalType: "INTERVAL_YEAR_MONTH",
    t.DayTimeIntervalType: "INTERVAL_DAY_TIME",
    t.ArrayType: "ARRAY",
    t.MapType: "MAP",
    t.MultisetType: "MULTISET",
    t.RowType: "ROW",
    t.VariantType: "VARIANT",
}
"""Flink's names of type roots."""


def described(data_type: DataType) -> dict[str, Any]:
    """A type as Flink's ``LogicalTypeJsonSerializer`` names its root and parameters."""
    root = _ROOTS.get(type(data_type), "RAW")
    more = _PARAMETERS.get(type(data_type))
    return {"type": root, "nullable": data_type.is_nullable, **({} if more is None else more(data_type))}


def _length(kind: Any) -> dict[str, Any]:
    return {"length": kind.length}


def _times(kind: Any) -> dict[str, Any]:
    """Flink names the kind of a moment only where it is that of a watermark, which results never are."""
    return {"precision": kind.precision}


def _decimal(kind: t.DecimalType) -> dict[str, Any]:
    return {"precision": kind.precision, "scale": kind.scale}


def _element(kind: Any) -> dict[str, Any]:
    return {"elementType": described(kind.element_type)}


def _map(kind: t.MapType) -> dict[str, Any]:
    return {"keyType": described(kind.key_type), "valueType": described(kind.value_type)}


def _row(kind: t.RowType) -> dict[str, Any]:
    return {
        "fields": [
            {
                "name": str(field.name),
                "fieldType": described(field.data_type),
                **({} if field.description is None else {"description": field.description}),
            }
            for field in kind.fields
        ]
    }


_PARAMETERS: Mapping[type[DataType], Callable[[Any], dict[str, Any]]] = {
    **dict.fromkeys((t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType), _length),
    **dict.fromkeys((t.TimeType, t.TimestampType, t.LocalZonedTimestampType, t.ZonedTimestampType), _times),
    t.DecimalType: _decimal,
    t.ArrayType: _element,
    t.MultisetType: _element,
    t.MapType: _map,
    t.RowType: _row,
    t.YearMonthIntervalType: lambda kind: {
        "resolution": kind.resolution.name,
        "precision": kind.precision,
    },
    t.DayTimeIntervalType: lambda kind: {
        "resolution": kind.resolution.name,
        "precision": kind.day_precision,
        "fractionalPrecision": kind.fractional_precision,
    },
}
