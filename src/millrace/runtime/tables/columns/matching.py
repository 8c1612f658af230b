"""Pairs of rows with equal keys, as indexes: the inner loop of all joins, without a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.columns.ranges import ranges


def equal_pairs(left: Ids, right: Ids) -> tuple[Ids, Ids]:
    """All pairs of indexes with equal codes, ordered by left, then by right index. Negative codes equal nothing."""
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    starts = np.searchsorted(ordered, left, "left")
    counts = np.where(left < 0, 0, np.searchsorted(ordered, left, "right") - starts)
    owners, places = ranges(starts, counts)
    return owners, order[places]


def near_pairs(left: Ids, left_times: Ids, right: Ids, right_times: Ids, lower: int, upper: int) -> tuple[Ids, Ids]:
    """The pairs of ``equal_pairs`` with ``lower <= right time - left time <= upper``, found without computing the
    others."""
    if not len(left) or not len(right):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    before, after = int(right_times.min()) - 1, int(right_times.max()) + 1
    span = after - before + 1

    def places(codes: Ids, times: Ids) -> Ids:
        return codes * span + np.clip(times, before, after) - before

    of_right = places(right, right_times)
    order = np.argsort(of_right, kind="stable")
    ordered = of_right[order]
    starts = np.searchsorted(ordered, places(left, left_times + lower), "left")
    ends = np.searchsorted(ordered, places(left, left_times + upper), "right")
    owners, found = ranges(starts, np.where(left < 0, 0, ends - starts))
    return owners, order[found]


def common_codes(
    left: Sequence[pa.Array], right: Sequence[pa.Array], lengths: tuple[int, int], null_safe: Sequence[bool]
) -> tuple[Ids, Ids]:
    """Codes for the key columns of two sides: equal where all columns are equal, -1 where a NULL equals nothing.
    ``null_safe`` says for each column whether its NULLs equal each other."""
    both = [pa.chunked_array([one, other], one.type).combine_chunks() for one, other in zip(left, right)]
    codes = np.where(has_null(both, sum(lengths), null_safe), -1, group_ids(both, sum(lengths))[0])
    return codes[: lengths[0]], codes[lengths[0] :]


def has_null(columns: Sequence[pa.Array], length: int, null_safe: Sequence[bool]) -> Any:
    """The rows that equal nothing because a column that is not null-safe is NULL, as numpy Booleans."""
    found = np.zeros(length, bool)
    for column, safe in zip(columns, null_safe):
        if not safe and column.null_count:
            found |= column.is_null().to_numpy(zero_copy_only=False)
    return found


def running(groups: Ids, changes: Any) -> tuple[Ids, Ids, Ids]:
    """Running sums within groups.

    :param groups: the group of each element.
    :return: (for each element the sum of the changes before it in its group, the distinct groups, the sum of all
        changes in each)
    """
    changes = np.asarray(changes, np.int64)
    order = np.argsort(groups, kind="stable")
    sorted_groups, ordered = groups[order], changes[order]
    before = np.cumsum(ordered) - ordered
    distinct, firsts, sizes = np.unique(sorted_groups, return_index=True, return_counts=True)
    sums = np.empty(len(groups), np.int64)
    sums[order] = before - np.repeat(before[firsts], sizes)
    return sums, distinct, np.add.reduceat(ordered, firsts) if len(firsts) else firsts


def with_missing(left_at: Ids, right_at: Ids, length: int) -> tuple[Ids, Ids]:
    """The pairs, and for each of the ``length`` left rows without a pair one with -1, in the order of the left rows."""
    alone = np.flatnonzero(np.bincount(left_at, minlength=length) == 0)
    left = np.concatenate([left_at, alone])
    right = np.concatenate([right_at, np.full(len(alone), -1)])
    order = np.argsort(left, kind="stable")
    return left[order], right[order]


def take_or_null(column: pa.Array, positions: Ids) -> pa.Array:
    """The values at these indexes, NULL for negative ones."""
    missing = positions < 0
    if not missing.any():
        return column.take(pa.array(positions))
    if not len(column):
        return pa.nulls(len(positions), column.type)
    return column.take(pa.array(np.where(missing, 0, positions), mask=missing))


def side_by_side(left: Sequence[pa.Array], right: Sequence[pa.Array], left_at: Ids, right_at: Ids) -> list[pa.Array]:
    """The columns of joined rows, NULLs where an index is negative."""
    return [
        *(take_or_null(column, left_at) for column in left),
        *(take_or_null(column, right_at) for column in right),
    ]
