"""Groups rows by key: key columns become group numbers, and each distinct key one tuple of Python values.

Python cost is per distinct key of a batch. A key is what a ``DataStream`` would be keyed by: a tuple of the values that
``pyarrow`` gives, so ``exchange.keys`` assigns it to the same key group. Values that can't be compared and hashed in a
tuple have another form there: lists and structs are tuples, NaN is a text, -0.0 is 0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.runtime.tables.columns.ranges import Ids as Ids

Key = tuple[Any, ...]

_NAN = "NaN"
"""stands for NaN, which does not equal itself; no column of numbers contains a text"""
_LARGEST = 2**62


class Grouped(NamedTuple):
    """The groups of rows with equal keys. NULL equals NULL here, as in GROUP BY."""

    ids: Ids
    """the group of each row; groups are numbered in the order of their first rows"""
    first: Ids
    """the first row of each group"""
    keys: list[Key]
    """the key of each group"""


def group(columns: Sequence[pa.Array], length: int) -> Grouped:
    """The groups of rows that are equal in these columns; all rows are one group if there are no columns.

    :param length: number of rows.
    """
    ids, first = group_ids(columns, length)
    return Grouped(ids, first, key_tuples(taken(columns, first, length), len(first)))


def taken(columns: Sequence[pa.Array], first: Ids, length: int) -> list[pa.Array]:
    """The values of each group's first row, for columns of ``length`` rows."""
    if len(first) == length:
        return list(columns)  # each row is a group, and groups are numbered by their first row
    return rows_at(columns, first)


def rows_at(columns: Sequence[pa.Array], positions: Ids) -> list[pa.Array]:
    """The values of the rows at these indexes."""
    where = pa.array(positions)
    return [column.take(where) for column in columns]


def at_indexes(columns: Sequence[pa.Array], places: Sequence[int], width: int) -> list[pa.Array]:
    """As many columns as ``width``: these at the indexes ``places``, None at the others."""
    found: list[pa.Array] = [None] * width
    for place, column in zip(places, columns):
        found[place] = column
    return found


def places_within(groups: Ids) -> Ids:
    """For each element of ascending groups how many of its group stand before it."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups, "left")


def group_ids(columns: Sequence[pa.Array], length: int) -> tuple[Ids, Ids]:
    """(group of each row, first row of each group), without any Python per key."""
    if not columns or length == 1:
        return np.zeros(length, np.int64), np.zeros(min(length, 1), np.int64)
    combined, size = _codes(columns[0])
    for column in columns[1:]:
        codes, count = _codes(column)
        if size * count >= _LARGEST:
            combined, size = _dense(combined)
        combined, size = combined * count + codes, size * count
    ids, count = combined, size
    if len(columns) > 1:
        ids, count = _dense(combined)
    first = np.empty(count, np.int64)
    # Assigned from the last row to the first, so that the first one remains.
    first[ids[::-1]] = np.arange(length - 1, -1, -1, dtype=np.int64)
    return ids, first


def key_tuples(columns: Sequence[pa.Array], length: int) -> list[Key]:
    """One key per row, also for equal keys."""
    if not columns:
        return [()] * length
    return list(zip(*map(hashable_values, columns)))


def hashable_values(column: pa.Array) -> list[Any]:
    """The values of a column in the form that they have in keys."""
    values: list[Any] = column.to_pylist()
    into = _freezer(column.type)
    return values if into is None else list(map(into, values))


def key_columns(keys: Sequence[Key], types: Sequence[pa.DataType]) -> list[pa.Array]:
    """The columns of these keys, with the given Arrow types."""
    if not keys:
        return [pa.array([], each) for each in types]
    return [value_column(values, each) for values, each in zip(zip(*keys), types)]


def value_column(values: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    """A column of values that ``hashable_values`` returned."""
    back = _thawer(data_type)
    return pa.array(values if back is None else list(map(back, values)), data_type)


def _codes(column: pa.Array) -> tuple[Ids, int]:
    """A number for each value, equal for equal values and ascending by their first rows; and how many numbers there
    are."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 becomes 0.0
    elif pa.types.is_nested(column.type):
        known: dict[Any, int] = {}
        return np.array([known.setdefault(each, len(known)) for each in hashable_values(column)], np.int64), len(known)
    encoded = column.dictionary_encode("encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)


def _dense(codes: Ids) -> tuple[Ids, int]:
    return _codes(pa.array(codes))


Change = Callable[[Any], Any]


def _freezer(data_type: pa.DataType) -> Change | None:
    """Converts values of Arrow to the form that they have in keys; None where they are the same."""
    if pa.types.is_floating(data_type):
        return _freeze_float
    if pa.types.is_map(data_type):
        key, item = _freezer(data_type.key_type) or _same, _freezer(data_type.item_type) or _same
        return lambda value: None if value is None else tuple(sorted(((key(k), item(v)) for k, v in value), key=repr))
    if pa.types.is_struct(data_type):
        parts = [(each.name, _freezer(each.type) or _same) for each in data_type]
        return lambda value: None if value is None else tuple([part(value[name]) for name, part in parts])
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type) or pa.types.is_fixed_size_list(data_type):
        inner = _freezer(data_type.value_type) or _same
        return lambda value: None if value is None else tuple(map(inner, value))
    return None


def _thawer(data_type: pa.DataType) -> Change | None:
    if pa.types.is_floating(data_type):
        return _thaw_float
    if pa.types.is_map(data_type):
        key, item = _thawer(data_type.key_type) or _same, _thawer(data_type.item_type) or _same
        return lambda value: None if value is None else [(key(k), item(v)) for k, v in value]
    if pa.types.is_struct(data_type):
        parts = [(each.name, _thawer(each.type) or _same) for each in data_type]
        return lambda value: None if value is None else {name: part(each) for (name, part), each in zip(parts, value)}
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type) or pa.types.is_fixed_size_list(data_type):
        inner = _thawer(data_type.value_type) or _same
        return lambda value: None if value is None else list(map(inner, value))
    return None


def _freeze_float(value: float | None) -> Any:
    if value is None:
        return None
    return value + 0.0 if value == value else _NAN


def _thaw_float(value: Any) -> float | None:
    return None if value is None else float(value)


def _same(value: Any) -> Any:
    return value
