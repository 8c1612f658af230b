"""What PyFlink's private helpers infer from Python values: the types of rows, and one type for several.

``from_elements`` has rules of its own that take more (``elements.py``); these are for programs that import PyFlink's.
"""

from __future__ import annotations

import array
import ctypes
import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.types import DataType

PYTHON_TYPES: dict[type, DataType] = {
    bool: t.BooleanType(),
    int: t.BigIntType(),
    float: t.DoubleType(),
    str: t.string(),
    bytearray: t.VarBinaryType(t.MAX_LENGTH),
    Decimal: t.DecimalType(38, 18),
    datetime.date: t.DateType(),
    datetime.datetime: t.LocalZonedTimestampType(6),
    datetime.time: t.TimeType(0),
}
SIGNED_CODES = {"b": ctypes.c_byte, "h": ctypes.c_short, "i": ctypes.c_int, "l": ctypes.c_long}
UNSIGNED_CODES = {"B": ctypes.c_ubyte, "H": ctypes.c_ushort, "I": ctypes.c_uint, "L": ctypes.c_ulong}


def _array_types() -> dict[str, DataType]:
    """Type code of ``array.array`` -> the type of its elements. Unsigned numbers need one bit more: some have none."""
    bits = {code: 8 * ctypes.sizeof(kind) for code, kind in SIGNED_CODES.items()}
    bits |= {code: 8 * ctypes.sizeof(kind) + 1 for code, kind in UNSIGNED_CODES.items()}
    sizes = {8: t.TinyIntType, 16: t.SmallIntType, 32: t.IntType, 64: t.BigIntType}
    text = t.CharType(ctypes.sizeof(ctypes.c_wchar))
    found: dict[str, DataType] = {"f": t.FloatType(), "d": t.DoubleType(), "u": text}
    for code, needed in bits.items():
        fitting = [kind for size, kind in sizes.items() if needed <= size]
        if fitting:
            found[code] = fitting[0]()
    return found


ARRAY_TYPES = _array_types()


def infer_type(value: Any) -> DataType:
    """The type of a value.

    :raises TypeError: there is none.
    """
    if value is None:
        return t.NullType()
    if hasattr(value, "__UDT__"):
        own: DataType = value.__UDT__
        return own
    known = PYTHON_TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, dict):
        pairs = ((key, each) for key, each in value.items() if key is not None and each is not None)
        key, each = next(pairs, (None, None))
        return t.MapType(infer_type(key).not_null() if key is not None else t.NullType(), infer_type(each))
    if isinstance(value, list):
        return t.ArrayType(infer_type(value[0] if any(each is not None for each in value) else None))
    if isinstance(value, array.array):
        return array_type(value)
    try:
        return infer_row(value)
    except TypeError:
        raise TypeError(f"not supported type: {type(value)}") from None


def array_type(value: array.array[Any]) -> t.ArrayType:
    """:raises TypeError: numbers of this kind fit into no type of SQL."""
    element = ARRAY_TYPES.get(value.typecode)
    if element is None:
        raise TypeError(f"not supported type: array({value.typecode})")
    return t.ArrayType(element.not_null())


def infer_row(row: Any, names: list[str] | None = None) -> t.RowType:
    """The ROW type of a dict, Row, tuple, list or object; ``names`` are those of a tuple or list.

    :raises TypeError: it is none of them.
    """
    if isinstance(row, dict):
        items = sorted(row.items())
    elif isinstance(row, (Row, tuple, list)):
        own = getattr(row, "_fields", None)
        if own is None:
            own = [*(names or ())]
            own += [f"_{place}" for place in range(len(own) + 1, len(row) + 1)]
        items = list(zip(own, row))
    elif hasattr(row, "__dict__"):
        items = sorted(vars(row).items())
    else:
        raise TypeError(f"Can not infer schema for type: {type(row)}")
    return t.RowType([t.RowField(name, infer_type(value)) for name, value in items])


def has_null_type(kind: DataType) -> bool:
    """Whether some part of a type is still unknown."""
    if isinstance(kind, t.RowType):
        return any(has_null_type(field.data_type) for field in kind.fields)
    if isinstance(kind, (t.ArrayType, t.MultisetType)):
        return has_null_type(kind.element_type)
    if isinstance(kind, t.MapType):
        return has_null_type(kind.key_type) or has_null_type(kind.value_type)
    return isinstance(kind, t.NullType)


def merge_type(one: DataType, other: DataType, name: str | None = None) -> DataType:
    """A type for values of both, without widening.

    :param name: of what is merged, for the error.
    :raises TypeError: the types differ in kind.
    """
    if isinstance(one, t.NullType):
        return other
    if isinstance(other, t.NullType):
        return one
    if type(one) is not type(other):
        said = f"Can not merge type {type(one)} and {type(other)}"
        raise TypeError(said if name is None else f"{name}: {said}")
    if isinstance(one, t.RowType) and isinstance(other, t.RowType):
        return _merge_rows(one, other, name)
    if isinstance(one, t.ArrayType) and isinstance(other, t.ArrayType):
        return t.ArrayType(merge_type(one.element_type, other.element_type, f"element in array {name}"))
    if isinstance(one, t.MultisetType) and isinstance(other, t.MultisetType):
        return t.MultisetType(merge_type(one.element_type, other.element_type, f"element in multiset {name}"))
    if isinstance(one, t.MapType) and isinstance(other, t.MapType):
        key = merge_type(one.key_type, other.key_type, f"key of map {name}")
        return t.MapType(key, merge_type(one.value_type, other.value_type, f"value of map {name}"))
    return one


def _merge_rows(one: t.RowType, other: t.RowType, name: str | None) -> t.RowType:
    theirs = {field.name: field.data_type for field in other.fields}
    fields = []
    for field in one.fields:
        found = theirs.pop(field.name, None)
        inside = f"field {field.name}" if name is None else f"field {field.name} in {name}"
        kind = field.data_type if found is None else merge_type(field.data_type, found, inside)
        fields.append(t.RowField(field.name, kind))
    return t.RowType([*fields, *(t.RowField(each, kind) for each, kind in theirs.items())])


def infer_schema_from_data(elements: Sequence[Any], names: list[str] | None = None) -> t.RowType:
    """One ROW type for all elements.

    :raises ValueError: there are no elements, or all values of a column are None.
    :raises TypeError: values of a column differ in kind.
    """
    if not elements:
        raise ValueError("can not infer schema from empty data set")
    schema = infer_row(elements[0], names)
    for element in elements[1:]:
        schema = _merge_rows(schema, infer_row(element, names), None)
    if has_null_type(schema):
        raise ValueError("Some column types cannot be determined after inferring")
    return schema
