"""Columns of text of CSV as columns of values, and back; and whole lines read by Arrow at once, only the columns that
are wanted, where Arrow reads them as Flink does.

Whatever is unusual in a block (an escape, a quote where none belongs, a value that does not fit) makes it None, and is
left to ``CsvFields``, which looks at messages.
"""

from __future__ import annotations

import base64
import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from millrace.formats.csv_schema import CsvDialect
from millrace.formats.tables import text_columns
from millrace.formats.tables.format_options import NoForm
from millrace.formats.tables.json_format import base64_texts, millisecond_texts
from millrace.formats.tables.message_reading import is_few
from millrace.formats.tables.text_columns import (
    SQL,
    decimal_texts,
    float_texts,
    list_column,
    number_parser,
    parse_whole,
    relisted,
    texts_of_few,
    values_of_texts,
)
from millrace.formats.text_values import parse_boolean
from millrace.relational.nodes import Schema
from millrace.relational.type_table import WHOLE, ByFamily, Family, arrow_type, family_of, parts_of
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
                pc.list_parent_indices(lists) if self._family is Family.ARRAY else pc.indices_nonzero(lists.is_valid())
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
    Family.TIME: lambda kind: lambda text: text_columns.parse_clock(text, kind.precision),
    Family.TIMESTAMP: lambda kind: lambda text: text_columns.parse_timestamp(text, SQL, kind.precision),
    Family.INSTANT: lambda kind: lambda text: text_columns.parse_instant(text, SQL, kind.precision),
    Family.BYTES: lambda kind: lambda text: base64.b64decode(text, validate=True),
    **dict.fromkeys((Family.TEXT, Family.NULL), lambda kind: str),
}


_LINE_END = 0x0A
_HEXADECIMAL = np.uint16(int.from_bytes(b"0X", "little"))
_UPPER_CASE = np.uint16(0xDFFF)
"""makes an x in the second place an X"""

Bytes: TypeAlias = npt.NDArray[np.uint8]
Places: TypeAlias = npt.NDArray[np.intp]


