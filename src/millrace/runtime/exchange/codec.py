"""The binary format of packets, and an estimate of the size of elements that wait to be sent.

Plain data is encoded by marshal, batches of rows by Arrow, everything else by one pickle. Marshal writes numbers and
strings in columns several times as fast as pickle writes the same tuples (40 instead of 330 ns for a pair), but it
writes any object with a buffer as bytes (a numpy number!), so it only gets values whose every field was checked.
Batches of rows are one Arrow stream, with the row kinds and marks before it. Sizes are estimated from samples.
"""

from __future__ import annotations

import marshal
import pickle
import struct
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from millrace.common.types import Row, RowKind, row_of
from millrace.relational.rows import Rows, concat
from millrace.runtime.elements import Chunk, LatencyMark, Status
from millrace.runtime.storage import dumps

# Batches of rows

M = TypeVar("M")

_ALIGNMENT = 8
_LENGTH = struct.Struct("<I")
_TAG = 1
"""length in bytes of the tag by which the caller recognizes its packets"""


def merge(values: Sequence[Rows], marks: list[tuple[int, M]]) -> tuple[list[Rows], list[tuple[int, M]]]:
    """Merge the batches between two marks into one, because each batch has a fixed cost in transport and in
    operators.
    """
    batches: list[Rows] = []
    moved: list[tuple[int, M]] = []
    start = 0
    for position, mark in marks:
        if position > start:
            batches.append(concat(values[start:position]))
            start = position
        moved.append((len(batches), mark))
    if start < len(values):
        batches.append(concat(values[start:]))
    return batches, moved


def pack(tag: bytes, batches: Sequence[Rows], statuses: list[Any]) -> bytes:
    """A packet of batches with the same columns, and of plain values. Columns are read without a copy, so they are
    aligned."""
    kinds = [None if rows.kinds is None else rows.kinds.tobytes() for rows in batches]
    header = marshal.dumps((statuses, kinds))
    padding = bytes(-(_TAG + _LENGTH.size + len(header)) % _ALIGNMENT)
    sink = pa.BufferOutputStream()
    schema = batches[0].batch.schema
    with pa.ipc.new_stream(sink, schema) as writer:
        for rows in batches:
            writer.write_batch(rows.batch)
    return b"".join((tag, _LENGTH.pack(len(header) + len(padding)), header, padding, sink.getvalue()))


def unpack(payload: bytes) -> tuple[list[Any], list[Any]]:
    """(batches, statuses) of a whole packet, its tag included."""
    begin = _TAG + _LENGTH.size
    (length,) = _LENGTH.unpack_from(payload, _TAG)
    statuses, kinds = marshal.loads(memoryview(payload)[begin : begin + length])
    with pa.ipc.open_stream(pa.py_buffer(payload).slice(begin + length)) as reader:
        batches = list(reader)
    values = [
        Rows(batch, None if kind is None else np.frombuffer(kind, np.uint8)) for batch, kind in zip(batches, kinds)
    ]
    return values, statuses


# Packets

Mark = int | Status | LatencyMark
"""a watermark (ms), a status change, or a latency mark"""

_PICKLE, _MARSHAL, _COLUMNS = b"P", b"M", b"C"
_MARSHAL_VERSION = 2  # later ones look every object up to find shared ones
_PLAIN = frozenset({int, float, str, bool, bytes, type(None)})
_TIMES = frozenset({int, type(None)})
_MARKS = frozenset({int, Status, LatencyMark})


class _Rows(NamedTuple):
    """Inserted Rows with the same field names, as plain lists."""

    names: Any
    fields: list[Any]


# The forms of a packet's plain values: single values, or tuples or rows as columns.
_VALUES, _TUPLES, _ROWS = 0, 1, 2

_fields = attrgetter("_values")
_names = attrgetter("_fields")
_kind = attrgetter("_row_kind")


