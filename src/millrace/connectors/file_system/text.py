"""``TextLineFormat``: lines of text."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

from millrace.common.files.limits import record_limit, too_large
from millrace.common.typeinfo import Types
from millrace.connectors.file_system.compression import is_compressed
from millrace.connectors.file_system.format import SplitRecords, StreamFormat
from millrace.connectors.file_system.lines import FETCH_SIZE, LineBlocks, RecordError, open_stream, where
from millrace.connectors.file_system.split import FileSplit

__all__ = ["TextLineFormat"]

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

    def get_produced_type(self) -> Any:
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
