"""Computes change rows from the old and the new content of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Kinds, Rows, record_batch
from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.columns.row_codec import Row, RowCodec


def changes(
    old: Sequence[pa.Array], new: Sequence[pa.Array], had: Any, has: Any, before: bool, keep_equal: bool = False
) -> Rows:
    """The changes between the rows at the same positions of ``old`` and ``new``; the old and new row of an update are
    neighbours.

    :param had: where there was a row, as numpy Booleans; ``has``: where there is one now. Elsewhere a column may
        contain anything.
    :param before: whether an update includes the old row (-U).
    :param keep_equal: whether an unchanged row gives an update all the same.
    """
    both = had & has
    if not keep_equal and both.any():
        both = both & differing(old, new)
    count = len(had)
    # Old row i is at index i; the new rows follow all old ones.
    rows, kinds = placed_changes(np.arange(count), np.arange(count) + count, had, has, both, before)
    where = pa.array(rows)
    columns = [pa.concat_arrays([a, b]).take(where) for a, b in zip(old, new)]
    return Rows(record_batch(columns, len(kinds)), kinds if kinds.any() else None)


def placed_changes(old: Ids, new: Ids, had: Any, has: Any, updated: Any, before: bool) -> tuple[Ids, Kinds]:
    """(indexes of the change rows, their kinds): as ``changes``, for rows at given indexes.

    :param old: indexes of the old rows; ``new``: indexes of the new ones.
    :param updated: where a row has replaced another one.
    """
    first = np.where(updated & before, UPDATE_BEFORE, np.where(had & ~has, DELETE, 255))
    second = np.where(updated, UPDATE_AFTER, np.where(has & ~had, INSERT, 255))
    kinds = np.column_stack([first, second]).astype(np.uint8).ravel()
    chosen = kinds != 255
    return np.column_stack([old, new]).ravel()[chosen], kinds[chosen]


def differing(old: Sequence[pa.Array], new: Sequence[pa.Array]) -> Any:
    """Where rows differ, as numpy Booleans; NULL is equal to NULL, and NaN to NaN."""
    count = len(old[0]) if old else 0
    found = np.zeros(count, bool)
    for one, other in zip(old, new):
        plain = pa.types.is_integer(one.type) or pa.types.is_string(one.type) or pa.types.is_temporal(one.type)
        if plain and not one.null_count and not other.null_count:
            found |= pc.not_equal(one, other).to_numpy(zero_copy_only=False)
            continue
        ids, _ = group_ids([pa.concat_arrays([one, other])], 2 * count)
        found |= ids[:count] != ids[count:]
    return found


def row_changes(
    codec: RowCodec, old: Sequence[Row | None], new: Sequence[Row | None], before: bool, keep_equal: bool = False
) -> Rows:
    """As ``changes``, for rows as tuples; None stands for no row."""
    nothing = (None,) * len(codec.types)
    return changes(
        codec.columns([row or nothing for row in old]),
        codec.columns([row or nothing for row in new]),
        np.array([row is not None for row in old], bool),
        np.array([row is not None for row in new], bool),
        before,
        keep_equal,
    )
