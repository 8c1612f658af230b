"""Fields of CSV as values: one code for tables, files and messages of rows, a column at a time or text by text.

Flink has two converters of fields: one for tables and files, and one for ``CsvRowDeserializationSchema``. Where they
differ is in ``CsvRules``; what Flink answers is recorded in ``tests/flink/fields``.
"""

from __future__ import annotations

import datetime as dt
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats import text_columns
from millrace.formats.arrow_rows import ANY, BIG_INT
from millrace.formats.text_columns import (
    BLANKS,
    SQL,
    NoForm,
    base64_value,
    exact_decimal,
    is_few,
    list_column,
    number_parser,
    parse_any_whole,
    parse_whole,
    single,
    unsigned,
    values_of_texts,
)
from millrace.formats.text_values import parse_boolean
from millrace.relational import types as t
from millrace.relational.type_table import WHOLE, ByFamily, Family, arrow_type, family_of, from_arrow_type, parts_of
from millrace.relational.types import DataType

Parse = Callable[[str], Any]
"""From a text without blanks around to a value as Arrow takes it; raises ValueError for a text that does not fit."""
ReadColumn = Callable[[pa.Array], pa.Array]
"""``Parse`` of a column; raises ValueError or an error of Arrow if a text has to be looked at on its own."""


class BadValue(ValueError):
    """A text that is no value of its type."""

    def __init__(self, row: int, reason: object) -> None:
        super().__init__(str(reason))
        self.row = row


@dataclass(frozen=True)
class CsvRules:
    """Which texts are values."""

    values: ByFamily
    """makes ``Parse`` for a type, by its family"""
    by_column: frozenset[Family]
    """families of which ``values_of_texts`` reads whole columns as ``values`` reads their texts"""
    trimmed: frozenset[Family]
    """families of which blanks around a text are no part of it; around others they are an error"""
    drops_parts: bool
    """whether a nested row may have more parts than fields; what is too much is left out"""


class FieldReader(ABC):
    """Reads the fields of one column.

    :param null: the text of NULL.
    :param lenient: what does not fit is NULL.
    :ivar number: the type as which Arrow reads numbers of this column, but for those in base 16; None: not as Flink.
    """

    number: pa.DataType | None = None

    def __init__(self, null: str | None, lenient: bool) -> None:
        self._null = null
        self._lenient = lenient

    def read(self, texts: pa.Array) -> pa.Array:
        """The values of texts (NULL: there was no field).

        :raises BadValue: for the first one that does not fit.
        """
        return self._read(texts if self._null is None else pc.if_else(pc.equal(texts, self._null), None, texts))

    def value(self, text: str) -> Any:
        """The value of one text, as Arrow takes it.

        :raises ValueError: it does not fit.
        """
        if text == self._null:
            return None
        try:
            return self._value(text)
        except ValueError:
            if self._lenient:
                return None
            raise

    @abstractmethod
    def _read(self, texts: pa.Array) -> pa.Array:
        """``read`` but for the text of NULL."""

    @abstractmethod
    def _value(self, text: str) -> Any:
        """``value`` but for the text of NULL."""


class _Text(FieldReader):
    """Every text is a value."""

    def _read(self, texts: pa.Array) -> pa.Array:
        return texts

    def _value(self, text: str) -> Any:
        return text


