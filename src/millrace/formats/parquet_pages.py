"""Upper bounds for the memory that the pages of a Parquet file take, from their headers: a file of some kB can hold
terabytes.

A page is decompressed at once, and a value of a dictionary is copied for every row that has it. So each page header is
read first, and no more rows are read at once than fit.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common.files.file_access import PositionedFile, record_limit, too_large
from millrace.util.threads import JobPool

__all__ = ["NESTED_LIMITS", "Fetched", "is_modest", "rows_at_once"]

_FETCHES = 8
"""ranges of a remote file that are asked for at the same time"""
MODEST_PAGE = 16 << 20
MODEST_VALUE = 1 << 16
NESTED_LIMITS = 8
"""How many times the limit the values of a row group may need where it isn't known which row they belong to."""
_HEAD_BYTES = 256
_LONGEST_HEAD = 16 << 20
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_OF_DICTIONARY = frozenset({2, 8})
_DELTA_BYTE_ARRAY = 7
_DICTIONARY_PAGE = 2
_DATA_PAGES = {0: 5, 3: 8}
"""kind of a page -> number of the field with its head"""
_ENCODING_PLACES = {5: 2, 8: 4}
_CODECS = {"SNAPPY": "snappy", "GZIP": "gzip", "BROTLI": "brotli", "ZSTD": "zstd", "LZ4_RAW": "lz4_raw"}


class Fetched(PositionedFile):
    """A file that is far away, with the columns of a row group in memory: its pages are looked at without a request
    for each, and then read. pyarrow reads it as a file of Python's."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream.size())
        self._stream = stream
        self._ranges: dict[int, bytes] = {}

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Hold these ranges (begin, end) and no others."""
        self._ranges = {}
        wanted = [each for each in ranges if 0 <= each[0] < each[1]]
        with JobPool(_FETCHES) as threads:
            found = list(threads.map(lambda each: self._stream.read_at(each[1] - each[0], each[0]), wanted))
        self._ranges = {begin: content for (begin, _), content in zip(wanted, found, strict=True)}

    def size(self) -> int:
        """Bytes of the file."""
        return self._length

    def read_at(self, size: int, offset: int) -> bytes:
        """Some bytes; fewer at the end of the file, or of a range that is held."""
        for begin, content in self._ranges.items():
            if begin <= offset < begin + len(content) and offset + size <= begin + len(content):
                return content[offset - begin : offset - begin + size]
        found: bytes = self._stream.read_at(max(0, min(size, self._length - offset)), offset)
        return found

    def close(self) -> None:
        """The stream's owner closes it."""


class _Page(NamedTuple):
    values: int
    whole: int
    """bytes that reading the page takes, however few of its rows are needed"""
    each: int
    """bytes that a value needs besides, at most"""
    longest: int = 0
    """bytes of the longest value of the dictionary that it refers to"""

    def bytes_of(self, values: int) -> int:
        return self.whole + min(values, self.values) * self.each


def rows_at_once(stream: Any, metadata: Any, group: int, names: Sequence[str], most: int) -> int:
    """How many rows of a row group can be read at once within the limit for a record.

    :param stream: the file, which has ``read_at``.
    :param names: the columns that will be read.
    :param most: rows that are not to be exceeded.
    :raises ValueError: a page, or a row, is larger than the limit; or the file says other sizes than it has.
    """
    limit = record_limit()
    head = metadata.row_group(group)
    wanted = _wanted(metadata, names)
    if isinstance(stream, Fetched):
        stream.fetch(_range(head.column(at), stream.size()) for at in wanted)
    flat, nested = [], 0
    for at, leaf in wanted.items():
        what = f"row group {group}, column {leaf.path!r}"
        pages = list(_pages(stream, head.column(at), leaf, limit, what))
        if leaf.max_repetition_level:
            nested += sum(page.bytes_of(page.values) for page in pages)
            continue
        found = sum(page.values for page in pages)
        if found != head.num_rows:
            raise ValueError(f"{what} has {found} values, where the file says that the group has {head.num_rows} rows")
        flat.append(pages)
    if nested > NESTED_LIMITS * limit:
        raise ValueError(too_large(f"row group {group}, in its columns with lists or maps,", NESTED_LIMITS * limit))
    rows: int = max(1, min(most, head.num_rows))
    while rows > 1 and _needed(flat, nested, rows, head.num_rows) > limit:
        rows = (rows + 1) // 2
    if (needed := _needed(flat, 0, rows, head.num_rows)) > NESTED_LIMITS * limit:
        raise ValueError(too_large(f"row group {group} with {needed} bytes for a row", NESTED_LIMITS * limit))
    return rows


def is_modest(path: str, names: Sequence[str]) -> bool:
    """Whether the pages of a local file are of the sizes that writers give them, so that other readers may have it."""
    try:
        with pa.OSFile(path) as stream, pq.ParquetFile(stream) as file:
            return all(_is_modest(stream, file.metadata, group, names) for group in range(file.metadata.num_row_groups))
    except (pa.ArrowException, OSError, ValueError):
        return False