def encode(chunk: Chunk, marks: list[tuple[int, Mark]]) -> bytes:
    """The packet of a chunk and its marks."""
    if chunk.values and chunk.values[0].__class__ is Rows:
        batches, marks = merge(chunk.values, marks)
        statuses = _plain_marks(marks)
        return pack(_COLUMNS, batches, statuses)
    values = _pack_rows(chunk.values)
    plain = _plain(values)
    if plain is not None and _plain_frame(chunk, marks):
        statuses = _plain_marks(marks)
        body = (*plain, chunk.timestamps, chunk.keys, statuses)
        return _MARSHAL + marshal.dumps(body, _MARSHAL_VERSION)
    return _PICKLE + dumps((values, chunk.timestamps, chunk.keys, marks))


def _plain_frame(chunk: Chunk, marks: list[tuple[int, Mark]]) -> bool:
    """Whether marshal can write the chunk's timestamps, keys and marks: timestamps may also be numpy numbers."""
    return (
        _PLAIN.issuperset(map(type, chunk.keys or ()))
        and _TIMES.issuperset(map(type, chunk.timestamps or ()))
        and _MARKS.issuperset([type(mark) for _, mark in marks])
    )


class Packed(NamedTuple):
    """The elements of a packet as the columns that it contains, before objects are made of them."""

    form: int
    names: Any
    columns: list[Any]
    timestamps: list[int | None] | None
    keys: list[Any] | None
    plain: bool
    """whether marshal can write all columns"""

    def values(self) -> list[Any]:
        """The elements as objects."""
        return _unpack(self.form, self.names, self._content())

    def encode(self) -> bytes:
        """A packet of these elements, without marks."""
        if not self.plain:
            return encode(Chunk(self.values(), self.timestamps, self.keys), [])
        body: tuple[Any, ...] = (self.form, self.names, self._content(), self.timestamps, self.keys, [])
        return _MARSHAL + marshal.dumps(body, _MARSHAL_VERSION)

    def _content(self) -> Any:
        return self.columns[0] if self.form == _VALUES else self.columns


def packed(chunk: Chunk) -> Packed:
    """The packed form of elements that are objects."""
    return Packed(_VALUES, None, [chunk.values], chunk.timestamps, chunk.keys, False)


def decode(payload: bytes) -> Iterator[Chunk | Mark]:
    """The chunks and marks of a packet, in order. Only for packets that ``encode`` of the same job made: it
    unpickles.
    """
    elements, marks = decode_columns(payload)
    values, timestamps, keys = elements.values(), elements.timestamps, elements.keys
    start = 0
    for position, mark in marks:
        if position > start:
            yield _cut(values, timestamps, keys, start, position)
        yield mark
        start = position
    if start < len(values):
        yield _cut(values, timestamps, keys, start, len(values))


def decode_columns(payload: bytes) -> tuple[Packed, list[tuple[int, Mark]]]:
    """All elements of a packet in columns, and its marks with their positions. Only for packets of the same job."""
    body = memoryview(payload)[1:]
    if payload[:1] == _COLUMNS:
        batches, statuses = unpack(payload)
        return Packed(_VALUES, None, [batches], None, None, False), _marks(statuses)
    if payload[:1] == _MARSHAL:
        form, names, content, timestamps, keys, statuses = marshal.loads(body)
        columns = [content] if form == _VALUES else content
        return Packed(form, names, columns, timestamps, keys, True), _marks(statuses)
    packed, timestamps, keys, marks = pickle.loads(body)
    values = _rows(*packed) if packed.__class__ is _Rows else packed
    return Packed(_VALUES, None, [values], timestamps, keys, False), marks


def _plain_marks(marks: list[tuple[int, Mark]]) -> list[tuple[int, Any]]:
    """Marks in a form that marshal can write."""
    return [(position, mark if mark.__class__ is int else _plain_mark(mark)) for position, mark in marks]


def _plain_mark(mark: Mark) -> Any:
    return mark.value if isinstance(mark, Status) else tuple(mark) if isinstance(mark, LatencyMark) else mark


def _marks(statuses: list[tuple[int, Any]]) -> list[tuple[int, Mark]]:
    return [(position, mark if mark.__class__ is int else _mark(mark)) for position, mark in statuses]


def _mark(plain: Any) -> Mark:
    if isinstance(plain, str):
        return Status(plain)
    return LatencyMark(*plain) if isinstance(plain, tuple) else plain


