"""GROUP BY without windows: one row for each key, updated as rows are added and retracted.

Changes are gathered for a slice, Flink's mini-batch: a key that changes often within a slice gives one change, from its
row before the slice to its row after it. Without keys there is one group. As in Flink it has no row before the first
input row, and none when all rows were retracted; but at the end of bounded input it has one, as in batch mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.relational.rex import AggCall
from millrace.relational.rows import Rows, concat
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator, stored_calls
from millrace.runtime.tables.aggregates.group_columns import GroupColumns
from millrace.runtime.tables.aggregates.group_objects import GroupObjects
from millrace.runtime.tables.aggregates.groups import Grouping, Groups
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.group_table import group_table
from millrace.runtime.tables.stored_calls import StoredCalls

ACCUMULATORS = "accumulators"
TOGETHER = 262_144
"""The number of rows of a slice that are processed at once: each distinct key costs some Python each time."""


@dataclass(frozen=True, kw_only=True)
class GroupAggregate(TableConfig):
    """The output is the keys, then the value of each call."""

    keys: tuple[int, ...]
    """key columns of the input"""
    key_types: tuple[DataType, ...]
    calls: tuple[AggCall, ...]
    retracts: bool = False
    """whether the input contains changes other than insertions"""
    before: bool = True
    """whether the consumer needs the old row of an update (-U)"""
    partial: bool = False
    """the input is the output of ``LocalAggregate``: the keys, then the slots of partial accumulators"""

    def operator(self) -> GroupAggregateOperator:
        return GroupAggregateOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        return stored_calls(self, self, ACCUMULATORS)


class GroupAggregateOperator(AggregatingOperator[GroupAggregate]):
    """Accumulators are in columns where they consist of slots; else, and for an aggregation without keys, they are
    objects."""

    flushes_before_watermarks = False

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        key_types = [arrow_type(each) for each in config.key_types]
        self.aggregate(config.calls, config.retracts, lasting=key_types)
        keys = tuple(range(len(config.keys))) if config.partial else config.keys
        grouping = Grouping(keys, config.partial, config.before, self.evaluator)
        self._groups: Groups
        # With time to live, later operators with state must see that a key is still alive. Keys alone (DISTINCT) are
        # only inserted: no operator expects updates of them.
        alive = config.state_ttl > 0 and bool(config.calls)
        if keys and self.accumulators.in_columns:
            table = self.backend.use(ACCUMULATORS, group_table(key_types, self.accumulators.slots, self.expiry()))
            self._groups = GroupColumns(table, self.accumulators, grouping, alive)
        else:
            types = key_types, [arrow_type(call.type) for call in config.calls]
            self._groups = GroupObjects(self.keyed_value(ACCUMULATORS), self.accumulators, grouping, types, alive)
        self._waiting: list[Rows] = []
        """rows of this slice that were not processed yet"""
        self._size = 0

    def receive(self, rows: Rows, input: int) -> None:
        if not self.config.every_change:
            self._waiting.append(rows)
            self._size += len(rows)
            if self._size >= TOGETHER:
                self._work_off()
            return
        self.emit_rows(self._groups.each(rows))

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