class _Simple(FieldReader):
    """:param empty_is_value: an empty field is a value; otherwise it is NULL, as one of blanks is.
    :param read_column: None: texts are read one by one.
    """

    def __init__(
        self,
        null: str | None,
        lenient: bool,
        *,
        arrow: pa.DataType,
        parse: Parse,
        trims: bool,
        empty_is_value: bool = False,
        read_column: ReadColumn | None = None,
        number: pa.DataType | None = None,
    ) -> None:
        super().__init__(null, lenient)
        self.number = number
        self._arrow = arrow
        self._parse = parse
        self._trims = trims
        self._empty_is_value = empty_is_value
        self._read_column = read_column

    def _read(self, texts: pa.Array) -> pa.Array:
        if self._read_column is None or is_few(len(texts)):
            return self._one_by_one(texts.to_pylist())
        if self._trims:
            texts = pc.utf8_trim(texts, characters=BLANKS)
        if not self._empty_is_value:
            texts = pc.if_else(pc.equal(texts, ""), None, texts)
        try:
            return self._read_column(texts)
        except (pa.ArrowException, ValueError):
            return self._one_by_one(texts.to_pylist())

    def _one_by_one(self, texts: list[str | None]) -> pa.Array:
        values: list[Any] = []
        for row, text in enumerate(texts):
            try:
                values.append(None if text is None else self._value(text))
            except ValueError as error:
                if not self._lenient:
                    raise BadValue(row, error) from error
                values.append(None)
        return pa.array(values, self._arrow)

    def _value(self, text: str) -> Any:
        bare = text.strip()
        if bare != text:
            if self._trims:
                text = text.strip(BLANKS)
            if bare != text and bare:
                raise ValueError(f"blanks around a value: {text!r}")
        return self._parse(bare) if bare or self._empty_is_value else None


class _Array(FieldReader):
    def __init__(self, null: str | None, lenient: bool, *, element: FieldReader, separator: str) -> None:
        super().__init__(null, lenient)
        self._element = element
        self._separator = separator

    def _read(self, texts: pa.Array) -> pa.Array:
        if self._separator:
            lists = pc.split_pattern(texts, self._separator)
        else:
            lists = list_column(pc.if_else(texts.is_valid(), 1, None), texts.drop_null())
        lengths = pc.list_value_length(lists)
        empty = pc.equal(pc.utf8_trim(texts, characters=BLANKS), "")
        lengths = pc.if_else(empty, 0, lengths)
        elements = pc.if_else(pc.or_kleene(empty, texts.is_null()), None, lists)
        try:
            values = self._element.read(elements.flatten())
        except BadValue as error:
            raise BadValue(pc.list_parent_indices(elements)[error.row].as_py(), error) from error
        return list_column(lengths, values)

    def _value(self, text: str) -> Any:
        if not text.strip(BLANKS):
            return []
        return [self._element.value(part) for part in (text.split(self._separator) if self._separator else [text])]


class _Row(FieldReader):
    def __init__(
        self,
        null: str | None,
        lenient: bool,
        *,
        names: Sequence[str],
        parts: Sequence[FieldReader],
        separator: str,
        drops_parts: bool,
        arrow: pa.DataType,
    ) -> None:
        super().__init__(null, lenient)
        self._names = names
        self._parts = parts
        self._separator = separator
        self._drops = drops_parts or lenient
        self._arrow = arrow

    def _read(self, texts: pa.Array) -> pa.Array:
        texts = pc.if_else(pc.equal(pc.utf8_trim(texts, characters=BLANKS), ""), None, texts)
        width = len(self._parts)
        lists = pc.split_pattern(texts, self._separator)
        lengths = pc.list_value_length(lists)
        few, many = pc.less(lengths, width), pc.greater(lengths, width)
        wrong = few if self._drops else pc.or_(few, many)
        if not self._lenient and pc.any(wrong).as_py():  # otherwise parts that are missing are NULL
            row = wrong.index(True).as_py()
            raise BadValue(row, self._wrong(lengths[row].as_py()))
        valid = lists.is_valid()
        fields = pc.list_slice(lists, 0, width, return_fixed_size_list=True).flatten()
        where = pc.if_else(valid, pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1), None)
        columns = []
        for index, part in enumerate(self._parts):
            own = fields.take(pa.array(range(index, len(fields), width), pa.int64()))
            try:
                columns.append(part.read(own).take(where))
            except BadValue as error:
                raise BadValue(pc.indices_nonzero(valid)[error.row].as_py(), error) from error
        mask = lists.is_null() if lists.null_count else None
        return pa.StructArray.from_arrays(columns, fields=list(self._arrow), mask=mask)

    def _value(self, text: str) -> Any:
        if not text.strip(BLANKS):
            return None
        parts: list[str | None] = list(text.split(self._separator))
        missing = len(self._parts) - len(parts)
        if (missing > 0 and not self._lenient) or (missing < 0 and not self._drops):
            raise ValueError(self._wrong(len(parts)))
        parts += [None] * missing
        return {
            name: None if part is None else field.value(part)
            for name, field, part in zip(self._names, self._parts, parts)
        }

    def _wrong(self, count: int) -> str:
        return f"{len(self._parts)} fields expected in a nested row, but there are {count}"


