"""Columns of text of CSV as columns of values."""

from __future__ import annotations

import base64
import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.csv_values import parse_boolean
from millrace.formats.tables import times
from millrace.formats.tables.lists import list_column
from millrace.formats.tables.numbers import number_parser, parse_whole
from millrace.formats.tables.pieces import is_few
from millrace.formats.tables.problems import NoForm
from millrace.formats.tables.text_columns import values_of_texts
from millrace.formats.tables.times import SQL
from millrace.relational.arrow import arrow_type
from millrace.relational.type_table import ByFamily, Family, family_of, parts_of
from millrace.relational.types import DataType

_DAY = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_WITH_PARTS = (Family.ARRAY, Family.ROW)


class BadValue(ValueError):
    """A text that is no value of its type."""

    def __init__(self, row: int, reason: object) -> None:
        super().__init__(str(reason))
        self.row = row


class CsvColumn:
    """Reads the fields of one column.

    :param null: the text of NULL; for what is neither text nor bytes an empty field is NULL as well.
    :param separator: between the elements of arrays and rows.
    :param lenient: what does not fit is NULL.
    :raises NoForm: for a type that CSV cannot hold.
    """

    def __init__(self, kind: DataType, null: str | None, separator: str, lenient: bool) -> None:
        self._kind = kind
        self._null = null
        self._separator = separator
        self._lenient = lenient
        self._family = family_of(kind)
        self._empty_is_value = self._family is Family.BYTES
        parts = parts_of(kind) if self._family in _WITH_PARTS else ()
        if any(family_of(part) in _WITH_PARTS for part in parts):
            raise NoForm(f"CSV has no form for arrays and rows inside of {kind}")
        self._parts = [CsvColumn(part, null, separator, lenient) for part in parts]
        self._parse = None if parts else value_parser(kind)

    def read(self, texts: pa.Array) -> pa.Array:
        """The values of texts (NULL: there was no field).

        :raises BadValue: for the first one that does not fit.
        """
        if self._null is not None:
            texts = pc.if_else(pc.equal(texts, self._null), None, texts)
        if self._family is Family.TEXT:
            return texts
        if self._family in _WITH_PARTS:
            return self._array(texts) if self._family is Family.ARRAY else self._row(texts)
        if is_few(len(texts)):
            return self._one_by_one([each and each.strip() for each in texts.to_pylist()])
        texts = pc.utf8_trim_whitespace(texts)
        if not self._empty_is_value:
            texts = pc.if_else(pc.equal(texts, ""), None, texts)
        try:
            return values_of_texts(texts, self._kind, SQL)
        except (pa.ArrowException, ValueError):
            return self._one_by_one(texts.to_pylist())

    def _one_by_one(self, texts: list[str | None]) -> pa.Array:
        assert self._parse is not None
        values: list[Any] = []
        for row, text in enumerate(texts):
            try:
                if text is None or (not text and not self._empty_is_value):
                    values.append(None)
                else:
                    values.append(self._parse(text))
            except ValueError as error:
                if not self._lenient:
                    raise BadValue(row, error) from error
                values.append(None)
        return pa.array(values, arrow_type(self._kind))

    def _array(self, texts: pa.Array) -> pa.Array:
        lists = pc.split_pattern(texts, self._separator)
        lengths = pc.list_value_length(lists)
        empty = pc.equal(pc.utf8_trim_whitespace(texts), "")
        lengths = pc.if_else(empty, 0, lengths)
        elements = pc.if_else(pc.or_kleene(empty, texts.is_null()), None, lists)
        values = self._of_parts(0, elements.flatten(), elements)
        return list_column(lengths, values)

    def _row(self, texts: pa.Array) -> pa.Array:
        texts = pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), None, texts)
        lists = pc.split_pattern(texts, self._separator)
        wrong = pc.not_equal(pc.list_value_length(lists), len(self._parts)).fill_null(False)
        if pc.any(wrong).as_py():
            if not self._lenient:
                row = wrong.index(True).as_py()
                count = len(lists[row])
                raise BadValue(row, f"{len(self._parts)} fields expected in {self._kind}, but there are {count}")
            lists = pc.if_else(wrong, None, lists)
        fields = lists.flatten()
        valid = lists.is_valid()
        width = len(self._parts)
        columns = []
        for index in range(width):
            own = fields.take(pa.array(range(index, len(fields), width), pa.int64()))
            where = pc.if_else(valid, pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1), None)
            columns.append(self._of_parts(index, own, lists).take(where))
        mask = lists.is_null() if lists.null_count else None
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(self._kind)), mask=mask)

    def _of_parts(self, index: int, texts: pa.Array, lists: pa.Array) -> pa.Array:
        """The values of elements; an error names the row and not the element."""
        try:
            return self._parts[index].read(texts)
        except BadValue as error:
            rows = (
                pc.list_parent_indices(lists)
                if self._family is Family.ARRAY
                else pc.indices_nonzero(lists.is_valid())
            )
            raise BadValue(rows[error.row].as_py(), error) from error


def value_parser(kind: DataType) -> Callable[[str], Any]:
    """From the text of one field.

    :raises NoForm: for a type that CSV cannot hold.
    """
    make = _PARSERS.get(family_of(kind))
    if make is None:
        raise NoForm(f"values of {kind} have no form in CSV")
    found: Callable[[str], Any] = make(kind)
    return found


def _day(text: str) -> dt.date:
    match = _DAY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a date: {text!r}")
    return dt.date(*map(int, match.groups()))


_PARSERS: ByFamily = {
    Family.INTEGER: lambda kind: lambda text: parse_whole(text, kind.bits),
    Family.MONTHS: lambda kind: lambda text: parse_whole(text, 32),
    Family.SPAN: lambda kind: lambda text: parse_whole(text, 64) * 1000,
    **dict.fromkeys((Family.APPROXIMATE, Family.DECIMAL), number_parser),
    Family.BOOLEAN: lambda kind: parse_boolean,
    Family.DATE: lambda kind: _day,
    Family.TIME: lambda kind: lambda text: times.parse_clock(text, kind.precision),
    Family.TIMESTAMP: lambda kind: lambda text: times.parse_timestamp(text, SQL, kind.precision),
    Family.INSTANT: lambda kind: lambda text: times.parse_instant(text, SQL, kind.precision),
    Family.BYTES: lambda kind: lambda text: base64.b64decode(text, validate=True),
    **dict.fromkeys((Family.TEXT, Family.NULL), lambda kind: str),
}
