"""Arrow columns as bytes, cut at given rows: Spark moves bytes many times as fast as lists of values.

A column is a few planes: whether each row has a value, and its values; lengths before those of texts and lists. Of each
plane there is one value of bytes a cut. Put behind each other, the planes of many cuts are those of all their rows, so
nothing here is done row by row or cut by cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Bounds = np.ndarray[Any, np.dtype[np.int64]]
"""the first row of each cut, and where the last one ends"""
_Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def planes_of(column: pa.Array, bounds: Bounds) -> Iterator[pa.Array]:
    """The planes of a column, each a binary column with a value for each cut.

    :raises OverflowError: a plane is larger than the 2 GB of a binary column.
    """
    kind = column.type
    yield _cut(np.asarray(column.is_valid().cast(pa.uint8())), 1, bounds)
    if pa.types.is_struct(kind):
        for at in range(kind.num_fields):
            yield from planes_of(column.field(at), bounds)
    elif _inner(kind) is not None:
        lists = column.cast(pa.list_(_inner(kind))) if pa.types.is_map(kind) else column
        lengths = np.asarray(pc.list_value_length(lists).fill_null(0))
        yield _cut(lengths, 4, bounds)
        yield from planes_of(lists.flatten(), _inner_bounds(lengths, bounds))
    elif _is_text(kind):
        # What lies below a NULL is left out.
        texts = column.fill_null(b"" if pa.types.is_binary(kind) else "") if column.null_count else column
        lengths = np.asarray(pc.binary_length(texts))
        yield _cut(lengths, 4, bounds)
        inner = _inner_bounds(lengths, bounds)
        first = int(_offsets(texts)[0])
        yield _cut(_buffer(texts, 2)[first : first + int(inner[-1])], 1, inner)
    elif pa.types.is_boolean(kind):
        yield _cut(np.asarray(column.fill_null(False).cast(pa.uint8())), 1, bounds)
    elif not pa.types.is_null(kind):
        width = kind.bit_width // 8
        yield _cut(_buffer(column, 1)[column.offset * width :], width, bounds)


def plane_count(kind: pa.DataType) -> int:
    """How many planes a column of this type has."""
    if pa.types.is_null(kind):
        return 1
    if pa.types.is_struct(kind):
        return 1 + sum(plane_count(field.type) for field in kind)
    inner = _inner(kind)
    if inner is not None:
        return 2 + plane_count(inner)
    return 3 if _is_text(kind) else 2


def column_of(planes: Iterator[pa.Array], kind: pa.DataType) -> pa.Array:
    """The rows of all cuts behind each other. It takes as many planes as the type has."""
    known = _bytes_of(next(planes))
    count, nulls = len(known), int(len(known) - np.count_nonzero(known))
    there = _bits(known) if nulls else None
    if pa.types.is_null(kind):
        return pa.nulls(count)
    if pa.types.is_struct(kind):
        children = [column_of(planes, field.type) for field in kind]
        return pa.Array.from_buffers(kind, count, [there], nulls, children=children)
    inner = _inner(kind)
    if inner is not None:
        offsets = _offsets_from(next(planes))
        return pa.Array.from_buffers(kind, count, [there, offsets], nulls, children=[column_of(planes, inner)])
    if _is_text(kind):
        offsets = _offsets_from(next(planes))
        return pa.Array.from_buffers(kind, count, [there, offsets, pa.py_buffer(_bytes_of(next(planes)))], nulls)
    values = _bytes_of(next(planes))
    data = _bits(values) if pa.types.is_boolean(kind) else pa.py_buffer(values)
    return pa.Array.from_buffers(kind, count, [there, data], nulls)


def cut_sizes(plane: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
    """How many rows each cut has: of the first plane of a column."""
    return np.diff(_offsets(plane))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _inner(kind: pa.DataType) -> pa.DataType | None:
    """The type of the elements, if it has any."""
    if pa.types.is_map(kind):
        return pa.struct([kind.key_field, kind.item_field])
    return kind.value_type if pa.types.is_list(kind) else None


def _inner_bounds(lengths: np.ndarray[Any, np.dtype[np.int32]], bounds: Bounds) -> Bounds:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])[bounds]


def _cut(values: np.ndarray[Any, Any], width: int, bounds: Bounds) -> pa.Array:
    """Values of so many bytes each, as one binary value a cut."""
    ends = bounds * width
    if len(ends) and ends[-1] > 2**31 - 1:
        raise OverflowError(f"{ends[-1]:,} bytes do not fit into a binary column")
    offsets = pa.py_buffer(ends.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, offsets, pa.py_buffer(values)])


def _offsets(column: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Of a column of texts, bytes or lists, also of a part of one."""
    buffer = column.buffers()[1]
    if buffer is None:
        return np.zeros(1, np.int32)
    return np.frombuffer(buffer, np.int32)[column.offset : column.offset + len(column) + 1]


def _offsets_from(lengths: pa.Array) -> pa.Buffer:
    offsets = np.zeros(len(_bytes_of(lengths)) // 4 + 1, np.int32)
    np.cumsum(_bytes_of(lengths).view(np.int32), out=offsets[1:])
    return pa.py_buffer(offsets)


def _bytes_of(plane: pa.Array) -> _Bytes:
    """All its cuts behind each other."""
    offsets = _offsets(plane)
    return _buffer(plane, 2)[offsets[0] : offsets[-1]]


def _buffer(column: pa.Array, number: int) -> _Bytes:
    buffer = column.buffers()[number]
    return np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)


def _bits(flags: _Bytes) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
