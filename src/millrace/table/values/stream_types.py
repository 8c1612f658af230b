"""Types of DataStreams as data types of tables, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common import typeinfo as ti
from millrace.common.typeinfo import BasicType, TypeInformation
from millrace.relational import types as t
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType

_BASIC: dict[BasicType, DataType] = {
    BasicType.STRING: t.string(),
    BasicType.BYTE: t.TinyIntType(),
    BasicType.BOOLEAN: t.BooleanType(),
    BasicType.SHORT: t.SmallIntType(),
    BasicType.INT: t.IntType(),
    BasicType.LONG: t.BigIntType(),
    BasicType.FLOAT: t.FloatType(),
    BasicType.DOUBLE: t.DoubleType(),
    BasicType.CHAR: t.CharType(1),
    BasicType.BIG_INT: t.DecimalType(38, 0),
    BasicType.BIG_DEC: t.DecimalType(38, 18),
    BasicType.INSTANT: t.LocalZonedTimestampType(6),
}


def data_type_of_info(info: TypeInformation) -> DataType:
    """The data type of values of a stream; anything without one is RAW, a pickled object."""
    if isinstance(info, ti.BasicTypeInfo):
        return _BASIC[info._basic_type]
    if isinstance(info, ti.ExternalTypeInfo):
        return data_type_of_info(info._type_info)
    if isinstance(info, ti.RowTypeInfo):
        return _row(info.get_field_names(), info.get_field_types())
    if isinstance(info, ti.TupleTypeInfo):
        kinds = info.get_field_types()
        return t.RowType([t.RowField(f"f{index}", type_outside_rows(kind)) for index, kind in enumerate(kinds)])
    if isinstance(info, ti.PrimitiveArrayTypeInfo) and info._element_type == ti.BasicTypeInfo.BYTE_TYPE_INFO():
        return t.VarBinaryType(t.MAX_LENGTH)
    if isinstance(info, (ti.BasicArrayTypeInfo, ti.ObjectArrayTypeInfo)):
        return t.ArrayType(data_type_of_info(info._element_type))
    if isinstance(info, ti.PrimitiveArrayTypeInfo):
        return t.ArrayType(type_outside_rows(info._element_type))
    if isinstance(info, ti.ListTypeInfo):
        return t.ArrayType(type_outside_rows(info.elem_type))
    if isinstance(info, ti.MapTypeInfo):
        return t.MapType(type_outside_rows(info._key_type_info), type_outside_rows(info._value_type_info))
    if isinstance(info, ti.DateTypeInfo):
        return t.DateType()
    if isinstance(info, ti.TimeTypeInfo):
        return t.TimeType(0)
    if isinstance(info, ti.TimestampTypeInfo):
        return t.TimestampType(3)
    if isinstance(info, ti.LocalTimeTypeInfo):
        kinds_ = ti.LocalTimeTypeInfo.TimeType
        found = {kinds_.LOCAL_DATE: t.DateType(), kinds_.LOCAL_TIME: t.TimeType(0)}
        return found.get(info._time_type, t.TimestampType(6))
    return t.RawType()


def type_outside_rows(info: TypeInformation) -> DataType:
    """The data type of values that are no fields of rows. Numbers and booleans are never NULL there, as in Flink."""
    primitive = isinstance(info, ti.BasicTypeInfo) and info._basic_type in ti.PRIMITIVES
    found = data_type_of_info(info)
    return found.not_null() if primitive else found


def _row(names: list[str], kinds: list[TypeInformation]) -> t.RowType:
    return t.RowType([t.RowField(name, data_type_of_info(kind)) for name, kind in zip(names, kinds)])


def info_of_data_type(data_type: DataType) -> TypeInformation:
    """The type of a table's values in a stream; what streams have no type for is any object."""
    if isinstance(data_type, t.MapType):  # streams have no multisets
        return ti.Types.MAP(*map(info_of_data_type, parts_of(data_type)))
    make = _INFOS.get(family_of(data_type))
    return ti.Types.PICKLED_BYTE_ARRAY() if make is None else make(data_type)


_WHOLE = {8: ti.Types.BYTE(), 16: ti.Types.SHORT(), 32: ti.Types.INT(), 64: ti.Types.LONG()}
_INFOS: dict[Family, Callable[[Any], TypeInformation]] = {
    Family.TEXT: lambda kind: ti.Types.STRING(),
    Family.BOOLEAN: lambda kind: ti.Types.BOOLEAN(),
    Family.INTEGER: lambda kind: _WHOLE[kind.bits],
    Family.APPROXIMATE: lambda kind: ti.Types.FLOAT() if isinstance(kind, t.FloatType) else ti.Types.DOUBLE(),
    Family.DECIMAL: lambda kind: ti.Types.BIG_DEC(),
    Family.DATE: lambda kind: ti.Types.SQL_DATE(),
    Family.TIME: lambda kind: ti.Types.SQL_TIME(),
    **dict.fromkeys((Family.TIMESTAMP, Family.INSTANT), lambda kind: ti.Types.SQL_TIMESTAMP()),
    Family.ROW: lambda kind: ti.Types.ROW_NAMED(kind.field_names(), list(map(info_of_data_type, kind.field_types()))),
    Family.ARRAY: lambda kind: ti.Types.LIST(info_of_data_type(kind.element_type)),
}
