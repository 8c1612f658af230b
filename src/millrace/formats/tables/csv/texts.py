"""Columns of values as columns of text for CSV."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables import times
from millrace.formats.tables.few import texts_of_few
from millrace.formats.tables.json.texts import base64_texts, millisecond_texts
from millrace.formats.tables.lists import relisted
from millrace.formats.tables.numbers import decimal_texts, float_texts
from millrace.formats.tables.times import SQL
from millrace.relational.type_table import WHOLE, ByFamily, Family, family_of, parts_of
from millrace.relational.types import DataType

_NUMBERS = {*WHOLE, Family.APPROXIMATE, Family.DECIMAL, Family.BOOLEAN}


def is_text(kind: DataType) -> bool:
    """Whether Java's library writes these values as text, which it quotes sooner than numbers."""
    return family_of(kind) not in _NUMBERS


def csv_texts(column: pa.Array, kind: DataType, null: str, separator: str, exponents: bool) -> pa.Array:
    """The texts of values; NULL stays NULL.

    :param null: the text of NULL inside of arrays and rows.
    :param separator: between the elements of arrays and rows.
    :param exponents: write DECIMAL with an exponent where Java does.
    """

    family = family_of(kind)

    def inside(values: pa.Array, part: DataType) -> Any:
        return csv_texts(values, part, null, separator, exponents).fill_null(null)

    if family is Family.DECIMAL:
        return decimal_texts(column, exponents)
    if family is Family.ARRAY:
        texts = inside(column.flatten(), *parts_of(kind))
        return pc.binary_join(relisted(column, texts), separator)
    if family is Family.ROW:
        parts = [inside(values, part) for values, part in zip(column.flatten(), parts_of(kind))]
        return pc.if_else(column.is_valid(), pc.binary_join_element_wise(*parts, separator), None)
    write = _WRITERS.get(family)
    return column.cast(pa.string()) if write is None else write(column)


def few_csv_texts(column: pa.Array, kind: DataType, null: str, separator: str, exponents: bool) -> list[str | None]:
    """``csv_texts`` of few values, made one by one."""
    return texts_of_few(
        column, kind, SQL.separator, exponents, lambda values: csv_texts(values, kind, null, separator, exponents)
    )


_WRITERS: ByFamily = {
    Family.APPROXIMATE: float_texts,
    Family.TIME: times.clock_texts,
    Family.TIMESTAMP: lambda column: times.timestamp_texts(column, SQL),
    Family.INSTANT: lambda column: times.timestamp_texts(column, SQL, "Z"),
    Family.SPAN: millisecond_texts,
    Family.BYTES: base64_texts,
}
