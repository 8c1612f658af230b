"""Columns reduced by group: one value per group and column, with no Python per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.runtime.tables.columns.keys import Ids


def reduce_columns(ids: Ids, count: int, columns: Sequence[tuple[pa.Array, str]]) -> list[pa.Array]:
    """One column of ``count`` values for each (column, sum | min | max | first | last). NULLs are ignored; a group
    without other values has NULL.

    :param ids: the group of each row, below ``count``.
    """
    if count == len(ids) and np.array_equal(ids, np.arange(count)):
        # In a small batch most rows have a group of their own, and grouping them would cost more than everything else.
        return [column for column, _ in columns]
    found: list[pa.Array | None] = [None] * len(columns)
    together = [place for place, (column, how) in enumerate(columns) if _by_arrow(column, how)]
    if together:
        for place, column in zip(together, _aggregated(ids, count, [columns[place] for place in together])):
            found[place] = column
    for place, (column, how) in enumerate(columns):
        if found[place] is None:
            found[place] = column.take(_chosen(ids, count, column, how))
    return [each for each in found if each is not None]


def _by_arrow(column: pa.Array, how: str) -> bool:
    if how == "sum":
        return True
    kind = column.type
    numbers = pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind)
    # Not floating point: Arrow's min and max ignore NaN, for Flink it is the largest number.
    return how in ("min", "max") and (numbers or (pa.types.is_temporal(kind) and not pa.types.is_duration(kind)))


def _aggregated(ids: Ids, count: int, columns: Sequence[tuple[pa.Array, str]]) -> list[pa.Array]:
    names = [str(place) for place in range(len(columns))]
    table = pa.table([pa.array(ids), *(column for column, _ in columns)], ["id", *names])
    wanted = [(name, how) for name, (_, how) in zip(names, columns)]
    result = table.group_by("id", use_threads=False).aggregate(wanted).combine_chunks()
    places = result.column("id").to_numpy()
    reduced = [result.column(f"{name}_{how}") for name, how in wanted]
    if len(places) != count or not np.array_equal(places, np.arange(count)):
        where = np.full(count, -1, np.int64)
        where[places] = np.arange(len(places))
        indices = pa.array(where, mask=where < 0)
        reduced = [column.take(indices) for column in reduced]
    return [column.combine_chunks() for column in reduced]


def _chosen(ids: Ids, count: int, column: pa.Array, how: str) -> pa.Array:
    """The number of each group's row with the first, last, smallest or largest value; NULL: there is none."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    if how in ("first", "last"):
        rows = np.flatnonzero(valid)
    else:
        # Ascending, with NaN after all numbers and NULL at the end.
        ordered = pc.sort_indices(column).to_numpy()
        rows = ordered[: int(valid.sum())]
    if how in ("first", "min"):
        rows = rows[::-1]  # what is assigned last stays
    where: Any = np.full(count, -1, np.int64)
    where[ids[rows]] = rows
    return pa.array(where, mask=where < 0)
