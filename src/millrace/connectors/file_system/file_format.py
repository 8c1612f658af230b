"""Formats that turn files into elements: ``StreamFormat`` (records in a stream of bytes), ``BulkFormat``, lines of
text.

``LineBlocks`` gives the whole lines of a split in blocks of bytes; formats of one record a line read from it, as
``TextLineFormat`` does.
"""

from __future__ import annotations

import codecs
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.files.file_access import BEGINNING, record_limit, too_large
from millrace.common.typeinfo import TypeInformation, Types
from millrace.connectors.file_system.file_stream import FileSplit, RecordError, is_compressed, open_stream, open_text

# The contract

T = TypeVar("T")


class SplitRecords(ABC, Generic[T]):
    """The records of one split, batch by batch."""

    parse_errors: int = 0
    """Records skipped because they could not be parsed (with ``ignore_parse_errors``)."""

    @abstractmethod
    def read_batch(self) -> list[T] | None:
        """The next records (some thousands, perhaps none after skipping), None at the end of the split."""

    @abstractmethod
    def position(self) -> int:
        """Where ``FileFormat.open`` has to go on so that the records after the last batch follow."""

    def close(self) -> None: ...


class FileFormat(ABC, Generic[T]):
    """Opens splits. Instances are pickled into every task."""

    @abstractmethod
    def open(self, split: FileSplit) -> SplitRecords[T]:
        """The records of ``split`` from ``split.position`` on (from its start when that is None)."""

    def is_splittable(self, path: str) -> bool:
        """Whether a large file may be read as several splits."""
        return False

    def get_produced_type(self) -> TypeInformation | None:
        """The records' ``TypeInformation``, None when the format does not know it."""
        return None


class StreamFormat(FileFormat[T], Generic[T]):
    """A format of records one after the other in a stream of bytes; decompresses by the file's extension.

    >>> StreamFormat.text_line_format("UTF-8").get_produced_type()
    String
    """

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8", errors: str = "replace") -> StreamFormat[str]:
        """Lines of text, without their line ends (``\\n``, ``\\r\\n`` or ``\\r``).

        :param charset_name: the charset, under its Java or Python name.
        :param errors: "replace" puts U+FFFD for undecodable bytes, as Flink does; "strict" fails and names the place.
        """

        return TextLineFormat(charset_name, errors)


class BulkFormat(FileFormat[T], Generic[T]):
    """A format of whole batches of records, such as Parquet.

    >>> row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
    >>> isinstance(ParquetColumnarRowInputFormat(row), BulkFormat)
    True
    """


# Blocks of whole lines

FETCH_SIZE = 1 << 18
"""Bytes a read. A block becomes one batch of records, so this also bounds how far an epoch overshoots its budget."""


class LargeLine(NamedTuple):
    """A line that is larger than a record may be."""

    beginning: bytes
    length: int
    """bytes of the line so far, with its line end"""
    quotes: int = 0
    """how often the line contains the counted character"""
    tail: bytes = b""
    """last two bytes of the line"""

    @property
    def end(self) -> int:
        """Number of bytes of the line end."""
        return 2 if self.tail == b"\r\n" else int(self.tail[-1:] in (b"\n", b"\r"))

    def and_then(self, content: bytes, length: int, counted: bytes = b"") -> LargeLine:
        """This line with more content appended.

        :param content: the beginning of the additional content, or all of it.
        :param length: bytes of the additional content.
        :param counted: a byte whose occurrences are counted.
        """
        beginning = self.beginning + content[: BEGINNING - len(self.beginning)]
        quotes = self.quotes + (content.count(counted) if counted else 0)
        return LargeLine(beginning, self.length + length, quotes, (self.tail + content[-2:])[-2:])


def where(split: FileSplit, position: int, further: int = 0) -> str:
    """The place for an error's text. Counts lines from the start of the file, so use it on the way out only.

    :param further: lines behind the position.
    """
    try:
        line = 1 + _line_ends(split, position)
    except OSError:
        return f"{split.path}, byte {position}"
    return f"{split.path}, line {line + further}" + (f" (byte {position})" if not further else "")


def _line_ends(split: FileSplit, position: int) -> int:
    """How many lines end before a position: with ``\\n``, ``\\r\\n`` or ``\\r``."""
    found, after_return = 0, False
    stream = open_text(split).stream
    try:
        while position > 0 and (block := stream.read(min(position, FETCH_SIZE))):
            found += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
            found -= after_return and block.startswith(b"\n")
            after_return = block.endswith(b"\r")
            position -= len(block)
    finally:
        stream.close()
    return found


