"""Whole lines of a split as blocks of bytes: what the line-based formats read from."""

from __future__ import annotations

from typing import Any

from millrace.common.files.file_systems import open_file_system
from millrace.common.files.stores.problems import explaining
from millrace.connectors.file_system.compression import decompressed, is_compressed
from millrace.connectors.file_system.split import FileSplit

__all__ = ["LineBlocks", "RecordError", "open_stream", "where"]

FETCH_SIZE = 1 << 18
"""Bytes a read. A block becomes one batch of records, so this also bounds how far an epoch overshoots its budget."""


class RecordError(ValueError):
    """A record that the format can't make sense of; the text names the file, the line and the byte."""


def open_stream(split: FileSplit) -> Any:
    """The file of a split: seekable when it is not compressed, else its decompressed content."""
    file_system = open_file_system(split.root)[0]
    with explaining(split.root):
        if not is_compressed(split.path):
            return file_system.open_input_file(split.path)
        return decompressed(split.path, file_system.open_input_stream(split.path, compression=None))


def where(split: FileSplit, position: int) -> str:
    """The place for an error's text. Counts lines from the start of the file, so use it on the way out only."""
    try:
        stream = open_stream(split)
        try:
            line, rest = 1, position
            while rest > 0 and (block := stream.read(min(rest, FETCH_SIZE))):
                line += block.count(b"\n")
                rest -= len(block)
        finally:
            stream.close()
    except OSError:
        return f"{split.path}, byte {position}"
    return f"{split.path}, line {line} (byte {position})"


class LineBlocks:
    """The lines that start inside a split, in blocks; a line ends with ``\\n`` (the file's last one perhaps without).

    Positions are bytes from the start of the file, after decompression.
    """

    def __init__(self, split: FileSplit, fetch_size: int = FETCH_SIZE) -> None:
        self._stream = open_stream(split)
        self._fetch_size = fetch_size
        self._end = None if split.whole else split.end
        self._rest = b""
        self._at_end = False
        self.position = 0
        """Where the next block starts."""
        try:
            self._seek(split)
        except BaseException:
            self._stream.close()
            raise

    def _seek(self, split: FileSplit) -> None:
        if split.position is not None:
            self._skip_to(split.position, split)
        elif split.offset > 0:
            # The line that is under way at the offset belongs to the split before.
            self._skip_to(split.offset - 1, split)
            self._skip_line()

    def _skip_to(self, position: int, split: FileSplit) -> None:
        if not is_compressed(split.path):
            self._stream.seek(position)
        else:
            rest = position
            while rest > 0 and (block := self._stream.read(min(rest, FETCH_SIZE))):
                rest -= len(block)
        self.position = position

    def _skip_line(self) -> None:
        while block := self._stream.read(self._fetch_size):
            cut = block.find(b"\n") + 1
            if cut:
                self.position += cut
                self._rest = block[cut:]
                return
            self.position += len(block)

    def next_block(self) -> bytes | None:
        """Some whole lines, None at the end of the split."""
        if self._at_end or (self._end is not None and self.position >= self._end):
            return None
        block = self._read_lines()
        if self._end is not None and self.position + len(block) >= self._end:
            # Keep the line that the last byte of the split lies in, drop those that start behind it.
            cut = block.find(b"\n", self._end - 1 - self.position) + 1
            block = block[:cut] if cut else block
            self._at_end = True
        self.position += len(block)
        return block or None

    def _read_lines(self) -> bytes:
        parts: list[bytes | memoryview] = [self._rest]
        cut = self._rest.rfind(b"\n") + 1
        if cut:
            block, self._rest = self._rest[:cut], self._rest[cut:]
            return block
        while data := self._stream.read(self._fetch_size):
            cut = data.rfind(b"\n") + 1
            if cut:
                parts.append(memoryview(data)[:cut])
                self._rest = data[cut:]
                return b"".join(parts)
            parts.append(data)
        self._rest = b""
        self._at_end = True
        return b"".join(parts)

    def close(self) -> None:
        self._stream.close()
