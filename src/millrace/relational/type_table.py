"""Facts about each data type: one row for each type root, the Arrow type in which columns of a data type are held
inside plans, and the data type for an Arrow type of a user's table."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from millrace.common.text import double_text, float_text
from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.types import DataType
from millrace.util.record import Record


class Family(enum.Enum):
    """What values look like: formats, generators, literals and texts have one way for each family."""

    NULL = enum.auto()
    BOOLEAN = enum.auto()
    INTEGER = enum.auto()
    APPROXIMATE = enum.auto()
    DECIMAL = enum.auto()
    TEXT = enum.auto()
    BYTES = enum.auto()
    DATE = enum.auto()
    TIME = enum.auto()
    TIMESTAMP = enum.auto()
    INSTANT = enum.auto()
    MONTHS = enum.auto()
    SPAN = enum.auto()
    ARRAY = enum.auto()
    MAP = enum.auto()
    ROW = enum.auto()
    RAW = enum.auto()
    VARIANT = enum.auto()
    BITMAP = enum.auto()
    USER = enum.auto()
    NAMED = enum.auto()
    """can be named, not computed with"""


WHOLE = (Family.INTEGER, Family.MONTHS, Family.SPAN)
"""what messages have as whole numbers; spans in milliseconds"""

ByFamily = Mapping[Family, Callable[..., Any]]
"""What one place does with each family; a family that it does not have is refused there."""


class TypeRow(Record):
    """One type root.

    :param family: what its values look like.
    :param python: the class of its values in Python.
    :param arrow: its Arrow type, or how to make it of the type and the Arrow types of its parts.
    :param parts: the types inside it; of maps that of keys and that of values.
    :param avro: its name in Avro, if it is as simple as that.
    :param digits: of exact whole numbers: how many digits in the decimal system they may have.
    """

    family: Family
    python: type
    arrow: pa.DataType | Callable[..., pa.DataType]
    parts: Callable[[Any], tuple[DataType, ...]] = lambda kind: ()
    avro: str = ""
    digits: int = 0


def _refuse(kind: DataType) -> pa.DataType:
    raise NotImplementedError(f"{kind} can be named, but not computed with: use TIMESTAMP or TIMESTAMP_LTZ")


def _list(kind: DataType, element: pa.DataType) -> pa.DataType:
    return pa.list_(element)


def _map(kind: DataType, key: pa.DataType, value: pa.DataType) -> pa.DataType:
    return pa.map_(key, value)


_ELEMENT: Callable[[Any], tuple[DataType, ...]] = lambda kind: (kind.element_type,)
_ENTRY: Callable[[Any], tuple[DataType, ...]] = lambda kind: (kind.key_type, kind.value_type)
_F = Family

# Times are microseconds for all precisions: what Spark has. A value is cut to its precision when it is made.
ROWS: Mapping[type[DataType], TypeRow] = {
    t.DataType: TypeRow(_F.NAMED, object, _refuse),
    t.NullType: TypeRow(_F.NULL, type(None), pa.null()),
    t.BooleanType: TypeRow(_F.BOOLEAN, bool, pa.bool_(), avro="boolean"),
    t.TinyIntType: TypeRow(_F.INTEGER, int, pa.int8(), avro="int", digits=3),
    t.SmallIntType: TypeRow(_F.INTEGER, int, pa.int16(), avro="int", digits=5),
    t.IntType: TypeRow(_F.INTEGER, int, pa.int32(), avro="int", digits=10),
    t.BigIntType: TypeRow(_F.INTEGER, int, pa.int64(), avro="long", digits=19),
    t.FloatType: TypeRow(_F.APPROXIMATE, float, pa.float32(), avro="float"),
    t.DoubleType: TypeRow(_F.APPROXIMATE, float, pa.float64(), avro="double"),
    t.DecimalType: TypeRow(_F.DECIMAL, decimal.Decimal, lambda kind: pa.decimal128(kind.precision, kind.scale)),
    t.CharType: TypeRow(_F.TEXT, str, pa.string(), avro="string"),
    t.VarCharType: TypeRow(_F.TEXT, str, pa.string(), avro="string"),
    t.BinaryType: TypeRow(_F.BYTES, bytes, pa.binary(), avro="bytes"),
    t.VarBinaryType: TypeRow(_F.BYTES, bytes, pa.binary(), avro="bytes"),
    t.DateType: TypeRow(_F.DATE, dt.date, pa.date32()),
    t.TimeType: TypeRow(_F.TIME, dt.time, pa.time64("us")),
    t.TimestampType: TypeRow(_F.TIMESTAMP, dt.datetime, pa.timestamp("us")),
    t.LocalZonedTimestampType: TypeRow(_F.INSTANT, dt.datetime, pa.timestamp("us", "UTC")),
    t.YearMonthIntervalType: TypeRow(_F.MONTHS, int, pa.int32()),
    t.DayTimeIntervalType: TypeRow(_F.SPAN, dt.timedelta, pa.duration("us")),
    t.ArrayType: TypeRow(_F.ARRAY, list, _list, _ELEMENT),
    t.ListViewType: TypeRow(_F.ARRAY, list, _list, _ELEMENT),
    t.MapType: TypeRow(_F.MAP, dict, _map, _ENTRY),
    t.MapViewType: TypeRow(_F.MAP, dict, _map, _ENTRY),
    # Values and how often each occurs.
    t.MultisetType: TypeRow(_F.MAP, dict, _map, lambda kind: (kind.element_type, t.IntType())),
    t.RowType: TypeRow(
        _F.ROW, Row, lambda kind, *parts: pa.struct(list(zip(kind.names, parts))), lambda kind: (*kind.field_types(),)
    ),
    t.RawType: TypeRow(_F.RAW, object, pa.binary()),
    t.VariantType: TypeRow(_F.VARIANT, str, pa.string()),
    t.BitmapType: TypeRow(_F.BITMAP, bytes, pa.binary()),
    t.UserDefinedType: TypeRow(_F.USER, object, lambda kind, inner: inner, lambda kind: (kind.sql_type(),)),
}


def row_of(data_type: DataType) -> TypeRow:
    """The row of a type: that of its class, else of the nearest class above it."""
    return ROWS.get(type(data_type)) or next(ROWS[each] for each in type(data_type).__mro__ if each in ROWS)


def family_of(data_type: DataType) -> Family:
    return row_of(data_type).family


def parts_of(data_type: DataType) -> tuple[DataType, ...]:
    """The types right inside a type; of a map that of keys and that of values."""
    return row_of(data_type).parts(data_type)


def conversion(data_type: DataType, table: ByFamily) -> Callable[[Any], Any]:
    """What a table does with values of a type; families that it does not have stay as they are, and so does NULL."""
    make = table.get(family_of(data_type))
    if make is None:
        return _as_it_is
    convert: Callable[[Any], Any] = make(data_type)
    return lambda value: None if value is None else convert(value)


def _as_it_is(value: Any) -> Any:
    return value


def java_number(data_type: DataType) -> Callable[[Any], str]:
    """How Java shows the numbers of an approximate type: a FLOAT with as few digits as tell it from other FLOATs."""
    return float_text if row_of(data_type).arrow == pa.float32() else double_text


def type_parts(data_type: DataType) -> list[DataType]:
    """A type and the types inside it, however deep."""
    return [data_type, *(part for each in parts_of(data_type) for part in type_parts(each))]


# The Arrow form of columns inside plans


def arrow_type(data_type: t.DataType) -> pa.DataType:
    """The Arrow type of a column.

    :raises NotImplementedError: nothing can be computed with this type (TIMESTAMP WITH TIME ZONE).
    """
    row = row_of(data_type)
    if not callable(row.arrow):
        return row.arrow
    return row.arrow(data_type, *map(arrow_type, row.parts(data_type)))


def schema_of(columns: list[t.DataType]) -> pa.Schema:
    """The schema of a batch of rows with columns of these types, named ``c0``, ``c1``, ..."""
    return pa.schema([(f"c{index}", arrow_type(each)) for index, each in enumerate(columns)])


def alike(one: t.DataType, other: t.DataType) -> bool:
    """Whether columns of two types hold equal values in one form, as texts of any length do."""
    return bool(arrow_type(one) == arrow_type(other))


# Data types of Arrow types

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
