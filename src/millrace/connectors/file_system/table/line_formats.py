"""Line formats of a table's files, one message a line: JSON, changelogs in JSON, CSV, raw values.

Blocks of bytes are cut into lines, or into records whose quoted fields may hold line ends, as Arrow arrays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.configuration import to_boolean
from millrace.common.files.file_access import BEGINNING, record_limit, too_large
from millrace.connectors.file_system.file_format import LargeLine, LineBlocks, SplitRecords, where
from millrace.connectors.file_system.file_stream import FileSplit, RecordError, is_compressed
from millrace.connectors.file_system.table.table_format import StreamTableFormat
from millrace.formats.tables.format_options import IGNORE, MalformedError
from millrace.formats.tables.message_reading import from_origin, set_aside, sets_aside, with_dead_letters
from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import DecodingFormat, EncodingFormat, FormatContext, FormatFactory

_LINE_END, _RETURN = 0x0A, 0x0D


@dataclass(frozen=True)
class Quotes:
    """How fields are quoted. A line end between two quotes is part of a field."""

    quote: bytes
    escape: bytes | None = None
    """what takes the meaning from the character behind it"""


@dataclass(frozen=True)
class MessageLines:
    """How the messages of a file lie in it."""

    quotes: Quotes | None = None
    """how a field can hold line ends; None: a line end always ends a message"""
    blank: bool = False
    """whether an empty line is a message"""
    headless: bool = False
    """whether the first line of a file is no message"""
    marked: bool = True
    """whether a mark (BOM) at the beginning of a file says its encoding"""
    returns: bool = False
    """whether a lone ``\\r`` ends a line"""


def lines_of(block: bytes, returns: bool = False) -> pa.Array:
    """The lines of a block, without their ends (``\\n`` or ``\\r\\n``).

    :param returns: whether a lone ``\\r`` ends a line, too.
    """
    data = np.frombuffer(block, np.uint8)
    return _cut(block, data, _line_ends(block, data, returns))


def records_of(block: bytes, quotes: Quotes, whole: bool) -> tuple[pa.Array, int]:
    """(the records, where the last one ends). They end with ``\\n``, ``\\r\\n`` or ``\\r``; what follows the last one
    belongs to a record that goes on in the next block.

    :param whole: nothing follows, so what is left is a record, too.
    """
    data = np.frombuffer(block, np.uint8)
    ends = _line_ends(block, data, True)
    if quotes.quote in block:
        # A quote inside a quoted field is written twice, so outside of quotes their number is even.
        opened = np.searchsorted(_quote_places(block, data, quotes), ends)
        ends = ends[opened % 2 == 0]
    if whole:
        return _cut(block, data, ends), len(block)
    end = int(ends[-1]) + 1 if len(ends) else 0
    return _cut(block[:end], data[:end], ends), end


def _line_ends(block: bytes, data: Any, returns: bool) -> Any:
    """The places of the last bytes of lines."""
    if not returns or b"\r" not in block:
        return np.flatnonzero(data == _LINE_END)
    before_line_end = np.append(data[1:] == _LINE_END, False)
    return np.flatnonzero((data == _LINE_END) | ((data == _RETURN) & ~before_line_end))


def _quote_places(block: bytes, data: Any, quotes: Quotes) -> Any:
    if quotes.escape is None or quotes.escape not in block:
        return np.flatnonzero(data == quotes.quote[0])
    escaped = re.compile(re.escape(quotes.escape) + b"." + b"|" + re.escape(quotes.quote), re.DOTALL)
    return np.array([found.start() for found in escaped.finditer(block) if found[0] == quotes.quote], np.int64)


def _cut(block: bytes, data: Any, ends: Any) -> pa.Array:
    """The pieces of a block between line ends; a last piece without end counts if it is not empty."""
    starts = np.concatenate([[0], ends + 1])
    stops = np.concatenate([ends, [len(block)]])
    if starts[-1] == stops[-1]:
        starts, stops = starts[:-1], stops[:-1]
    if not len(starts):
        return pa.array([], pa.binary())
    before_line_end = (stops == len(data)) | (data[np.minimum(stops, len(data) - 1)] == _LINE_END)
    returns = before_line_end & (stops > starts) & (data[np.maximum(stops - 1, 0)] == _RETURN)
    stops = stops - returns
    # Every second element is what lies between two lines.
    offsets = np.empty(2 * len(starts) + 1, np.int32)
    offsets[0:-1:2], offsets[1:-1:2], offsets[-1] = starts, stops, stops[-1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    both = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)
    return both.take(pa.array(np.arange(0, len(offsets) - 1, 2)))


FETCH_BYTES = 1 << 22

CSV_HEADER = "csv.header"
_ANY_LINE_END = re.compile(rb"\r\n|\r|\n")


class MessageTableFormat(StreamTableFormat):
    """A message format on files.

    :param context: of the columns that files have.
    :param projects: whether the format can read some columns without the others.
    :param dead_letters: the options of the table.
    """

    def __init__(
        self,
        factory: FormatFactory,
        context: FormatContext,
        projects: bool,
        lines: MessageLines,
        dead_letters: Mapping[str, str] | None = None,
    ) -> None:
        self._factory = factory
        self._dead_letters = dead_letters or {}
        self._context = context
        self._projects = projects
        self._lines = lines
        self._names = [column.name for column in context.columns]
        self._encoding: EncodingFormat | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encoding": None}

    def for_reading(self) -> MessageTableFormat:
        """This format, which says what kinds of rows it gives."""
        decoding = with_dead_letters(self._factory.decoding(self._context), self._dead_letters, self._context.table)
        self.kinds = decoding.kinds
        return self

    def for_writing(self) -> MessageTableFormat:
        """This format, which says what kinds of rows it takes."""
        self.written_kinds = self._factory.encoding(self._context).kinds
        return self

    def is_splittable(self, path: str) -> bool:
        return self._lines.quotes is None and not is_compressed(path)

    def open(self, split: FileSplit, columns: Schema, filters: Sequence[Rex] = ()) -> SplitRecords[Rows]:
        read = columns if self._projects and columns else self._context.columns
        context = FormatContext(
            self._context.table, read, self._context.options, self._context.metadata, self._context.configuration
        )
        decoding = with_dead_letters(self._factory.decoding(context), self._dead_letters, self._context.table)
        names = [column.name for column in read]
        places = [names.index(column.name) for column in columns]
        narrowed = decoding.narrowed(places)
        if narrowed is not None:
            decoding, places = narrowed, list(range(len(places)))
        decoding = from_origin(decoding, split.path)
        lenient = to_boolean(self._context.options.get(IGNORE, "false"))
        return _MessageRecords(split, decoding, places, self._lines, self._names, lenient)

    def encode(self, rows: Rows) -> bytes:
        if self._encoding is None:
            self._encoding = self._factory.encoding(self._context)
        messages = self._encoding.encode(rows).drop_null().cast(pa.binary())
        return b"".join([part for message in messages.to_pylist() for part in (message, b"\n")])


class _MessageRecords(SplitRecords[Rows]):
    """The messages of a split; the position is a byte."""

    def __init__(
        self,
        split: FileSplit,
        decoding: DecodingFormat,
        places: Sequence[int],
        lines: MessageLines,
        names: Sequence[str],
        lenient: bool,
    ) -> None:
        self._split = split
        self._decoding = decoding
        self._places = places
        self._lines = lines
        self._names = names
        self._leaves_out = lenient or sets_aside(decoding)
        quotes = lines.quotes
        # What an escape character means can't be seen by counting: there such a line stays an error.
        countable = quotes is None or quotes.escape is None
        self._blocks = LineBlocks(
            split,
            FETCH_BYTES,
            marked=lines.marked,
            returns=lines.returns,
            left_out=self._leave_out if self._leaves_out and countable else None,
            counted=b"" if quotes is None else quotes.quote,
        )
        self._limit = record_limit()
        self._rest = b""
        """beginning of a message that continues in the next block, inside of quotes"""
        self._large: LargeLine | None = None
        """a message over the size limit that continues in the next block; ``_rest`` is then a quote"""

    def _leave_out(self, line: LargeLine) -> None:
        """A line is too large. Inside of quotes it is a part of a message, which may go on behind it."""
        opened, large = bool(self._rest), self._large or LargeLine(self._rest[:BEGINNING], len(self._rest))
        self._large = large.and_then(line.beginning, line.length)
        if self._lines.quotes is not None and opened != line.quotes % 2:
            self._rest = self._lines.quotes.quote
        else:
            self._rest = b""
            self._end_large(line.end)

    def _end_large(self, end: int = 0) -> None:
        """The message that is too large has ended; its end has so many bytes of those that were counted."""
        assert self._large is not None
        beginning, length = self._large.beginning, self._large.length - end
        self._large = None
        self.parse_errors += 1
        set_aside(self._decoding, beginning[:length], length, too_large("a record", self._limit))

    def read_batch(self) -> list[Rows] | None:
        block = self._blocks.next_block()
        if block is None and not self._rest:
            return None
        start = self.position() - len(block or b"")
        headless = self._lines.headless and start == self._blocks.head
        if not headless and block is not None and self._large is None:
            rows = self._decoding.decode_lines(self._rest + block)
            if rows is not None:
                self._rest = b""
                return [self._projected(rows)] if len(rows) else []
        every = self._messages(block)
        messages = every.slice(1) if headless else every
        if not self._lines.blank:
            messages = messages.filter(pc.greater(pc.binary_length(messages), 0))
        if not len(messages):
            return []
        try:
            decoded = self._decoding.decode(messages)
        except MalformedError as error:
            raise self._placed(error, every.to_pylist(), start, headless) from error
        except ValueError as error:
            raise RecordError(f"messages from {where(self._split, start)} on: {error}") from error
        self.parse_errors += decoded.skipped
        rows = self._projected(decoded.rows)
        return [rows] if len(rows) else []

    def _placed(self, error: MalformedError, every: list[bytes], start: int, headless: bool) -> RecordError:
        """The error with its line. ``every``: the messages that were read, of which some were not to be decoded."""
        decoded = [at for at, each in enumerate(every) if at >= headless and (self._lines.blank or each)]
        wrong = decoded[error.number]
        lines = sum(1 + len(_ANY_LINE_END.findall(each)) for each in every[:wrong])
        at_head = start == self._blocks.head and wrong == 0
        is_header = at_head and re.findall(r"\w+", every[wrong].decode("utf-8", "replace")) == self._names
        advice = f". That is a line of names: '{CSV_HEADER}' = 'true' takes it for one" if is_header else ""
        return RecordError(f"{error.at(where(self._split, start, lines))}{advice}")

    def _projected(self, rows: Rows) -> Rows:
        return rows.with_columns([rows.batch.column(place) for place in self._places])

    def _messages(self, block: bytes | None) -> pa.Array:
        if self._lines.quotes is None:
            return lines_of(block or b"", self._lines.returns)
        content, self._rest = self._rest + (block or b""), b""
        messages, end = records_of(content, self._lines.quotes, whole=block is None)
        self._rest = content[end:]
        if self._large is not None:
            return self._behind_large(messages, block or b"")
        if len(self._rest) > self._limit:
            if not self._leaves_out:
                raise RecordError(f"{where(self._split, self.position())}: {too_large('a record', self._limit)}")
            self._large = LargeLine(self._rest[:BEGINNING], len(self._rest))
            self._rest = self._lines.quotes.quote
        return messages

    def _behind_large(self, messages: pa.Array, block: bytes) -> pa.Array:
        """The messages behind the one that is too large, which is the first one of these if it ends here."""
        assert self._large is not None and self._lines.quotes is not None
        if not len(messages):
            self._large = self._large.and_then(block, len(block))
            self._rest = self._lines.quotes.quote
            return messages
        rest = messages[0].as_py()[1:]  # without the quote that stood for what was there before
        self._large = self._large.and_then(rest, len(rest))
        self._end_large()
        return messages.slice(1)

    def position(self) -> int:
        return self._blocks.position - (len(self._rest) if self._large is None else self._large.length)

    def close(self) -> None:
        self._blocks.close()
