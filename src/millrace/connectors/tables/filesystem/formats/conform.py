"""Columns of files in the Arrow types that plans use."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.arrow import arrow_type
from millrace.relational.canonical import canonical
from millrace.relational.types import DataType


def conformed(column: pa.Array, wanted: DataType) -> pa.Array:
    """A column of a file as a column of the table's type: values are converted where that loses nothing but digits of a
    second that the type does not have.

    :raises pa.ArrowException: a value does not fit, or the types have nothing to do with each other.
    """
    kind = arrow_type(wanted)
    if column.type != kind:
        column = _cast(column, kind)
    return canonical(column, wanted)


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    found = column.type
    if found == wanted:
        return column
    if pa.types.is_dictionary(found):
        return _cast(column.dictionary_decode(), wanted)
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        return _struct(column, wanted)
    if pa.types.is_map(found) and pa.types.is_map(wanted):
        keys, items = _cast(column.keys, wanted.key_type), _cast(column.items, wanted.item_type)
        return _with_validity(pa.MapArray.from_arrays(column.offsets, keys, items, type=wanted), column)
    if _is_list(found) and pa.types.is_list(wanted):
        column = column.cast(pa.list_(found.value_type))  # offsets of 32 bits
        values = _cast(column.values, wanted.value_type)
        return _with_validity(pa.ListArray.from_arrays(column.offsets, values, type=wanted), column)
    # Only fractions of a second may be lost: what has another unit, or whose number is too large, is an error.
    lossy = pa.types.is_timestamp(found) or pa.types.is_time(found)
    if lossy and not (pa.types.is_timestamp(wanted) or pa.types.is_time(wanted)):
        lossy = False
    return column.cast(wanted, safe=not (lossy and _is_finer(found, wanted)))


def _struct(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Fields by name; one that is not there is NULL."""
    names = [field.name for field in column.type]
    children = [
        _cast(column.field(names.index(field.name)), field.type)
        if field.name in names
        else pa.nulls(len(column), field.type)
        for field in wanted
    ]
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(wanted), mask=mask)


def _with_validity(made: pa.Array, column: pa.Array) -> pa.Array:
    return pc.if_else(column.is_valid(), made, pa.scalar(None, made.type)) if column.null_count else made


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_finer(found: pa.DataType, wanted: pa.DataType) -> bool:
    units = ("s", "ms", "us", "ns")
    return units.index(found.unit) > units.index(wanted.unit)
