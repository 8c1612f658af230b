"""GROUP BY without windows: a row for each key, updated as rows come and go.

Changes are gathered for a slice, Flink's mini-batch: a key that changes often within a slice gives one change, from
what it was before the slice to what it is after it. Without keys there is one group. As in Flink it has no row before
the first row has come, and none when all rows have been taken back; but at the end of bounded input it has one, as in
batch mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.relational.rex import AggCall
from millrace.relational.rows import Rows, concat
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator, stored_calls
from millrace.runtime.tables.aggregates.group_columns import GroupColumns
from millrace.runtime.tables.aggregates.group_objects import GroupObjects
from millrace.runtime.tables.aggregates.group_table import group_table
from millrace.runtime.tables.aggregates.groups import Grouping, Groups
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.stored_calls import StoredCalls

ACCUMULATORS = "accumulators"
TOGETHER = 262_144
"""Rows of a slice that are worked off at once: each key that occurs costs some Python each time."""


@dataclass(frozen=True, kw_only=True)
class GroupAggregate(TableConfig):
    """The keys, then the value of each call."""

    keys: tuple[int, ...]
    """columns of the input"""
    key_types: tuple[DataType, ...]
    calls: tuple[AggCall, ...]
    retracts: bool = False
    """whether the input has other rows than insertions"""
    before: bool = True
    """whether the consumer needs the old row of an update (-U)"""
    partial: bool = False
    """the input is what ``LocalAggregate`` gives: the keys, then the slots of partial accumulators"""
    every_change: bool = False
    """each row of the input makes its change, as in Flink; else one change for each key and epoch"""

    def operator(self) -> GroupAggregateOperator:
        return GroupAggregateOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        return stored_calls(self, self, ACCUMULATORS)


class GroupAggregateOperator(AggregatingOperator[GroupAggregate]):
    """With accumulators in columns where they are in memory, never expire and their slots say it all; else, and for the
    group of an aggregation without keys, as objects."""

    flushes_before_watermarks = False

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        key_types = [arrow_type(each) for each in config.key_types]
        self.aggregate(config.calls, config.retracts, lasting=key_types)
        keys = tuple(range(len(config.keys))) if config.partial else config.keys
        grouping = Grouping(keys, config.partial, config.before, self.evaluator)
        self._groups: Groups
        if keys and self.accumulators.in_columns and self.backend.in_memory and not config.state_ttl:
            table = self.backend.use(ACCUMULATORS, group_table(key_types, self.accumulators.slots))
            self._groups = GroupColumns(table, self.accumulators, grouping)
        else:
            # With time to live whoever keeps the results must see that a key is still alive. Keys alone (DISTINCT) are
            # only inserted: nobody expects updates of them.
            alive = config.state_ttl > 0 and bool(config.calls)
            types = key_types, [arrow_type(call.type) for call in config.calls]
            self._groups = GroupObjects(self.keyed_value(ACCUMULATORS), self.accumulators, grouping, types, alive)
        self._waiting: list[Rows] = []
        """of this epoch"""
        self._size = 0

    def receive(self, rows: Rows, input: int) -> None:
        if not self.config.every_change:
            self._waiting.append(rows)
            self._size += len(rows)
            if self._size >= TOGETHER:
                self._work_off()
            return
        for place in range(len(rows)):
            self._groups.update(rows.take(np.array([place])))
            self.flush()

    def _work_off(self) -> None:
        if self._waiting:
            waiting, self._waiting, self._size = self._waiting, [], 0
            self._groups.update(concat(waiting))

    def end_input(self) -> None:
        self._work_off()
        self._groups.end_input()
        super().end_input()

    def flush(self) -> None:
        self._work_off()
        for changed in self._groups.changes():
            self.emit_rows(changed)