@dataclass(frozen=True)
class FieldReaders:
    """Makes readers of fields that have one dialect.

    :ivar null: the text of NULL.
    :ivar separator: between the elements of arrays and rows; "": an array has at most one element.
    :ivar lenient: what does not fit is NULL.
    """

    rules: CsvRules
    null: str | None
    separator: str
    lenient: bool = False

    def of(self, kind: DataType) -> FieldReader:
        """:raises NoForm: for a type that CSV cannot hold."""
        family = family_of(kind)
        if family is Family.TEXT:
            return _Text(self.null, self.lenient)
        if family is Family.ARRAY:
            (part,) = parts_of(kind)
            return _Array(self.null, self.lenient, element=self._part(part, kind), separator=self.separator)
        if isinstance(kind, t.RowType):
            parts = [self._part(part, kind) for part in parts_of(kind)]
            return self._row(kind.names, parts, arrow_type(kind))
        make = self.rules.values.get(family)
        if make is None:
            raise NoForm(f"values of {kind} have no form in CSV")
        by_column = family in self.rules.by_column
        return _Simple(
            self.null,
            self.lenient,
            arrow=arrow_type(kind),
            parse=make(kind),
            trims=family in self.rules.trimmed,
            empty_is_value=family is Family.BYTES,
            read_column=(lambda texts: values_of_texts(texts, kind, SQL)) if by_column else None,
            number=arrow_type(kind) if family in (Family.INTEGER, Family.APPROXIMATE) else None,
        )

    def _part(self, part: DataType, kind: DataType) -> FieldReader:
        if family_of(part) in (Family.ARRAY, Family.ROW):
            raise NoForm(f"CSV has no form for arrays and rows inside of {kind}")
        return self.of(part)

    def _row(self, names: Sequence[str], parts: Sequence[FieldReader], arrow: pa.DataType) -> FieldReader:
        return _Row(
            self.null,
            self.lenient,
            names=names,
            parts=parts,
            separator=self.separator,
            drops_parts=self.rules.drops_parts,
            arrow=arrow,
        )

    def of_arrow(self, type_: pa.DataType) -> FieldReader:
        """The reader of a column whose type streams declare: also of ints of any size, and of nothing declared.

        :raises TypeError: for a type that CSV cannot hold.
        """
        if type_ == ANY:
            return _Text(self.null, self.lenient)
        if pa.types.is_list(type_):
            element = self._inner(type_.value_type, type_)
            return _Array(self.null, self.lenient, element=element, separator=self.separator)
        if pa.types.is_struct(type_):
            parts = [self._inner(field.type, type_) for field in type_]
            return self._row([field.name for field in type_], parts, type_)
        if type_ == BIG_INT:
            return _Simple(self.null, self.lenient, arrow=type_, parse=parse_any_whole, trims=True)
        if pa.types.is_unsigned_integer(type_):
            return _Simple(
                self.null, self.lenient, arrow=type_, parse=lambda text: unsigned(text, type_.bit_width), trims=True
            )
        if pa.types.is_map(type_):
            raise NoForm(f"CSV has no text for values of {type_}")
        return self.of(from_arrow_type(type_))

    def _inner(self, type_: pa.DataType, outer: pa.DataType) -> FieldReader:
        if pa.types.is_nested(type_):
            raise NoForm(f"CSV has no form for arrays and rows inside of {outer}")
        return self.of_arrow(type_)


