"""Drops rows that can't be in the result because of other rows of their batch, before rows are sent by key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Ref, SortKey
from millrace.relational.rows import Rows
from millrace.runtime.tables.columns.keys import group_ids
from millrace.runtime.tables.columns.ranking import ranked
from millrace.runtime.tables.event_time import millis
from millrace.runtime.tables.exchange import Thinning
from millrace.runtime.tables.ordering.latest_rows import best_rows


@dataclass(frozen=True)
class BestOfBatch(Thinning):
    """For ``Deduplicate``: one row of each key."""

    keys: tuple[int, ...]
    last: bool
    time: int | None

    def thin(self, rows: Rows) -> Rows:
        ids, first = group_ids([rows.batch.column(place) for place in self.keys], len(rows))
        if len(first) == len(rows):
            return rows
        times = None if self.time is None else millis(rows.batch.column(self.time))
        return rows.take(np.sort(best_rows(ids, len(first), times, self.last)))


@dataclass(frozen=True)
class FirstOfBatch(Thinning):
    """For ``Rank`` with insertions only: the first rows of each partition."""

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    function: str
    last: int

    def thin(self, rows: Rows) -> Rows:
        if len(rows) <= self.last:
            return rows
        owners, first = group_ids([rows.batch.column(place) for place in self.partition], len(rows))
        if len(first) == len(rows):
            return rows
        evaluator = Evaluator(rows.columns, Surroundings(length=len(rows)))
        order, ranks = ranked(owners, self.order, evaluator, self.function)
        return rows.take(np.sort(order[ranks <= self.last]))


def first_of_batch(
    partition: tuple[int, ...], order: tuple[SortKey, ...], function: str, last: int
) -> FirstOfBatch | None:
    """The thinning for ``Rank``; None: its order depends on what only a task knows."""
    plain = all(isinstance(key.expression, Ref) for key in order)
    return FirstOfBatch(partition, order, function, last) if plain else None
