"""Values as fields of CSV, a column at a time or value by value."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.time import Instant
from millrace.formats import text_columns
from millrace.formats.arrow_rows import ANY, BIG_INT
from millrace.formats.csv_fields import BIG_DEC
from millrace.formats.csv_quotes import CsvQuotes
from millrace.formats.csv_schema import CsvSchema
from millrace.formats.text_columns import (
    SQL,
    NoForm,
    base64_texts,
    decimal_text,
    decimal_texts,
    float_texts,
    millisecond_texts,
    patched,
    relisted,
    text_of,
    texts_of_few,
)
from millrace.relational import types as t
from millrace.relational.precision import fit
from millrace.relational.type_table import WHOLE, ByFamily, Family, family_of, from_arrow_type, parts_of
from millrace.relational.types import DataType

_NUMBERS = {*WHOLE, Family.APPROXIMATE, Family.DECIMAL, Family.BOOLEAN}


def is_csv_text(kind: DataType) -> bool:
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
        return decimal_texts(column, True) if exponents else _plain_decimals(column)
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

    def whole(values: pa.Array) -> pa.Array:
        return csv_texts(values, kind, null, separator, exponents)

    if family_of(kind) is Family.DECIMAL and not exponents:
        return whole(column).to_pylist()  # type: ignore[no-any-return]
    return texts_of_few(column, kind, SQL.separator, exponents, whole)


def _plain_decimals(column: pa.Array) -> pa.Array:
    """DECIMAL with all digits that the type has, and never with an exponent."""
    texts = column.cast(pa.string())
    return patched(texts, pc.match_substring(texts, "E"), column, lambda value: format(value, "f"))


_WRITERS: ByFamily = {
    Family.APPROXIMATE: float_texts,
    Family.TIME: text_columns.clock_texts,
    Family.TIMESTAMP: lambda column: text_columns.timestamp_texts(column, SQL),
    Family.INSTANT: lambda column: text_columns.timestamp_texts(column, SQL, "Z"),
    Family.SPAN: millisecond_texts,
    Family.BYTES: base64_texts,
}


Write = Callable[[Any], str]
"""The text of a value that is not None."""


class RowTexts:
    """Lines of rows of a stream.

    :param schema: its columns and dialect.
    :param decimals: makes the writer of a DECIMAL: ``stripped`` or ``as_they_are``.
    """

    def __init__(self, schema: CsvSchema, decimals: Callable[[t.DecimalType], Write]) -> None:
        dialect = schema.dialect
        self._quotes = CsvQuotes(dialect)
        self._null = dialect.null_value or ""
        self._are_texts = [is_csv_text(_kind(column.type)) for column in schema.columns]
        self._names = schema.names
        separators = [dialect.array_separator if each.separator is None else each.separator for each in schema.columns]
        self._writers = [
            _writer(column.type, self._null, separator, decimals)
            for column, separator in zip(schema.columns, separators)
        ]
        self._end = dialect.line_separator

    def lines(self, rows: Iterable[Sequence[Any]]) -> str:
        """The lines of rows given as sequences of values, each with the line separator at its end.

        :raises UnquotableText: a field needs quotes, and the dialect has neither quotes nor escapes.
        """
        null, quotes, field = self._null, self._quotes, self._quotes.field
        columns = list(zip(self._writers, self._are_texts))
        return "".join(
            [
                quotes.line(
                    [
                        null if value is None else field(write(value), is_text)
                        for value, (write, is_text) in zip(row, columns, strict=True)
                    ]
                )
                + self._end
                for row in rows
            ]
        )

    def header(self) -> str:
        return self._quotes.line([self._quotes.field(name, True) for name in self._names]) + self._end


def stripped(kind: t.DecimalType) -> Write:
    """DECIMAL rounded to its scale, without zeros at its end, and with an exponent where Java writes one."""
    text = decimal_text(True)
    return lambda value: text(_fitted(value, kind))


def as_they_are(kind: t.DecimalType) -> Write:
    """A number of ``Types.BIG_DEC`` with the digits that it has, others rounded to the scale of their type."""
    return str if (kind.precision, kind.scale) == BIG_DEC else lambda value: str(_fitted(value, kind))


def _fitted(value: Decimal, kind: t.DecimalType) -> Decimal:
    found = fit(value, kind.precision, kind.scale)
    if found is None:
        raise ValueError(f"{value} has too many digits for {kind}")
    return found


def _kind(type_: pa.DataType) -> DataType:
    """The type of a stream's column; ints of any size are whole numbers, what is not declared is text."""
    if type_ == ANY:
        return t.VarCharType()
    if type_ == BIG_INT or pa.types.is_unsigned_integer(type_):
        return t.BigIntType()
    return from_arrow_type(type_)


def _writer(type_: pa.DataType, null: str, separator: str, decimals: Callable[[t.DecimalType], Write]) -> Write:
    """:raises TypeError: for a type that CSV cannot hold."""

    def inside(part: pa.DataType) -> Write:
        write = _writer(part, null, "", decimals)
        return lambda value: null if value is None else write(value)

    if pa.types.is_list(type_):
        element = inside(type_.value_type)
        return lambda value: separator.join([element(part) for part in value])
    if pa.types.is_struct(type_):
        parts = [inside(field.type) for field in type_]
        return lambda value: separator.join([write(part) for write, part in zip(parts, value, strict=True)])
    if pa.types.is_map(type_):
        raise NoForm(f"CSV has no text for values of {type_}")
    kind = _kind(type_)
    if isinstance(kind, t.DecimalType):
        return decimals(kind)
    write = text_of(kind, SQL.separator, True)
    if write is None:
        raise NoForm(f"CSV has no text for values of {type_}")
    prepare = _PREPARE.get(family_of(kind))
    return write if prepare is None else lambda value: write(prepare(value))


def _in_utc(moment: Instant | dt.datetime) -> dt.datetime:
    if isinstance(moment, Instant):
        return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=moment.seconds, microseconds=moment.nanos // 1000)
    return moment.astimezone(dt.timezone.utc) if moment.tzinfo is not None else moment


_PREPARE: dict[Family, Callable[[Any], Any]] = {Family.INSTANT: _in_utc, Family.APPROXIMATE: float}
"""from values of streams to those that texts are made of"""
