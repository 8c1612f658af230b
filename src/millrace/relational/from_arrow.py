"""Data types of Arrow's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.type_table import ROWS, Family
from millrace.relational.types import DataType

__all__ = ["from_arrow_type"]

_TIME_UNITS = ((0, "s"), (3, "ms"), (6, "us"), (9, "ns"))
_ALIKE = (Family.NULL, Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DATE)
_EXACT: dict[pa.DataType, type[Any]] = {row.arrow: kind for kind, row in ROWS.items() if row.family in _ALIKE}


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> DataType:
    """The data type of an Arrow column.

        >>> import pyarrow
        >>> str(from_arrow_type(pyarrow.int32()))
        'INT'

    :raises TypeError: there is none.
    """
    kind = _EXACT.get(arrow_type)
    if kind is not None:
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


def _precision(unit: str) -> int:
    return next(digits for digits, name in _TIME_UNITS if name == unit)
