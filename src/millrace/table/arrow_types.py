"""Data types and those of Arrow, as PyFlink pairs them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.types import DataType

_TIME_UNITS = ((0, "s"), (3, "ms"), (6, "us"), (9, "ns"))
_TO: dict[type[DataType], pa.DataType] = {
    t.TinyIntType: pa.int8(),
    t.SmallIntType: pa.int16(),
    t.IntType: pa.int32(),
    t.BigIntType: pa.int64(),
    t.BooleanType: pa.bool_(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.VarCharType: pa.utf8(),
    t.CharType: pa.utf8(),
    t.VarBinaryType: pa.binary(),
    t.DateType: pa.date32(),
    t.NullType: pa.null(),
}


def to_arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type that pandas functions and ``from_pandas`` see.

    :raises ValueError: there is none.
    """
    found = _TO.get(type(data_type))
    if found is not None:
        return found
    if isinstance(data_type, t.BinaryType):
        return pa.binary(data_type.length)
    if isinstance(data_type, t.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, t.TimeType):
        unit = _unit(data_type.precision)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if isinstance(data_type, (t.TimestampType, t.LocalZonedTimestampType)):
        return pa.timestamp(_unit(data_type.precision))
    if isinstance(data_type, t.ArrayType):
        return pa.list_(to_arrow_type(data_type.element_type))
    if isinstance(data_type, t.MapType):
        return pa.map_(to_arrow_type(data_type.key_type), to_arrow_type(data_type.value_type))
    if isinstance(data_type, t.RowType):
        return pa.struct(
            [pa.field(each.name, to_arrow_type(each.data_type), each.data_type.is_nullable) for each in data_type]
        )
    raise ValueError(f"{data_type} has no Arrow type")


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> DataType:
    """The data type of an Arrow column.

    :raises TypeError: there is none.
    """
    for kind, found in _TO.items():
        if arrow_type == found and kind not in (t.CharType, t.VarBinaryType, t.VarCharType):
            return t.NullType() if kind is t.NullType else kind(nullable)
    if pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type):
        return t.VarCharType(t.MAX_LENGTH, nullable)
    if pa.types.is_fixed_size_binary(arrow_type):
        return t.BinaryType(arrow_type.byte_width, nullable)
    if pa.types.is_binary(arrow_type) or pa.types.is_large_binary(arrow_type):
        return t.VarBinaryType(t.MAX_LENGTH, nullable)
    if pa.types.is_decimal(arrow_type):
        return t.DecimalType(arrow_type.precision, arrow_type.scale, nullable)
    if pa.types.is_time(arrow_type):
        return t.TimeType(_precision(arrow_type.unit), nullable)
    if pa.types.is_timestamp(arrow_type):
        kind = t.TimestampType if arrow_type.tz is None else t.LocalZonedTimestampType
        return kind(_precision(arrow_type.unit), nullable)
    if pa.types.is_map(arrow_type):
        return t.MapType(from_arrow_type(arrow_type.key_type), from_arrow_type(arrow_type.item_type), nullable)
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        return t.ArrayType(from_arrow_type(arrow_type.value_type), nullable)
    if pa.types.is_struct(arrow_type):
        return t.RowType(
            [t.RowField(each.name, from_arrow_type(each.type, each.nullable)) for each in arrow_type], nullable
        )
    if pa.types.is_dictionary(arrow_type):
        return from_arrow_type(arrow_type.value_type, nullable)
    raise TypeError(f"no data type for the Arrow type {arrow_type}")


def create_arrow_schema(field_names: Sequence[str], field_types: Sequence[DataType]) -> pa.Schema:
    """The Arrow schema of columns."""
    return pa.schema(
        [
            pa.field(name, to_arrow_type(data_type), data_type.is_nullable)
            for name, data_type in zip(field_names, field_types)
        ]
    )


def _unit(precision: int) -> str:
    return next(unit for digits, unit in _TIME_UNITS if precision <= digits)


def _precision(unit: str) -> int:
    return next(digits for digits, name in _TIME_UNITS if name == unit)
