"""GROUP BY without windows: a row for each key, updated as rows come and go.

Changes are gathered for an epoch, Flink's mini-batch: a key that changes often within an epoch gives one change, from
what it was before the epoch to what it is after it. Without keys there is one group. As in Flink it has no row before
the first row has come, and none when all rows have been taken back; but at the end of bounded input it has one, as in
batch mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.arrow import arrow_type
from millrace.relational.rex import AggCall
from millrace.relational.rows import Rows, concat
from millrace.relational.types import DataType
from millrace.runtime.tables.aggregates.accumulators import Accumulator
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.columns.changes import changes
from millrace.runtime.tables.columns.keys import Key, group, key_columns

ACCUMULATORS = "accumulators"
TOGETHER = 262_144
"""Rows of an epoch that are worked off at once: each key that occurs costs some Python each time."""


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


class GroupAggregateOperator(AggregatingOperator[GroupAggregate]):
    flushes_before_watermarks = False

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._state = self.keyed_value(ACCUMULATORS)
        self._key_types = [arrow_type(each) for each in config.key_types]
        self.aggregate(config.calls, config.retracts, lasting=self._key_types)
        self._waiting: list[Rows] = []
        """of this epoch"""
        self._size = 0
        self._before: dict[Key, Accumulator | None] = {}
        """keys that this epoch has touched -> what they were before"""
        self._values: dict[Key, tuple[Any, ...]] = {}
        """the old values of keys whose old accumulators do not tell them"""
        self._always = False
        """whether there is a row of nothing"""

    def receive(self, rows: Rows, input: int) -> None:
        if not self.config.every_change:
            self._waiting.append(rows)
            self._size += len(rows)
            if self._size >= TOGETHER:
                self._work_off()
            return
        for place in range(len(rows)):
            self._take(rows.take(np.array([place])))
            self.flush()

    def _work_off(self) -> None:
        if self._waiting:
            waiting, self._waiting, self._size = self._waiting, [], 0
            self._take(concat(waiting))

    def _take(self, rows: Rows) -> None:
        keys, get = self.config.keys, self._state.get
        columns = rows.columns
        if self.config.partial:
            keys = tuple(range(len(keys)))
        grouped = group([columns[index] for index in keys], len(rows))
        stored = [get(key) for key in grouped.keys]
        self._remember(grouped.keys, stored)
        zero = self.accumulators.zero
        old = [zero if each is None else each for each in stored]
        if self.config.partial:
            new = self.accumulators.merge_partials(grouped.ids, columns[len(keys) :], old)
        else:
            batch = Batch(self.evaluator(columns, len(rows)), grouped.ids, signs_of(rows))
            new = self.accumulators.update(batch, old, grouped.keys)
        put = self._state.put
        for key, accumulator in zip(grouped.keys, new):
            put(key, accumulator)

    def _remember(self, keys: Sequence[Key], stored: Sequence[Accumulator | None]) -> None:
        before = self._before
        fresh = [(key, each) for key, each in zip(keys, stored) if key not in before]
        before.update(fresh)
        if self.accumulators.follows_from_slots:
            return
        known = [(key, each) for key, each in fresh if each is not None]
        if known:
            columns = self.accumulators.results([each for _, each in known], [key for key, _ in known])
            values = zip(*(column.to_pylist() for column in columns)) if columns else [()] * len(known)
            self._values.update(zip((key for key, _ in known), values))

    def end_input(self) -> None:
        self._work_off()
        if not self.config.keys:
            self._always = True
            stored = self._state.get(())
            self._remember([()], [stored])
            if stored is None:  # Restored from behind the end, the input ends again: the row is out.
                self._state.put((), self.accumulators.zero)
        super().end_input()

    def flush(self) -> None:
        self._work_off()
        if not self._before:
            return
        keys, before = list(self._before), list(self._before.values())
        get, zero = self._state.get, self.accumulators.zero
        now = [get(key) or zero for key in keys]
        had = np.array([each is not None and (each[0] > 0 or self._always) for each in before])
        has = np.array([each[0] > 0 or self._always for each in now])
        key_values = key_columns(keys, self._key_types)
        old = self._old_values(keys, [each or zero for each in before])
        new = self.accumulators.results(now, keys)
        self._before, self._values = {}, {}
        for key, stays in zip(keys, has.tolist()):
            if not stays:
                self._state.remove(key)
                self.accumulators.clear(key)
        # With time to live whoever keeps the results must see that a key is still alive. Keys alone (DISTINCT) are only
        # inserted: nobody expects updates of them.
        alive = self.config.state_ttl > 0 and bool(self.config.calls)
        self.emit_rows(changes([*key_values, *old], [*key_values, *new], had, has, self.config.before, alive))

    def _old_values(self, keys: Sequence[Key], before: Sequence[Accumulator]) -> list[pa.Array]:
        if self.accumulators.follows_from_slots:
            return self.accumulators.results(before, keys)
        nothing = (None,) * len(self.config.calls)
        rows = [self._values.get(key, nothing) for key in keys]
        return [pa.array(values, arrow_type(call.type)) for values, call in zip(zip(*rows), self.config.calls)]
