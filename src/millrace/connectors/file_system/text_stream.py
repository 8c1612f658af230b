"""The content of a text file: without the mark of its encoding (BOM), as UTF-8 where that mark is another one's."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Any

from millrace.common.files.file_systems import open_file_system
from millrace.common.files.stores.problems import explaining
from millrace.connectors.file_system.compression import ByteStream, decompressed, is_compressed
from millrace.connectors.file_system.split import FileSplit

__all__ = ["RecordError", "TextStream", "open_stream", "open_text", "utf8_of"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LONGEST = 4
"""bytes of a mark"""


class RecordError(ValueError):
    """A record that the format can't make sense of; the text names the file, the line and the byte."""


@dataclass(frozen=True)
class TextStream:
    """
    :ivar head: bytes at the beginning of ``stream`` that are a mark, and no text.
    :ivar seekable: whether ``stream`` can seek; it is at its beginning.
    :ivar converted: whether the bytes are not those of the file: it has another encoding.
    """

    stream: Any
    head: int = 0
    seekable: bool = False
    converted: bool = False


def open_stream(split: FileSplit) -> Any:
    """The file of a split: seekable when it is not compressed, else its decompressed content."""
    file_system = open_file_system(split.root)[0]
    with explaining(split.root):
        if not is_compressed(split.path):
            return file_system.open_input_file(split.path)
        return decompressed(split.path, file_system.open_input_stream(split.path, compression=None))


def open_text(split: FileSplit, marked: bool = True) -> TextStream:
    """The text of the file of a split.

    :param marked: whether a mark at its beginning says its encoding; else the beginning is text, too.
    """
    stream = open_stream(split)
    seekable = not is_compressed(split.path)
    if not marked:
        return TextStream(stream, 0, seekable)
    try:
        beginning = _first_bytes(stream)
        mark, encoding = _mark(beginning)
        if encoding != "utf-8":
            rest = _Behind(beginning[len(mark) :], stream)
            return TextStream(_Converted(split.path, rest, encoding), converted=True)
        if not seekable:
            return TextStream(_Behind(beginning, stream), len(mark))
        stream.seek(0)
        return TextStream(stream, len(mark), True)
    except BaseException:
        stream.close()
        raise


def utf8_of(content: bytes) -> bytes:
    """Text from the beginning of a file, as UTF-8 and without a mark; what is cut off at its end is left out."""
    mark, encoding = _mark(content)
    text = content[len(mark) :]
    return text if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)().decode(text).encode()


def _first_bytes(stream: Any) -> bytes:
    found = b""
    while len(found) < _LONGEST and (more := stream.read(_LONGEST - len(found))):
        found += more
    return found


def _mark(beginning: bytes) -> tuple[bytes, str]:
    """(the mark, perhaps empty; the encoding)"""
    return next((each for each in _MARKS if beginning.startswith(each[0])), (b"", "utf-8"))


class _Behind:
    """A stream and what was read from its beginning already."""

    def __init__(self, beginning: bytes, stream: ByteStream) -> None:
        self._beginning = beginning
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        if not self._beginning:
            return self._stream.read(size)
        stop = len(self._beginning) if size < 0 else size
        found, self._beginning = self._beginning[:stop], self._beginning[stop:]
        return found if len(found) == size else found + self._stream.read(max(-1, size - len(found)))

    def close(self) -> None:
        self._stream.close()


class _Converted:
    """A stream of another encoding, as UTF-8."""

    def __init__(self, path: str, stream: ByteStream, encoding: str) -> None:
        self._path = path
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
        while not self._rest and (data := self._stream.read(size)):
            self._rest = self._decoded(data, False)
        if not self._rest:
            self._rest = self._decoded(b"", True)
        stop = len(self._rest) if size < 0 else size
        found, self._rest = self._rest[:stop], self._rest[stop:]
        return found

    def _decoded(self, data: bytes, final: bool) -> bytes:
        try:
            return self._decoder.decode(data, final).encode()
        except UnicodeError as error:
            raise RecordError(f"{self._path}: {error}") from error

    def close(self) -> None:
        self._stream.close()
