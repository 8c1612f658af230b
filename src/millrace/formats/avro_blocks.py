"""Reads untrusted Avro files within memory limits: a schema may allow endless values, and a block of some kB can hold
terabytes.

fastavro decompresses a block at once. So it gets the same file without compression, made while it reads, no further
than a limit.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from millrace.common.files.file_access import record_limit, too_large

UNREADABLE = (ValueError, EOFError, IndexError, KeyError, TypeError, StopIteration, OverflowError, RecursionError)
"""what is raised for bytes that are no record of a schema"""


def reason(error: Exception) -> str:
    """The text of an error in the data; for errors of fastavro without a useful text, one of our own."""
    if isinstance(error, EOFError):
        return "its bytes end in the middle of a record"
    if isinstance(error, IndexError):
        return "a record has a branch of a union, or a symbol of an enum, that the schema does not have"
    return str(error) or type(error).__name__


def is_recursive(schema: Any) -> bool:
    """Whether a record of a schema can hold records of the same kind.

    :raises ValueError: it has an array of items that take no bytes: a few bytes can say that there is any number.
    """
    return _Walk().of(schema, ())


class _Walk:
    def __init__(self) -> None:
        self._named: dict[str, bool] = {}
        """a name -> whether its values take no bytes"""

    def of(self, schema: Any, inside: tuple[str, ...]) -> bool:
        if isinstance(schema, str):
            return schema in inside
        if isinstance(schema, list):
            return self._any(schema, inside)
        kind = schema["type"]
        if kind in ("record", "error"):
            names = (*inside, schema["name"], _full_name(schema))
            found = self._any([field["type"] for field in schema["fields"]], names)
            empty = all(self._is_empty(field["type"]) for field in schema["fields"])
            self._named[schema["name"]] = self._named[_full_name(schema)] = empty
            return found
        if kind == "array":
            found = self.of(schema["items"], inside)
            if self._is_empty(schema["items"]):
                raise ValueError("the schema has an array whose items take no bytes, so that it can be endless")
            return found
        if kind == "map":
            return self.of(schema["values"], inside)
        return False if isinstance(kind, str) else self.of(kind, inside)

    def _any(self, schemas: list[Any], inside: tuple[str, ...]) -> bool:
        """All are looked at, since they have names that others use."""
        found = [self.of(each, inside) for each in schemas]
        return any(found)

    def _is_empty(self, schema: Any) -> bool:
        if isinstance(schema, str):
            return schema == "null" or self._named.get(schema, False)
        if isinstance(schema, list):
            return False
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._named[schema["name"]]
        if kind == "fixed":
            return bool(schema["size"] == 0)
        return kind == "null" if isinstance(kind, str) else self._is_empty(kind)


def _full_name(schema: Any) -> str:
    space = schema.get("namespace")
    name: str = schema["name"]
    return f"{space}.{name}" if space and "." not in name else name


BROKEN = (
    *UNREADABLE,
    *(zlib.error, lzma.LZMAError, OSError, MemoryError, struct.error),
)
"""what is raised for bytes that are no Avro"""
_MAGIC = b"Obj\x01"
_SYNC = 16
_LONGEST_NUMBER = 10
_HEADER_BYTES = 64 << 20


def avro_blocks(stream: Any) -> Any:
    """fastavro's reader of a file, block by block.

    :raises ValueError: it is no Avro file.
    """
    import fastavro
    from fastavro import _read_py

    plain = _Plain(stream)
    # The reader in C goes down until the stack of the process ends, and the process with it.
    reader = _read_py.block_reader if is_recursive(plain.schema) else fastavro.block_reader
    return reader(io.BufferedReader(plain))


def written_schema(stream: Any) -> Any:
    """The schema that a file was written with, as JSON.

    :raises ValueError: it is no Avro file.
    """
    return _schema(_header(stream)[0])


def _schema(entries: dict[str, bytes]) -> Any:
    try:
        return json.loads(entries["avro.schema"])
    except KeyError:
        raise ValueError("it has no schema") from None
    except RecursionError:
        raise ValueError("its schema is nested too deeply") from None


class _Plain(io.RawIOBase):
    """A file of Avro without compression."""

    def __init__(self, stream: Any) -> None:
        buffered = io.BufferedReader(stream)
        entries, sync = _header(buffered)
        self.schema = _schema(entries)
        self._pieces = _pieces(buffered, entries, sync, record_limit())
        self._rest = memoryview(b"")
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        self._position += size
        return size

    def tell(self) -> int:
        """Asked for by fastavro, which measures its blocks."""
        return self._position


def _pieces(stream: Any, entries: dict[str, bytes], sync: bytes, limit: int) -> Iterator[bytes]:
    codec = entries.get("avro.codec", b"null").decode("utf-8", "replace")
    plain = {**entries, "avro.codec": b"null"}
    yield (
        _MAGIC
        + _number(len(plain))
        + b"".join(part for key, value in plain.items() for part in (_sized(key.encode()), _sized(value)))
        + b"\0"
        + sync
    )
    for number in range(1 << 62):
        if not stream.peek(1):
            return
        records, size = _read_number(stream), _read_number(stream)
        what = f"block {number + 1}"
        if not 0 <= size <= limit or records < 0:
            raise ValueError(too_large(what, limit) if size > limit else f"{what} has a size of {size}")
        content = _decompressed(codec, _exactly(stream, size), limit, what)
        if _exactly(stream, _SYNC) != sync:
            raise ValueError(f"{what} does not end where it says")
        yield _number(records) + _number(len(content)) + content + sync


def _decompressed(codec: str, data: bytes, limit: int, what: str) -> bytes:
    if codec == "null":
        return data
    decompress = _CODECS.get(codec)
    if decompress is None:
        raise ValueError(f"the codec {codec!r} is not known")
    found = decompress(data, limit)
    if found is None or len(found) > limit:
        raise ValueError(too_large(what, limit))
    return found


def _header(stream: Any) -> tuple[dict[str, bytes], bytes]:
    if _exactly(stream, len(_MAGIC)) != _MAGIC:
        raise ValueError("it does not begin as one")
    entries: dict[str, bytes] = {}
    size = 0
    while count := _read_number(stream):
        if count < 0:
            _read_number(stream)  # the size of what follows
        for _ in range(abs(count)):
            key = _read_sized(stream).decode("utf-8", "replace")
            entries[key] = _read_sized(stream)
            size += len(key) + len(entries[key])
            if size > _HEADER_BYTES:
                raise ValueError(f"its header is larger than {_HEADER_BYTES} bytes")
    return entries, _exactly(stream, _SYNC)


def _read_sized(stream: Any) -> bytes:
    size = _read_number(stream)
    if not 0 <= size <= _HEADER_BYTES:
        raise ValueError(f"an entry of the header has a size of {size}")
    return _exactly(stream, size)


def _exactly(stream: Any, size: int) -> bytes:
    """What comes next, read in pieces: a size may be a lie."""
    parts, left = [], size
    while left:
        part = stream.read(min(left, 1 << 20))
        if not part:
            raise ValueError(f"the file ends {left} bytes too early")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _read_number(stream: Any) -> int:
    found = 0
    for place in range(_LONGEST_NUMBER):
        byte = _exactly(stream, 1)[0]
        found |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1)
    raise ValueError("a number has more than 64 bits")


def _number(value: int) -> bytes:
    left, found = value << 1, bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def _sized(value: bytes) -> bytes:
    return _number(len(value)) + value


def _deflate(data: bytes, limit: int) -> bytes:
    return zlib.decompressobj(-15).decompress(data, limit + 1)


def _bzip2(data: bytes, limit: int) -> bytes:
    return bz2.BZ2Decompressor().decompress(data, limit + 1)


def _xz(data: bytes, limit: int) -> bytes:
    return lzma.LZMADecompressor(memlimit=max(limit, 1 << 28)).decompress(data, limit + 1)


def _snappy(data: bytes, limit: int) -> bytes | None:
    content = data[:-4]  # what follows is a checksum
    stream = io.BytesIO(content)
    size = 0
    for place in range(5):
        byte = _exactly(stream, 1)[0]
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    return None if size > limit else bytes(pa.Codec("snappy").decompress(content, size))


def _zstandard(data: bytes, limit: int) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as reader:
        return bytes(reader.read(limit + 1))


def _lz4(data: bytes, limit: int) -> bytes | None:
    (size,) = struct.unpack("<I", data[:4])
    return None if size > limit else bytes(pa.Codec("lz4_raw").decompress(data[4:], size))


_CODECS: dict[str, Callable[[bytes, int], bytes | None]] = {
    "deflate": _deflate,
    "bzip2": _bzip2,
    "xz": _xz,
    "snappy": _snappy,
    "zstandard": _zstandard,
    "lz4": _lz4,
}