class LineBlocks:
    """The lines that start inside a split, in blocks; a line ends with ``\\n`` (the file's last one perhaps without).

    Positions are bytes from the start of the file, after decompression; of a file in UTF-16 or UTF-32, which is one
    split, of its content as UTF-8.

    :param marked: whether a mark (BOM) at the file's beginning says its encoding, and is no text.
    :param returns: whether a lone ``\\r`` ends a line, too.
    :param left_out: called for each line that is too large, which is left out then; None: such a line is an error.
    :param counted: a byte that is counted in such lines.
    """

    def __init__(
        self,
        split: FileSplit,
        fetch_size: int = FETCH_SIZE,
        *,
        marked: bool = True,
        returns: bool = False,
        left_out: Callable[[LargeLine], None] | None = None,
        counted: bytes = b"",
    ) -> None:
        self._counted = counted
        self._large: LargeLine | None = None
        """the line that is being left out"""
        text = open_text(split, marked)
        self._stream: Any = text.stream
        self._fetch_size = fetch_size
        self._returns = returns
        self._split = split
        self._left_out = left_out
        self._limit = record_limit()
        self._end = None if split.whole or text.converted else split.end
        self._rest = b""
        self._at_end = text.converted and split.offset > 0
        self.head = text.head
        """Where the first line of the file starts."""
        self.position = 0
        """Where the next block starts."""
        try:
            if not self._at_end:
                self._seek(split, text.seekable)
        except BaseException:
            self._stream.close()
            raise

    def _seek(self, split: FileSplit, seekable: bool) -> None:
        if split.position is not None or split.offset <= self.head:
            self._skip_to(max(split.position or 0, self.head), seekable)
        else:
            # The line that is under way at the offset belongs to the split before.
            self._skip_to(split.offset - 1, seekable)
            self._skip_line()

    def _skip_to(self, position: int, seekable: bool) -> None:
        if seekable:
            self._stream.seek(position)
        else:
            rest = position
            while rest > 0 and (block := self._stream.read(min(rest, FETCH_SIZE))):
                rest -= len(block)
        self.position = position

    def _skip_line(self) -> None:
        """Go on behind the next line end."""
        for block in self._fetched():
            cut = self._first_end(block, 0)
            self._grow(block[:cut] if cut else block)
            if cut:
                self.position += cut
                self._rest = block[cut:]
                return
            self.position += len(block)

    def _grow(self, content: bytes | memoryview) -> None:
        """The line that is left out goes on."""
        if self._large is not None:
            self._large = self._large.and_then(bytes(content), len(content), self._counted)

    def next_block(self) -> bytes | None:
        """Some whole lines, None at the end of the split."""
        if self._at_end or (self._end is not None and self.position >= self._end):
            return None
        block = self._read_lines()
        if self._end is not None and self.position + len(block) >= self._end:
            # Keep the line that the last byte of the split lies in, drop those that start behind it.
            cut = self._first_end(block, self._end - 1 - self.position)
            block = block[:cut] if cut else block
            self._at_end = True
        self.position += len(block)
        return block or None

    def _read_lines(self) -> bytes:
        while (found := self._next_lines()) is None:
            self._skip_line()
            large, self._large = self._large, None
            if self._left_out is not None and large is not None:
                self._left_out(large)
            if self._end is not None and self.position >= self._end:
                self._at_end = True
                return b""
        return found

    def _next_lines(self) -> bytes | None:
        """None: the next line is too large, and its beginning is skipped."""
        cut = self._last_end(self._rest)
        if cut:
            block, self._rest = self._rest[:cut], self._rest[cut:]
            return block
        parts: list[bytes | memoryview] = [self._rest]
        size = len(self._rest)
        for data in self._fetched():
            cut = self._last_end(data)
            if cut:
                parts.append(memoryview(data)[:cut])
                self._rest = data[cut:]
                return b"".join(parts)
            parts.append(data)
            size += len(data)
            if size > self._limit:
                if self._left_out is None:
                    raise RecordError(f"{where(self._split, self.position)}: {too_large('a line', self._limit)}")
                self._large = LargeLine(b"", 0)
                for part in parts:
                    self._grow(part)
                self._rest = b""
                self.position += size
                return None
        self._rest = b""
        self._at_end = True
        return b"".join(parts)

    def _fetched(self) -> Iterator[bytes]:
        """What is read next, and what follows; where a ``\\r`` counts, the ``\\n`` behind it comes with it."""
        while data := self._stream.read(self._fetch_size):
            while self._returns and data.endswith(b"\r") and (more := self._stream.read(1)):
                data += more
            yield data

    def _first_end(self, block: bytes, start: int) -> int:
        """Where the line that lies at ``start`` ends, 0: not in this block."""
        end = block.find(b"\n", start) + 1
        lone = block.find(b"\r", start, end or len(block)) + 1 if self._returns else 0
        return lone if lone and block[lone : lone + 1] != b"\n" else end

    def _last_end(self, block: bytes) -> int:
        """Where the last line of a block ends, 0: none does."""
        end = block.rfind(b"\n") + 1
        return max(end, block.rfind(b"\r", end) + 1) if self._returns else end

    def close(self) -> None:
        self._stream.close()


