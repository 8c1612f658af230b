"""The columns of a table as columns of files that Arrow writes."""

from __future__ import annotations

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.nodes import Schema
from millrace.relational.type_table import type_parts
from millrace.relational.types import DataType

__all__ = ["file_schema", "type_parts"]

_NONE = (t.DayTimeIntervalType, t.YearMonthIntervalType, t.RawType, t.NullType, t.VariantType, t.BitmapType)


def file_schema(columns: Schema, format: str, table: str, none: tuple[type[DataType], ...] = ()) -> pa.Schema:
    """Names and Arrow types of the columns.

    :param none: types that the format does not have, besides those that no format has.
    :raises ValueError: a column of such a type.
    """
    for column in columns:
        for part in type_parts(column.type):
            if isinstance(part, (*_NONE, *none)):
                raise ValueError(f"table {table}: {format} files have no type {part} (column '{column.name}')")
    return pa.schema([pa.field(each.name, arrow_type(each.type), each.type.is_nullable) for each in columns])