class CsvBlocks:
    """:param columns: of the lines.
    :param wanted: the places of those that are read.
    """

    def __init__(self, columns: Schema, wanted: Sequence[int], dialect: CsvDialect) -> None:
        self._width = len(columns)
        self._types = [columns[place].type for place in wanted]
        self._names = [f"f{place}" for place in wanted]
        self._dialect = dialect
        plain = [dialect.column_separator, dialect.quote_char or '"', dialect.escape_char or "\\"]
        self._possible = not dialect.allow_comments and all(len(char) == 1 and char.isascii() for char in plain)
        self._readers = [CsvColumn(kind, dialect.null_value, dialect.array_separator, False) for kind in self._types]

    def read(self, block: bytes) -> tuple[list[pa.Array], int] | None:
        """(the columns that are wanted, how many lines there are); None if the block needs a closer look."""
        if not self._possible or not block:
            return None
        if b"\r" in block and not self._is_quoted(block):
            block = block.replace(b"\r\n", b"\n")
        if b"\r" in block or self._is_escaped(block) or not _is_text(block):
            return None
        data = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(data == _LINE_END)
        if data[0] == _LINE_END or (np.diff(ends) == 1).any():
            return None
        lines = self._lines(data, ends, self._is_quoted(block))
        if lines is None:
            return None
        count, joined = lines
        hexadecimal = has_hexadecimal(data)
        # One column tells how many lines there are, if none is wanted.
        names = self._names or ["f0"]
        kinds = [_kind_in(kind, hexadecimal) for kind in self._types] or [pa.string()]
        try:
            table = self._parsed(block, joined, names, kinds)
            if table.num_rows != count:
                return None
            return [self._column(*each) for each in zip(table.columns, self._readers)], count
        except (pa.ArrowException, ValueError):
            return None

    def _is_escaped(self, block: bytes) -> bool:
        escape = self._dialect.escape_char
        return escape is not None and escape.encode() in block

    def _is_quoted(self, block: bytes) -> bool:
        quote = self._dialect.quote_char
        return quote is not None and quote.encode() in block

    def _lines(self, data: Bytes, ends: Places, quoted: bool) -> tuple[int, bool] | None:
        """(how many records there are, whether one has a line end inside); None if quotes are where none belong.

        :param ends: where lines end.
        """
        count = len(ends) + int(data[-1] != _LINE_END)
        quote = self._dialect.quote_char
        if quote is None or not quoted:
            return count, False
        places = np.flatnonzero(data == ord(quote))
        if len(places) % 2:
            return None
        opening, closing = places[::2], places[1::2]
        # A quote inside of a quoted field is written twice: the field seems to end, and the next one to begin at once.
        goes_on = opening[1:] == closing[:-1] + 1
        separator = ord(self._dialect.column_separator)
        before = data[np.maximum(opening - 1, 0)]
        proper = (before == separator) | (before == _LINE_END) | (opening == 0)
        proper[1:] |= goes_on
        after = data[np.minimum(closing + 1, len(data) - 1)]
        ended = (after == separator) | (after == _LINE_END) | (closing == len(data) - 1)
        ended[:-1] |= goes_on
        if not (proper.all() and ended.all()):
            return None
        inside = int((np.searchsorted(places, ends) % 2).sum())
        return count - inside, inside > 0

    def _parsed(self, block: bytes, joined: bool, names: Sequence[str], kinds: Sequence[pa.DataType]) -> Any:
        dialect = self._dialect
        return arrow_csv.read_csv(
            pa.BufferReader(block),
            read_options=arrow_csv.ReadOptions(
                column_names=[f"f{place}" for place in range(self._width)],
                use_threads=False,
                block_size=len(block) + 1,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.column_separator,
                quote_char=dialect.quote_char or False,
                newlines_in_values=joined,
                ignore_empty_lines=False,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(names),
                column_types=dict(zip(names, kinds)),
                null_values=["", *([] if dialect.null_value is None else [dialect.null_value])],
                strings_can_be_null=False,
            ),
        )

    def _column(self, found: pa.ChunkedArray, reader: CsvColumn) -> pa.Array:
        column = found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()
        if pa.types.is_string(column.type):
            return reader.read(column)
        if pa.types.is_floating(column.type) and pc.all(pc.is_finite(column)).as_py() is False:
            raise ValueError("what is no finite number may be written in more ways than one")
        return column


def _kind_in(kind: DataType, hexadecimal: bool) -> pa.DataType:
    """As what Arrow reads a column: a text, if it would not read numbers as Flink does.

    :param hexadecimal: whether there may be texts like 0x10, which are numbers for Arrow.
    """
    family = family_of(kind)
    direct = family is Family.APPROXIMATE or (family is Family.INTEGER and not hexadecimal)
    return arrow_type(kind) if direct else pa.string()


def has_hexadecimal(data: Bytes) -> bool:
    """Whether there is 0x or 0X anywhere. Two characters are one number here: looking for them as text takes longer."""
    for pairs in (data[: len(data) & ~1], data[1 : len(data) - (len(data) & 1 ^ 1)]):
        if ((pairs.view("<u2") & _UPPER_CASE) == _HEXADECIMAL).any():
            return True
    return False


def _is_text(block: bytes) -> bool:
    """Whether all of it is UTF-8: Arrow looks only at the columns that it reads."""
    buffers = [None, pa.py_buffer(np.array([0, len(block)], np.int32)), pa.py_buffer(block)]
    try:
        pa.Array.from_buffers(pa.binary(), 1, buffers).cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


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
    Family.TIME: text_columns.clock_texts,
    Family.TIMESTAMP: lambda column: text_columns.timestamp_texts(column, SQL),
    Family.INSTANT: lambda column: text_columns.timestamp_texts(column, SQL, "Z"),
    Family.SPAN: millisecond_texts,
    Family.BYTES: base64_texts,
}
