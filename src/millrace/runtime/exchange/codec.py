"""How a packet's elements become bytes: marshal for plain data, Arrow for batches of rows, one pickle for everything
else.

Marshal writes numbers and strings in columns several times as fast as pickle writes the same tuples (40 instead
of 330 ns for a pair), but it takes anything with a buffer for bytes (a numpy number!), so it only gets values whose
every field was looked at.
"""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from millrace.common.types import Row, RowKind, row_of
from millrace.relational.rows import Rows
from millrace.runtime.elements import Chunk, LatencyMark, Status
from millrace.runtime.exchange.packing import merge, pack, unpack
from millrace.runtime.pickling import dumps

Mark = int | Status | LatencyMark
"""A watermark (ms), a status change, or a mark whose way is timed."""

_PICKLE, _MARSHAL, _COLUMNS = b"P", b"M", b"C"
_MARSHAL_VERSION = 2  # later ones look every object up to find shared ones
_PLAIN = frozenset({int, float, str, bool, bytes, type(None)})
_TIMES = frozenset({int, type(None)})
_MARKS = frozenset({int, Status, LatencyMark})


class _Rows(NamedTuple):
    """Inserted Rows with the same field names, as plain lists."""

    names: Any
    fields: list[Any]


# What a packet's plain values are: themselves, or tuples or rows as columns.
_VALUES, _TUPLES, _ROWS = 0, 1, 2

_fields = attrgetter("_values")
_names = attrgetter("_fields")
_kind = attrgetter("_row_kind")


def encode(chunk: Chunk, marks: list[tuple[int, Mark]]) -> bytes:
    """Everything of a packet."""
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
    """Whether marshal takes what goes with the values: times may be numbers of numpy too."""
    return (
        _PLAIN.issuperset(map(type, chunk.keys or ()))
        and _TIMES.issuperset(map(type, chunk.timestamps or ()))
        and _MARKS.issuperset([type(mark) for _, mark in marks])
    )


class Packed(NamedTuple):
    """A packet's elements in the columns that they travel in, before they are objects."""

    form: int
    names: Any
    columns: list[Any]
    timestamps: list[int | None] | None
    keys: list[Any] | None
    plain: bool
    """whether marshal takes all of it"""

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
    """Elements that are objects already."""
    return Packed(_VALUES, None, [chunk.values], chunk.timestamps, chunk.keys, False)


def decode(payload: bytes) -> Iterator[Chunk | Mark]:
    """The chunks and marks of a packet, in order. Only for packets that ``encode`` of the same job made."""
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
    """All elements of a packet, and its marks with their places. As for ``decode``."""
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
    """Marks as marshal takes them."""
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
    """(form, names, content) if marshal gives every value back as it was, else None."""
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
    """Records of one width as columns of plain values; None for others."""
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