_DAY = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_JAVA_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]{1,9}))?")


def _day(text: str) -> dt.date:
    plain = text_columns.plain_date(text)
    if plain is not None:
        return plain
    match = _DAY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a date: {text!r}")
    return dt.date(*map(int, match.groups()))


def _single(kind: t.FloatType) -> Parse:
    read = number_parser(kind)
    return lambda text: single(read(text))


_PARSERS: ByFamily = {
    Family.INTEGER: lambda kind: lambda text: parse_whole(text, kind.bits),
    Family.MONTHS: lambda kind: lambda text: parse_whole(text, 32),
    Family.SPAN: lambda kind: lambda text: parse_whole(text, 64) * 1000,
    Family.APPROXIMATE: lambda kind: _single(kind) if isinstance(kind, t.FloatType) else number_parser(kind),
    Family.DECIMAL: number_parser,
    Family.BOOLEAN: lambda kind: parse_boolean,
    Family.DATE: lambda kind: _day,
    Family.TIME: lambda kind: lambda text: text_columns.parse_clock(text, kind.precision),
    Family.TIMESTAMP: lambda kind: lambda text: text_columns.parse_timestamp(text, SQL, kind.precision),
    Family.INSTANT: lambda kind: lambda text: text_columns.parse_instant(text, SQL, kind.precision),
    Family.BYTES: lambda kind: base64_value,
    Family.NULL: lambda kind: str,
}

TABLES = CsvRules(
    _PARSERS,
    by_column=frozenset(
        {*WHOLE, Family.APPROXIMATE, Family.DECIMAL, Family.BOOLEAN, Family.DATE, Family.TIME}
        | {Family.TIMESTAMP, Family.INSTANT, Family.BYTES}
    ),
    trimmed=frozenset({*WHOLE, Family.APPROXIMATE, Family.BOOLEAN, Family.TIMESTAMP, Family.INSTANT, Family.BYTES}),
    drops_parts=True,
)
"""Tables, and files that ``CsvReaderFormat`` reads."""


def _java_clock(text: str) -> dt.time:
    """As ``java.sql.Time``, and with a fraction of a second: one digit is enough for hour, minute and second."""
    match = _JAVA_CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time: {text!r}")
    hour, minute, second, fraction = match.groups()
    return dt.time(int(hour), int(minute), int(second), int((fraction or "").ljust(6, "0")[:6]))


def _java_timestamp(text: str) -> dt.datetime:
    """As ``java.sql.Timestamp``: one digit is enough for month, day, hour, minute and second."""
    plain = text_columns.plain_timestamp(text) if text[10:11] == " " else None
    if plain is not None:
        return plain
    day, separator, time = text.partition(" ")
    if not separator:
        raise ValueError(f"not a timestamp: {text!r} (wanted: 2020-12-30 12:13:14.123)")
    return dt.datetime.combine(_day(day), _java_clock(time))


def _java_decimal(kind: t.DecimalType) -> Parse:
    """``Types.BIG_DEC`` has no scale: all digits stay. Others are rounded, as those of tables."""
    if (kind.precision, kind.scale) != BIG_DEC:
        return number_parser(kind)  # type: ignore[no-any-return]
    return exact_decimal


BIG_DEC = (38, 18)
"""precision and scale that stand for ``Types.BIG_DEC``"""

ROWS = replace(
    TABLES,
    values={
        **_PARSERS,
        Family.DECIMAL: _java_decimal,
        Family.TIME: lambda kind: _java_clock,
        Family.TIMESTAMP: lambda kind: _java_timestamp,
    },
    by_column=TABLES.by_column - {Family.DECIMAL, Family.TIME, Family.TIMESTAMP},
    trimmed=TABLES.trimmed | {Family.DECIMAL},
    drops_parts=False,
)
"""Messages of rows: ``CsvRowDeserializationSchema``."""
