"""DISTINCT aggregates with few keys and many values, divided among tasks
(``table.optimizer.distinct-agg.split.enabled``).

Rows are partitioned by their key and by a hash of the distinct values, so that many tasks store the values of one key.
In each slice a task sends what its new values add to the aggregates to the task of the key, which merges it
(``GroupAggregate`` with ``partial``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rex import AggCall, Rex
from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.tables.aggregates.accumulators import Accumulator, Accumulators
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.aggregates.local_aggregate import no_state
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Key, group, key_columns

BUCKETS = 1024
"""``table.optimizer.distinct-agg.split.bucket-num``"""


def shared_values(calls: Sequence[AggCall], retracts: bool) -> tuple[Rex, ...] | None:
    """The arguments of all DISTINCT calls, if they are the same and all calls can be merged; else None."""
    distinct = {call.args for call in calls if call.distinct}
    if len(distinct) != 1 or any(call.udf is not None for call in calls):
        return None
    mergeable = Accumulators(without_distinct(calls), retracts, no_state).mergeable
    return distinct.pop() if mergeable else None


def without_distinct(calls: Sequence[AggCall]) -> tuple[AggCall, ...]:
    """The calls that merge the output of ``DistinctAggregate``."""
    return tuple(replace(call, distinct=False) for call in calls)


@dataclass(frozen=True, kw_only=True)
class BucketColumn(TableConfig):
    """The output is the columns of the input, then the bucket of some values (INT)."""

    values: tuple[Rex, ...]
    buckets: int = BUCKETS

    def operator(self) -> BucketColumnOperator:
        return BucketColumnOperator(self)


class BucketColumnOperator(TableOperator[BucketColumn]):
    def receive(self, rows: Rows, input: int) -> None:
        evaluator = self.evaluator(rows.columns, len(rows))
        hashes = key_hashes([evaluator.column(each) for each in self.config.values], len(rows))
        buckets = (hashes % np.uint64(self.config.buckets)).astype(np.int32)
        self.emit_rows(rows.with_columns([*rows.columns, pa.array(buckets)]))


@dataclass(frozen=True, kw_only=True)
class DistinctAggregate(TableConfig):
    """The output is the keys, then all slots of accumulators of this slice's new values, as in ``LocalAggregate``."""

    keys: tuple[int, ...]
    key_types: tuple[DataType, ...]
    bucket: int
    """index of the column with the bucket, the last key that rows are partitioned by"""
    calls: tuple[AggCall, ...]
    retracts: bool = False

    def operator(self) -> DistinctAggregateOperator:
        return DistinctAggregateOperator(self)


class DistinctAggregateOperator(AggregatingOperator[DistinctAggregate]):
    """State: the distinct values of each key and bucket. Their aggregates are stored by the next operator."""

    flushes_before_watermarks = False

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.aggregate(self.config.calls, self.config.retracts)
        self._new: dict[Key, Accumulator] = {}

    def receive(self, rows: Rows, input: int) -> None:
        columns = rows.columns
        grouped = group([columns[index] for index in (*self.config.keys, self.config.bucket)], len(rows))
        batch = Batch(self.evaluator(columns, len(rows)), grouped.ids, signs_of(rows))
        zero = self.accumulators.zero
        old = [self._new.get(key, zero) for key in grouped.keys]
        self._new.update(zip(grouped.keys, self.accumulators.update(batch, old, grouped.keys)))

    def flush(self) -> None:
        if not self._new:
            return
        new, self._new = self._new, {}
        types = [arrow_type(each) for each in self.config.key_types]
        keys = key_columns([key[:-1] for key in new], types)
        slots = zip(zip(*new.values()), self.accumulators.slots)
        self.emit_columns([*keys, *(pa.array(values, slot.type) for values, slot in slots)], len(new))
