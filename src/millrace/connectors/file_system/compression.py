"""Decompression by a file's extension."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from typing import Any, Protocol

import pyarrow as pa

__all__ = ["ByteStream", "decompressed", "is_compressed"]

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