def _is_modest(stream: Any, metadata: Any, group: int, names: Sequence[str]) -> bool:
    head = metadata.row_group(group)
    for at, leaf in _wanted(metadata, names).items():
        pages = list(_pages(stream, head.column(at), leaf, MODEST_PAGE, leaf.path))
        if any(page.longest > MODEST_VALUE for page in pages):
            return False
        if not leaf.max_repetition_level and sum(page.values for page in pages) != head.num_rows:
            return False
    return True


def _wanted(metadata: Any, names: Sequence[str]) -> dict[int, Any]:
    """The leaves that will be read, by their places. Without a column the number of rows is believed, so one is looked
    at that has as many values."""
    leaves = dict(enumerate(metadata.schema.column(at) for at in range(metadata.num_columns)))
    found = {at: leaf for at, leaf in leaves.items() if _is_of(leaf.path, names)}
    if found or names:
        return found
    return dict([(at, leaf) for at, leaf in leaves.items() if not leaf.max_repetition_level][:1])


def _is_of(path: str, names: Sequence[str]) -> bool:
    return any(path == name or path.startswith(f"{name}.") for name in names)


def _needed(flat: Sequence[Sequence[_Page]], nested: int, rows: int, of: int) -> int:
    return sum(_most(pages, rows) for pages in flat) + nested * rows // max(of, 1)


def _most(pages: Sequence[_Page], rows: int) -> int:
    """The most bytes that any ``rows`` consecutive rows take."""
    # Rows that begin within a page reach as far as if they began with its last one.
    most = 0
    last, end, inside = 0, 0, 0
    begin = 0
    for page in pages:
        while last < len(pages) and end < begin + page.values + rows:
            inside += pages[last].bytes_of(rows)
            end += pages[last].values
            last += 1
        most = max(most, inside)
        inside -= page.bytes_of(rows)
        begin += page.values
    return most


def _pages(stream: Any, chunk: Any, leaf: Any, limit: int, what: str) -> Iterator[_Page]:
    start, end = _range(chunk, stream.size())
    width = leaf.length if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(leaf.physical_type)
    seen, number, longest = 0, 0, 0
    head: dict[int, Any]
    while 0 <= start < end and seen < chunk.num_values:
        head, size = _page_head(stream, start, what)
        kind, unpacked, packed = head.get(1), head.get(2, -1), head.get(3, -1)
        place = f"{what}, page {number}"
        if not (isinstance(unpacked, int) and isinstance(packed, int) and unpacked >= 0 and packed >= 0):
            raise ValueError(f"{place} has no size")
        if unpacked > limit:
            raise ValueError(too_large(place, limit))
        if start + size + packed > stream.size():
            raise ValueError(f"{place} ends behind the file's end")
        if kind == _DICTIONARY_PAGE:
            longest = unpacked
            if width is None:
                longest = _longest(stream.read_at(packed, start + size), chunk.compression, unpacked)
        elif kind in _DATA_PAGES:
            page = _data_page(head, _DATA_PAGES[kind], unpacked, width, longest, place)
            if page.values * (width or 4) > limit:
                raise ValueError(too_large(f"{place} with {page.values} values", limit))
            seen += page.values
            yield page
        start += size + packed
        number += 1


def _range(chunk: Any, size: int) -> tuple[int, int]:
    """Where the pages of a column lie in a file of this size."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, min(start + chunk.total_compressed_size, size)


def _data_page(head: dict[int, Any], at: int, unpacked: int, width: int | None, longest: int, what: str) -> _Page:
    data = head.get(at)
    values, encoding = (data.get(1), data.get(_ENCODING_PLACES[at])) if isinstance(data, dict) else (None, None)
    if not isinstance(values, int) or values < 0 or not isinstance(encoding, int):
        raise ValueError(f"{what} does not say how many values it has")
    if width is not None:
        return _Page(values, unpacked, width)
    if encoding in _OF_DICTIONARY:
        return _Page(values, unpacked, 4 + longest, longest)
    # A value of this encoding can have the one before as its beginning.
    return _Page(values, unpacked, 4 + (unpacked if encoding == _DELTA_BYTE_ARRAY else 0))


def _longest(packed: bytes, codec: str, size: int) -> int:
    """The longest value of a dictionary of byte strings; its own size if it can't be looked into."""
    if codec == "UNCOMPRESSED":
        content: Any = packed
    elif codec in _CODECS:
        try:
            content = pa.Codec(_CODECS[codec]).decompress(packed, size, asbytes=True)
        except (pa.ArrowException, OSError):
            return size
    else:
        return size
    even = _longest_of_short(content)
    return min(_longest_of(content) if even is None else even, size)


