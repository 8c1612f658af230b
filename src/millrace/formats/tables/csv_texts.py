"""Columns of values as columns of text for CSV."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables import times
from millrace.formats.tables.json_texts import base64_texts
from millrace.formats.tables.lists import relisted
from millrace.formats.tables.numbers import decimal_texts, float_texts
from millrace.formats.tables.times import SQL
from millrace.relational import types as t
from millrace.relational.types import DataType

_NUMBERS = (t.NumericType, t.BooleanType, t.YearMonthIntervalType, t.DayTimeIntervalType)


def is_text(kind: DataType) -> bool:
    """Whether Java's library writes these values as text, which it quotes sooner than numbers."""
    return not isinstance(kind, _NUMBERS)


def csv_texts(column: pa.Array, kind: DataType, null: str, separator: str, exponents: bool) -> pa.Array:
    """The texts of values; NULL stays NULL.

    :param null: the text of NULL inside of arrays and rows.
    :param separator: between the elements of arrays and rows.
    :param exponents: write DECIMAL with an exponent where Java does.
    """

    def inside(values: pa.Array, part: DataType) -> Any:
        return csv_texts(values, part, null, separator, exponents).fill_null(null)

    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return float_texts(column, kind)
    if isinstance(kind, t.DecimalType):
        return decimal_texts(column, exponents)
    if isinstance(kind, t.TimeType):
        return times.clock_texts(column)
    if isinstance(kind, t.TimestampType):
        return times.timestamp_texts(column, SQL)
    if isinstance(kind, t.LocalZonedTimestampType):
        return times.timestamp_texts(column, SQL, "Z")
    if isinstance(kind, t.DayTimeIntervalType):
        return pc.divide(column.cast(pa.int64()), 1000).cast(pa.string())
    if isinstance(kind, (t.BinaryType, t.VarBinaryType)):
        return base64_texts(column)
    if isinstance(kind, t.ArrayType):
        texts = inside(column.flatten(), kind.element_type)
        return pc.binary_join(relisted(column, texts), separator)
    if isinstance(kind, t.RowType):
        parts = [inside(values, part) for values, part in zip(column.flatten(), kind.field_types())]
        return pc.if_else(column.is_valid(), pc.binary_join_element_wise(*parts, separator), None)
    return column.cast(pa.string())
