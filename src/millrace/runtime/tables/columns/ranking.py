"""The rank of rows within groups, computed for all groups at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.rex import SortKey
from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.columns.ranges import begins

ROW_NUMBER, RANK, DENSE_RANK = "ROW_NUMBER", "RANK", "DENSE_RANK"

_NULL_FIRST, _NAN_FIRST, _NUMBER, _NAN_LAST, _NULL_LAST = range(5)
"""sorting classes of values before their size is compared: NaN is the largest number"""


def ranked(owners: Ids, order: Sequence[SortKey], evaluator: Evaluator, function: str) -> tuple[Ids, Ids]:
    """(row numbers by group and order, the rank of each, from 1). Equal rows keep their order.

    :param owners: the group of each row.
    """
    values = [evaluator.column(key.expression) for key in order]
    sorted_rows = sort_rows(owners, values, order)
    ordered = owners[sorted_rows]
    count = len(ordered)
    place = np.arange(count)
    start = np.maximum.accumulate(np.where(begins(ordered), place, 0)) if count else place
    if function == ROW_NUMBER:
        return sorted_rows, place - start + 1
    ties = group_ids([pa.array(owners), *values], count)[0][sorted_rows]
    differs = begins(ties)
    if function == RANK:
        first = np.maximum.accumulate(np.where(differs, place, 0)) if count else place
        return sorted_rows, first - start + 1
    steps = np.cumsum(differs)
    return sorted_rows, steps - (steps[start] if count else steps) + 1


def sort_rows(owners: Ids, values: Sequence[pa.Array], order: Sequence[SortKey]) -> Ids:
    """Row numbers sorted by group, then by these values; a stable sort."""
    columns: list[Any] = [pa.array(owners)]
    directions = ["ascending"]
    for column, key in zip(values, order):
        standing = _standing(column, key)
        if standing is not None:
            columns.append(standing)
            directions.append("ascending")
        columns.append(column)
        directions.append("descending" if key.descending else "ascending")
    names = [str(index) for index in range(len(columns))]
    found: Ids = pc.sort_indices(pa.table(columns, names), sort_keys=list(zip(names, directions))).to_numpy()
    return found.astype(np.int64)


def _standing(column: pa.Array, key: SortKey) -> pa.Array | None:
    """The sorting class of each value; None if there are no NULLs and NaNs."""
    found = np.full(len(column), _NUMBER, np.int8)
    if pa.types.is_floating(column.type):
        unlike = pc.is_nan(column).fill_null(False).to_numpy(zero_copy_only=False)
        found[unlike] = _NAN_FIRST if key.descending else _NAN_LAST
    if column.null_count:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        found[missing] = _NULL_FIRST if key.nulls_first else _NULL_LAST
    return None if (found == _NUMBER).all() else pa.array(found)