def _longest_of_short(content: bytes) -> int | None:
    """The longest value where all have less than 256 bytes, and none has three zeros: then three zeros are the end of
    each length. None: it is not so."""
    found = np.frombuffer(content, np.uint8)
    zero = found == 0
    starts = np.flatnonzero(zero[1:-2] & zero[2:-1] & zero[3:])
    lengths = found[starts].astype(np.int64)
    ends = starts + 4 + lengths
    whole = len(starts) > 0 and starts[0] == 0 and ends[-1] == len(content) and (ends[:-1] == starts[1:]).all()
    return int(lengths.max()) if whole else None


def _longest_of(content: bytes) -> int:
    longest, at, end = 0, 0, len(content) - 3
    read = struct.Struct("<I").unpack_from
    while at < end:
        (length,) = read(content, at)
        if length > longest:
            longest = length
        at += 4 + length
    return longest


def _page_head(stream: Any, start: int, what: str) -> tuple[dict[int, Any], int]:
    """The head of a page as its fields by number, and its size."""
    size = _HEAD_BYTES
    while True:
        content = stream.read_at(size, start)
        if (common := _COMMON_HEAD.match(content)) is not None:
            unpacked, packed, values, encoding = (_varint(each, 0)[0] >> 1 for each in common.groups())
            return {1: 0, 2: unpacked, 3: packed, 5: {1: values, 2: encoding}}, common.end()
        try:
            return _structure(content, 0, 0)
        except IndexError:
            if len(content) < size or size >= _LONGEST_HEAD:
                raise ValueError(f"{what}: the head of a page at byte {start} has no end") from None
            size *= 16


# Thrift's compact protocol: the heads that nearly all pages have, of data in the older form, whose numbers are not
# negative and whose texts have at most 32 bytes. All others are read field by field, at ten times the cost.
def _bytes(*wanted: int) -> bytes:
    return b"[" + b"".join(b"\\x%02x" % each for each in wanted) + b"]"


_ANY = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_POSITIVE = b"(?:%b|%b[\\x80-\\xff]{0,3}[\\x00-\\x7f])" % (_bytes(*range(0, 128, 2)), _bytes(*range(128, 256, 2)))
_TEXTS = b"|".join(b"\\x%02x.{%d}" % (size, size) for size in (8, 4, *range(4), *range(5, 8), *range(9, 33)))
_IN_STATISTICS = b"%b(?:%b)|%b%b|%b" % (
    _bytes(*range(0x18, 0x100, 0x10)),
    _TEXTS,
    _bytes(*range(0x16, 0x100, 0x10)),
    _ANY,
    _bytes(*range(0x11, 0x100, 0x10), *range(0x12, 0x100, 0x10)),
)
_COMMON_HEAD = re.compile(
    b"\\x15\\x00\\x15(%b)\\x15(%b)(?:\\x15%b\\x1c|\\x2c)\\x15(%b)\\x15(%b)\\x15%b\\x15%b(?:\\x1c(?:%b)*\\x00)?\\x00\\x00"
    % (_POSITIVE, _POSITIVE, _ANY, _POSITIVE, _POSITIVE, _ANY, _ANY, _IN_STATISTICS),
    re.DOTALL,
)
"""kind, sizes, perhaps a checksum, and the number of values, their encoding and statistics"""


# Thrift's compact protocol, as far as heads of pages have it.
_DEEPEST = 8
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS = frozenset({4, 5, 6})


def _structure(content: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    if depth > _DEEPEST:
        raise ValueError("the head of a page is nested too deeply")
    found: dict[int, Any] = {}
    number = 0
    while head := content[at]:
        at += 1
        if step := head >> 4:
            number += step
        else:
            raw, at = _varint(content, at)
            number = raw >> 1 ^ -(raw & 1)
        found[number], at = _value(content, at, head & 15, depth)
    return found, at + 1


def _value(content: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in _NUMBERS:
        raw, at = _varint(content, at)
        return raw >> 1 ^ -(raw & 1), at
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _STRUCT:
        return _structure(content, at, depth + 1)
    if kind == _BINARY:
        size, at = _varint(content, at)
        if size > _LONGEST_HEAD:
            raise ValueError("the head of a page has a text that is too long")
        if at + size > len(content):
            raise IndexError
        return None, at + size
    if kind in (_BYTE, _DOUBLE):
        return None, at + (1 if kind == _BYTE else 8)
    if kind in (_LIST, _SET):
        return _list(content, at, depth)
    raise ValueError(f"the head of a page has a field of the unknown kind {kind}")


def _list(content: bytes, at: int, depth: int) -> tuple[None, int]:
    head = content[at]
    at += 1
    size = head >> 4
    if size == 15:
        size, at = _varint(content, at)
    for _ in range(size):
        if head & 15 in (_TRUE, _FALSE):
            at += 1
        else:
            at = _value(content, at, head & 15, depth + 1)[1]
        if at > len(content):
            raise IndexError
    return None, at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, 70, 7):
        byte = content[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise ValueError("a number in the head of a page has more than 64 bits")
