"""``FileSplit`` and the bytes of a split's file: decompressed by the extension, and text as UTF-8.

The mark of an encoding (BOM) at the beginning of a file is left out; text in the encoding that it names is converted.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa

from millrace.common.files.file_systems import open_file_system
from millrace.common.files.object_stores import explaining


@dataclass(frozen=True)
class FileSplit:
    """The bytes ``offset`` to ``offset + length`` of a file.

    What lies on the border is settled by the format: a line belongs to the split in which it starts, a Parquet row
    group to the one in which its first page starts.
    """

    path: str
    offset: int
    length: int
    root: str = ""
    """The URI that its file system is opened from, "" for local files."""
    whole: bool = True
    """Whether the split is the entire file (``length`` is then only informative: compressed files read on)."""
    position: int | None = None
    """How far it is read, in the format's own unit (bytes, rows, ...); None before the first record."""

    @property
    def split_id(self) -> str:
        return f"{self.root or 'file'}:{self.path}:{self.offset}+{self.length}"

    @property
    def end(self) -> int:
        return self.offset + self.length

    def at(self, position: int | None) -> FileSplit:
        """A copy of this split that was read up to ``position``."""
        return replace(self, position=position)


_ARROW_CODECS = {"zst": "zstd", "zstd": "zstd", "lz4": "lz4"}
_CODECS = {"gz": "gzip", "gzip": "gzip", "bz2": "bz2", "xz": "xz", "deflate": "deflate", **_ARROW_CODECS}


class ByteStream(Protocol):
    """What formats read from."""

    def read(self, size: int = -1, /) -> bytes: ...

    def close(self) -> None: ...


def _codec(path: str) -> str | None:
    return _CODECS.get(path.rpartition(".")[2].lower())


def is_compressed(path: str) -> bool:
    """Whether the extension says that the file is compressed as a whole."""
    return _codec(path) is not None


def decompressed(path: str, stream: Any) -> ByteStream:
    """The content of ``stream`` (a pyarrow file), decompressed if the extension of ``path`` says so."""
    codec = _codec(path)
    opened: Any = stream
    if codec == "gzip":
        opened = gzip.GzipFile(fileobj=stream)
    elif codec == "bz2":
        opened = bz2.BZ2File(stream)
    elif codec == "xz":
        opened = lzma.LZMAFile(stream)  # noqa: SIM115
    elif codec == "deflate":
        opened = io.BufferedReader(_Inflate(stream))
    elif codec is not None:
        opened = pa.CompressedInputStream(stream, codec)
    result: ByteStream = opened
    return result


class _Inflate(io.RawIOBase):
    """A zlib stream (``.deflate``), for which the standard library has no file class."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._inflate = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = b""
        while not found and not self._inflate.eof:
            block = self._inflate.unconsumed_tail or self._stream.read(65536)
            if not block:
                raise EOFError("compressed file ended before the end-of-stream marker was reached")
            found = self._inflate.decompress(block, len(buffer))  # no more: the rest of a block can be much
        buffer[: len(found)] = found
        return len(found)


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