def _cut(values: list[Any], timestamps: Any, keys: Any, start: int, end: int) -> Chunk:
    if start == 0 and end == len(values):
        return Chunk(values, timestamps, keys)
    return Chunk(
        values[start:end],
        None if timestamps is None else timestamps[start:end],
        None if keys is None else keys[start:end],
    )


def _pack_rows(values: list[Any]) -> Any:
    if not values or values[0].__class__ is not Row or set(map(type, values)) != {Row}:
        return values
    # count() compares identities in C first; a loop, or an enum member's own hash, would be slow Python
    names = values[0]._fields
    if list(map(_names, values)).count(names) != len(values):
        return values
    if list(map(_kind, values)).count(RowKind.INSERT) != len(values):
        return values
    return _Rows(names, list(map(_fields, values)))


def _plain(values: Any) -> tuple[int, Any, Any] | None:
    """(form, names, content) if marshal restores every value exactly; else None."""
    if values.__class__ is _Rows:
        columns = _plain_columns(values.fields)
        return None if columns is None else (_ROWS, values.names, columns)
    types = set(map(type, values))
    if types <= _PLAIN:
        return _VALUES, None, values
    if types == {tuple}:
        columns = _plain_columns(values)
        return None if columns is None else (_TUPLES, None, columns)
    return None


def _plain_columns(records: list[Any]) -> list[tuple[Any, ...]] | None:
    """Records of one width as columns of plain values; None if they are not plain."""
    if len(set(map(len, records))) != 1:
        return None
    columns = list(zip(*records))
    if columns and all(_PLAIN.issuperset(map(type, column)) for column in columns):
        return columns
    return None


def _unpack(form: int, names: Any, content: Any) -> list[Any]:
    if form == _ROWS:
        return _rows(names, map(list, zip(*content)))
    if form == _TUPLES:
        return list(zip(*content))
    values: list[Any] = content
    return values


def _rows(names: Any, fields: Iterable[list[Any]]) -> list[Any]:
    return [row_of(values, names) for values in fields]


# The size of elements

FIRST_LOOK = 64
"""Number of waiting elements at which their size is first estimated."""
SAMPLE = 8
"""Number of elements in a sample."""


def weigh(values: Sequence[Any]) -> float:
    """The approximate size of elements in packets, in bytes. For batches of rows it is the size of their columns."""
    if not values:
        return 0.0
    sample = list(values[:: -(-len(values) // SAMPLE)])
    if sample[0].__class__ is Rows:
        size: int = sum(rows.batch.nbytes for rows in sample)
    else:
        try:
            size = len(encode(Chunk(sample), []))
        except Exception:
            return 0.0  # one that can't be sent: whoever sends it says so
    return size * len(values) / len(sample)


class Weigher:
    """Estimates the size of one chunk after the other: of every batch of rows, and of samples of other elements."""

    def __init__(self) -> None:
        self._unweighed = 0

    def weigh(self, values: Sequence[Any]) -> float:
        """The approximate size of these elements, and of those before that were counted as 0, in bytes."""
        self._unweighed += len(values)
        if not values or (self._unweighed < FIRST_LOOK and values[0].__class__ is not Rows):
            return 0.0
        count, self._unweighed = self._unweighed, 0
        return weigh(values) * count / len(values)


class HeldBytes:
    """Decides when a growing list of elements exceeds a number of bytes.

    The size is estimated again when there are twice as many elements, or as many as would exceed the limit by the last
    estimate. So small elements are sampled a few times until they are sent, and the limit is exceeded only as far as
    elements grow, or come many at a time.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.look_at = FIRST_LOOK
        """the number of elements at which to ask ``is_much``"""

    def is_much(self, values: Sequence[Any], size: int) -> bool:
        """Whether these elements exceed the limit.

        :param size: the number of elements; of batches of rows that of their rows.
        """
        weight = weigh(values)
        fits = self._limit / weight if weight else 2.0
        self.look_at = max(size + 1, int(size * min(2.0, fits)))
        return fits <= 1.0

    def start(self) -> None:
        """The elements were sent: start from none."""
        self.look_at = FIRST_LOOK
