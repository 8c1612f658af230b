"""Blocks of lines of CSV read by Arrow at once, only the columns that are wanted, where Arrow reads them as Flink does.

Whatever is unusual in a block (an escape, a quote where none belongs, a value that does not fit) makes it None, and is
left to what looks at records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from millrace.formats.csv_fields import FieldReader
from millrace.formats.csv_schema import CsvDialect

_LINE_END = 0x0A
_HEXADECIMAL = np.uint16(int.from_bytes(b"0X", "little"))
_UPPER_CASE = np.uint16(0xDFFF)
"""makes an x in the second place an X"""

Bytes: TypeAlias = npt.NDArray[np.uint8]
Places: TypeAlias = npt.NDArray[np.intp]


class CsvBlocks:
    """:param readers: of the columns that are wanted.
    :param wanted: the places of these columns.
    :param width: the number of columns that lines have.
    """

    def __init__(self, readers: Sequence[FieldReader], wanted: Sequence[int], width: int, dialect: CsvDialect) -> None:
        self._width = width
        self._readers = readers
        self._names = [f"f{place}" for place in wanted]
        self._dialect = dialect
        plain = [dialect.column_separator, dialect.quote_char or '"', dialect.escape_char or "\\"]
        self.is_possible = not dialect.allow_comments and all(len(char) == 1 and char.isascii() for char in plain)

    def read(self, block: bytes) -> tuple[list[pa.Array], int] | None:
        """(the columns that are wanted, how many lines there are); None if the block needs a closer look."""
        if not self.is_possible or not block:
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
        kinds = [_kind_in(reader, hexadecimal) for reader in self._readers] or [pa.string()]
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

    def _columns_in(self, block: bytes) -> int:
        """How many fields lines have; behind those of the columns there may be more, if the dialect drops them."""
        if not self._dialect.drop_more_fields:
            return self._width
        return max(self._width, block.partition(b"\n")[0].count(self._dialect.column_separator.encode()) + 1)

    def _parsed(self, block: bytes, joined: bool, names: Sequence[str], kinds: Sequence[pa.DataType]) -> Any:
        dialect = self._dialect
        return arrow_csv.read_csv(
            pa.BufferReader(block),
            read_options=arrow_csv.ReadOptions(
                column_names=[f"f{place}" for place in range(self._columns_in(block))],
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

    def _column(self, found: pa.ChunkedArray, reader: FieldReader) -> pa.Array:
        column = found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()
        if pa.types.is_string(column.type):
            return reader.read(column)
        if pa.types.is_floating(column.type) and pc.all(pc.is_finite(column)).as_py() is False:
            raise ValueError("what is no finite number may be written in more ways than one")
        return column


def _kind_in(reader: FieldReader, hexadecimal: bool) -> pa.DataType:
    """As what Arrow reads a column: a text, if it would not read numbers as Flink does.

    :param hexadecimal: whether there may be texts like 0x10, which are numbers for Arrow.
    """
    number = reader.number
    return pa.string() if number is None or (hexadecimal and pa.types.is_integer(number)) else number


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
