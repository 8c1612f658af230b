"""The first half of a two-phase aggregation: partial accumulators of a slice, before rows are sent by key.

``GroupAggregate`` with ``partial`` is the second half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from millrace.relational.rex import AggCall
from millrace.relational.rows import Rows, record_batch
from millrace.runtime.tables.aggregates.accumulators import Accumulators
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.aggregates.partials import PartialColumns
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.columns.keys import group_ids, taken

MERGE_AT = 65_536
"""The number of held partial rows at which those with equal keys are merged."""


def supports_two_phases(calls: Sequence[AggCall], retracts: bool) -> bool:
    """Whether all calls have partial accumulators of fixed size: no DISTINCT, no stored values."""
    if any(call.udf is not None or call.distinct for call in calls):
        return False
    return Accumulators(calls, retracts, no_state).mergeable


def no_state(name: str) -> Any:
    """Used where only the form of an accumulator is needed: there is no state."""
    return None


@dataclass(frozen=True, kw_only=True)
class LocalAggregate(TableConfig):
    """The output is the keys, then all slots: the count of rows, and the slots of each call."""

    passes_rows = True

    keys: tuple[int, ...]
    calls: tuple[AggCall, ...]
    retracts: bool = False

    def operator(self) -> LocalAggregateOperator[Any]:
        return LocalAggregateOperator(self)


L = TypeVar("L", bound=LocalAggregate)


class LocalAggregateOperator(TableOperator[L]):
    """Has no state: everything is emitted at the end of the slice."""

    flushes_before_watermarks = False

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._accumulators = Accumulators(self.config.calls, self.config.retracts, no_state)
        self._held: list[Rows] = []
        self._size = 0

    def keyed(self, rows: Rows) -> tuple[Rows, list[pa.Array]]:
        """The rows that count, and their key columns."""
        return rows, [rows.batch.column(index) for index in self.config.keys]

    def receive(self, rows: Rows, input: int) -> None:
        rows, keys = self.keyed(rows)
        if not len(rows):
            return
        ids, first = group_ids(keys, len(rows))
        batch = Batch(self.evaluator(rows.columns, len(rows)), ids, signs_of(rows))
        partials = self._accumulators.partials(batch, len(first))
        self._hold(Rows(record_batch([*taken(keys, first, len(rows)), *partials], len(first))))

    def _hold(self, rows: Rows) -> None:
        self._held.append(rows)
        self._size += len(rows)
        if self._size >= MERGE_AT and len(self._held) > 1:
            merged = self._merged()
            self._held, self._size = [merged], len(merged)
            if self._size > MERGE_AT // 2:
                self.flush()  # there are too many keys for merging to help

    def _merged(self) -> Rows:
        batches = [rows.batch for rows in self._held]
        keys = batches[0].schema.types[: -len(self._accumulators.slots)]
        return Rows(PartialColumns(keys, self._accumulators.slots).merged(batches))

    def flush(self) -> None:
        if self._held:
            self.emit_rows(self._merged())
            self._held, self._size = [], 0
