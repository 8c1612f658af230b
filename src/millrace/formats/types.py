"""One language for types inside the formats: Arrow's. From and to what programs declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from millrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    _ArrayTypeInfo,
)
from millrace.relational import arrow
from millrace.relational.type_table import Family, family_of, type_parts
from millrace.relational.types import DataType

__all__ = ["ANY", "BIG_INT", "arrow_schema", "arrow_type", "row_type_info", "type_info"]

ANY = pa.null()
"""Stands for a value of no declared type."""
BIG_INT = pa.decimal256(76, 0)
"""Ints of any size; its values are Python ints, those of other decimals ``Decimal``."""
_TIMESTAMP = pa.timestamp("us")
_INSTANT = pa.timestamp("us", "UTC")

_BASIC = {
    BasicType.STRING: pa.string(),
    BasicType.BYTE: pa.int8(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.FLOAT: pa.float32(),
    BasicType.DOUBLE: pa.float64(),
    BasicType.CHAR: pa.string(),
    BasicType.BIG_INT: BIG_INT,
    BasicType.BIG_DEC: pa.decimal128(38, 18),
    BasicType.INSTANT: _INSTANT,
}
_LOCAL_TIME = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: pa.date32(),
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: pa.time64("us"),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: _TIMESTAMP,
}
_NOT_IN_FILES = {
    *(Family.NULL, Family.MONTHS, Family.SPAN, Family.RAW, Family.VARIANT, Family.BITMAP, Family.USER, Family.NAMED)
}


def arrow_type(declared: Any) -> Any:
    """The Arrow type of a ``TypeInformation``, a table ``DataType`` or an Arrow type.

    :raises TypeError: for anything else.
    """
    if isinstance(declared, pa.DataType):
        return declared
    if isinstance(declared, TypeInformation):
        return _of_type_info(declared)
    if not isinstance(declared, DataType) or any(family_of(part) in _NOT_IN_FILES for part in type_parts(declared)):
        raise TypeError(f"not a type that formats know: {declared!r}")
    return arrow.arrow_type(declared)


def _of_type_info(declared: TypeInformation) -> Any:
    if isinstance(declared, BasicTypeInfo):
        return _BASIC[declared._basic_type]
    if isinstance(declared, RowTypeInfo):
        names, types = declared.get_field_names(), declared.get_field_types()
        return pa.struct([(name, arrow_type(field)) for name, field in zip(names, types, strict=True)])
    if isinstance(declared, TupleTypeInfo):
        return pa.struct([(f"f{n}", arrow_type(field)) for n, field in enumerate(declared.get_field_types())])
    if isinstance(declared, _ArrayTypeInfo):
        element = arrow_type(declared._element_type)
        return pa.binary() if element == pa.int8() else pa.list_(element)
    if isinstance(declared, ListTypeInfo):
        return pa.list_(arrow_type(declared.elem_type))
    if isinstance(declared, MapTypeInfo):
        return pa.map_(arrow_type(declared._key_type_info), arrow_type(declared._value_type_info))
    if isinstance(declared, LocalTimeTypeInfo):
        return _LOCAL_TIME[declared._time_type]
    if isinstance(declared, ExternalTypeInfo):
        return arrow_type(declared._type_info)
    simple = {DateTypeInfo: pa.date32(), TimeTypeInfo: pa.time64("us"), TimestampTypeInfo: _TIMESTAMP}
    simple[PickledBytesTypeInfo] = ANY
    if type(declared) in simple:
        return simple[type(declared)]
    raise TypeError(f"formats can't write values of {declared}")


def arrow_schema(row_type: Any) -> Any:
    """The schema of a row type: ``Types.ROW_NAMED``, ``DataTypes.ROW``, an Arrow schema or struct.

    :raises TypeError: if it isn't one.
    """
    if isinstance(row_type, pa.Schema):
        return row_type
    type_ = arrow_type(row_type)
    if not pa.types.is_struct(type_):
        raise TypeError(f"a row type is needed (Types.ROW_NAMED, DataTypes.ROW or a pyarrow schema), got {row_type!r}")
    return pa.schema(list(type_))


def type_info(type_: Any) -> TypeInformation:
    """The ``TypeInformation`` of the Python values that formats make of an Arrow type."""
    is_ = pa.types
    for test, make in _TYPE_INFOS:
        if test(type_):
            return make()
    if type_ == BIG_INT:
        return Types.BIG_INT()
    if is_.is_decimal(type_):
        return Types.BIG_DEC()
    if is_.is_timestamp(type_):
        return Types.SQL_TIMESTAMP() if type_.tz is None else Types.INSTANT()
    if is_.is_list(type_) or is_.is_large_list(type_) or is_.is_fixed_size_list(type_):
        return Types.LIST(type_info(type_.value_type))
    if is_.is_map(type_):
        return Types.MAP(type_info(type_.key_type), type_info(type_.item_type))
    if is_.is_struct(type_):
        return row_type_info(pa.schema(list(type_)))
    return Types.PICKLED_BYTE_ARRAY()


def row_type_info(schema: Any) -> RowTypeInfo:
    """The row type of an Arrow schema."""
    return Types.ROW_NAMED(schema.names, [type_info(field.type) for field in schema])


_TYPE_INFOS: tuple[tuple[Callable[[Any], bool], Callable[[], TypeInformation]], ...] = (
    (pa.types.is_boolean, Types.BOOLEAN),
    (pa.types.is_int8, Types.BYTE),
    (pa.types.is_int16, Types.SHORT),
    (pa.types.is_uint8, Types.SHORT),
    (pa.types.is_int32, Types.INT),
    (pa.types.is_uint16, Types.INT),
    (pa.types.is_int64, Types.LONG),
    (pa.types.is_uint32, Types.LONG),
    (pa.types.is_uint64, Types.BIG_INT),
    (pa.types.is_float16, Types.FLOAT),
    (pa.types.is_float32, Types.FLOAT),
    (pa.types.is_float64, Types.DOUBLE),
    (pa.types.is_string, Types.STRING),
    (pa.types.is_large_string, Types.STRING),
    (pa.types.is_binary, lambda: Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (pa.types.is_large_binary, lambda: Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (pa.types.is_fixed_size_binary, lambda: Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (pa.types.is_date, Types.SQL_DATE),
    (pa.types.is_time, Types.SQL_TIME),
)
