"""Whole lines of a split as blocks of bytes: what the line-based formats read from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from millrace.common.files.limits import BEGINNING, record_limit, too_large
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.file_system.text_stream import RecordError, open_stream, open_text

__all__ = ["LargeLine", "LineBlocks", "RecordError", "open_stream", "where"]

FETCH_SIZE = 1 << 18
"""Bytes a read. A block becomes one batch of records, so this also bounds how far an epoch overshoots its budget."""


class LargeLine(NamedTuple):
    """A line that is larger than a record may be."""

    beginning: bytes
    length: int
    """in bytes, with its end"""
    quotes: int = 0
    """how often the character stands in it that was to be counted"""
    tail: bytes = b""
    """its last two bytes"""

    @property
    def end(self) -> int:
        """How many bytes its end has."""
        return 2 if self.tail == b"\r\n" else int(self.tail[-1:] in (b"\n", b"\r"))

    def and_then(self, content: bytes, length: int, counted: bytes = b"") -> LargeLine:
        """It goes on.

        :param content: how what follows begins, or all of it.
        :param length: of all that follows.
        :param counted: a byte that is counted.
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
