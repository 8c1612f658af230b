"""Changes of aggregates row by row, for ``millrace.table.aggregate.every-change``: in one pass over a batch.

What each row contributes to the slots of its accumulator is computed for the whole batch, and so are the results;
between them Python adds up row after row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.functions.aggregates.registry import column_of
from millrace.relational.rows import Rows
from millrace.runtime.tables.aggregates.accumulators import Accumulator, Accumulators
from millrace.runtime.tables.aggregates.batch import Batch
from millrace.runtime.tables.columns.changes import changes


class EachChange(NamedTuple):
    """Accumulators before and after each row of a batch; None: the group has no rows."""

    before: list[Accumulator | None]
    after: list[Accumulator | None]
    last: list[Accumulator | None]
    """the accumulator of each group after the batch"""


def each_change(
    accumulators: Accumulators, batch: Batch, keys: Sequence[pa.Array], stored: Sequence[Accumulator | None]
) -> EachChange:
    """Process a batch. Only if the accumulators are ``in_columns``.

    :param keys: key columns of the groups.
    :param stored: the accumulator of each group before the batch.
    """
    contributed, merges = accumulators.each(batch, keys, stored)
    now, zero = list(stored), accumulators.zero
    before: list[Accumulator | None] = []
    after: list[Accumulator | None] = []
    for id, *more in zip(batch.ids.tolist(), *contributed):
        known = now[id]
        found: Accumulator | None = tuple(
            [merge(old, new) for merge, old, new in zip(merges, zero if known is None else known, more)]
        )
        if found is not None and found[0] <= 0:
            found = None
        before.append(known)
        after.append(found)
        now[id] = found
    return EachChange(before, after, now)


def rows_of_changes(
    accumulators: Accumulators,
    keys: Sequence[pa.Array],
    found: EachChange,
    updates: tuple[bool, bool],
) -> Rows:
    """The changes as rows: the key columns, then the values of the calls.

    :param keys: key columns of each row of the batch.
    :param updates: (whether an update includes the old row, whether an unchanged group emits an update all the same).
    """
    old, new = (
        accumulators.column_results(columns_of(accumulators, [each or accumulators.zero for each in side]))
        for side in (found.before, found.after)
    )
    had, has = (np.array([each is not None for each in side], bool) for side in (found.before, found.after))
    return changes([*keys, *old], [*keys, *new], had, has, *updates)


def columns_of(accumulators: Accumulators, found: Sequence[Accumulator]) -> list[pa.Array]:
    """Accumulators as a column for each slot."""
    values: Any = zip(*found) if found else [()] * len(accumulators.slots)
    return [column_of(each, slot.type) for each, slot in zip(values, accumulators.slots)]