# Lines of text

_STATEFUL = ("utf-7", "hz", "iso2022", "iso-2022")


class TextLineFormat(StreamFormat[str]):
    """Lines without their line ends; see ``StreamFormat.text_line_format``.

    A mark (BOM) at a file's beginning is no text; where the charset is UTF-8, that of UTF-16 or UTF-32 counts for more.
    In a charset whose line end is the byte 0x0A (UTF-8, Latin-1, GBK, ...: all but UTF-16, UTF-32 and the stateful
    ones) reading goes on at a byte position and large files are split; in others lines are counted from the start.

    :raises LookupError: for an unknown charset.
    """

    def __init__(self, charset_name: str = "UTF-8", errors: str = "replace") -> None:
        self._charset = codecs.lookup(charset_name).name
        self._errors = errors
        self._bytewise = "\n".encode(self._charset) == b"\n" and not self._charset.startswith(_STATEFUL)

    def is_splittable(self, path: str) -> bool:
        return self._bytewise and not is_compressed(path)

    def open(self, split: FileSplit) -> SplitRecords[str]:
        if self._bytewise:
            return _BytewiseLines(split, self._charset, self._errors)
        return _CountedLines(split, self._charset, self._errors)

    def get_produced_type(self) -> TypeInformation | None:
        return Types.STRING()


class _BytewiseLines(SplitRecords[str]):
    """Lines cut at the byte 0x0A before they are decoded; the position is a byte."""

    def __init__(self, split: FileSplit, charset: str, errors: str) -> None:
        self._split = split
        self._charset = charset
        self._errors = errors
        self._blocks = LineBlocks(split, marked=charset == "utf-8", returns=True)

    def read_batch(self) -> list[str] | None:
        start = self._blocks.position
        block = self._blocks.next_block()
        if block is None:
            return None
        try:
            text = block.decode(self._charset, self._errors)
        except UnicodeDecodeError as error:
            raise RecordError(f"{where(self._split, start + error.start)}: {error}") from error
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        return lines

    def position(self) -> int:
        return self._blocks.position

    def close(self) -> None:
        self._blocks.close()


class _CountedLines(SplitRecords[str]):
    """Lines cut after decoding; the position is a number of lines, read again and dropped on recovery."""

    def __init__(self, split: FileSplit, charset: str, errors: str) -> None:
        self._split = split
        stream = io.BufferedReader(open_stream(split))
        self._text = io.TextIOWrapper(stream, charset, errors, newline=None)
        self._limit = record_limit()
        self._most = self._limit // max(1, len("\n\n".encode(charset)) - len("\n".encode(charset)))
        self._line = 0
        self._failure: RecordError | None = None
        self._position = split.position or 0
        self._head = "\ufeff" if not self._position else ""
        for _ in islice(self._lines(), self._position):
            pass

    def _lines(self) -> Iterator[str]:
        """Lines with their ends.

        :raises RecordError: one is larger than it may be.
        """
        if self._failure is not None:
            raise self._failure
        while line := self._text.readline(self._most + 1):
            if len(line) > self._most:
                place = f"{self._split.path}, line {self._line + 1}"
                raise RecordError(f"{place}: {too_large('a line', self._limit)}")
            self._line += 1
            yield line

    def read_batch(self) -> list[str] | None:
        lines: list[str] = []
        size = 0
        try:
            for line in self._lines():
                lines.append(line)
                size += len(line)
                if size >= FETCH_SIZE:
                    break
        except UnicodeDecodeError as error:
            raise RecordError(f"{self._split.path}, after line {self._line}: {error}") from error
        except RecordError as error:
            if not lines:
                raise
            self._failure = error  # the lines before it are good
        if not lines:
            return None
        self._position += len(lines)
        lines[0], self._head = lines[0].removeprefix(self._head), ""
        return [line.removesuffix("\n") for line in lines]

    def position(self) -> int:
        return self._position

    def close(self) -> None:
        self._text.close()
