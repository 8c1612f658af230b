"""Data types from the ``logicalType`` of a gateway's columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millrace.relational import types as t
from millrace.relational.types import DataType

_SIMPLE: Mapping[str, type[DataType]] = {
    "BOOLEAN": t.BooleanType,
    "TINYINT": t.TinyIntType,
    "SMALLINT": t.SmallIntType,
    "INTEGER": t.IntType,
    "BIGINT": t.BigIntType,
    "FLOAT": t.FloatType,
    "DOUBLE": t.DoubleType,
    "DATE": t.DateType,
    "VARIANT": t.VariantType,
}
_SIZED: Mapping[str, type[Any]] = {
    "CHAR": t.CharType,
    "VARCHAR": t.VarCharType,
    "BINARY": t.BinaryType,
    "VARBINARY": t.VarBinaryType,
}
_PRECISE: Mapping[str, type[Any]] = {
    "TIME_WITHOUT_TIME_ZONE": t.TimeType,
    "TIMESTAMP_WITHOUT_TIME_ZONE": t.TimestampType,
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": t.LocalZonedTimestampType,
    "TIMESTAMP_WITH_TIME_ZONE": t.ZonedTimestampType,
}


def type_of(described: Mapping[str, Any]) -> DataType:
    """The type that a gateway describes; one that is not known here is a RAW, whose values are taken as they come."""
    root, nullable = str(described.get("type")), bool(described.get("nullable", True))
    if root in _SIMPLE:
        return _SIMPLE[root](nullable)
    if root in _SIZED:
        sized: DataType = _SIZED[root](described["length"], nullable)
        return sized
    if root in _PRECISE:
        precise: DataType = _PRECISE[root](described["precision"], nullable)
        return precise
    make = _MORE.get(root)
    return t.RawType(nullable) if make is None else make(described, nullable)


def _row(described: Mapping[str, Any], nullable: bool) -> DataType:
    fields = [
        t.RowField(each["name"], type_of(each["fieldType"]), each.get("description")) for each in described["fields"]
    ]
    return t.RowType(fields, nullable)


def _months(described: Mapping[str, Any], nullable: bool) -> DataType:
    resolution = t.YearMonthIntervalType.YearMonthResolution[described["resolution"]]
    return t.YearMonthIntervalType(resolution, described["precision"], nullable)


def _span(described: Mapping[str, Any], nullable: bool) -> DataType:
    resolution = t.DayTimeIntervalType.DayTimeResolution[described["resolution"]]
    return t.DayTimeIntervalType(resolution, described["precision"], described["fractionalPrecision"], nullable)


_MORE: Mapping[str, Callable[[Mapping[str, Any], bool], DataType]] = {
    "NULL": lambda described, nullable: t.NullType(),
    "DECIMAL": lambda described, nullable: t.DecimalType(described["precision"], described["scale"], nullable),
    "ARRAY": lambda described, nullable: t.ArrayType(type_of(described["elementType"]), nullable),
    "MULTISET": lambda described, nullable: t.MultisetType(type_of(described["elementType"]), nullable),
    "MAP": lambda described, nullable: t.MapType(
        type_of(described["keyType"]), type_of(described["valueType"]), nullable
    ),
    "ROW": _row,
    "INTERVAL_YEAR_MONTH": _months,
    "INTERVAL_DAY_TIME": _span,
}
