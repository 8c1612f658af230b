"""Groups whose accumulators are objects, one state entry each: for all calls, and for one group without keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows, concat
from millrace.runtime.tables.aggregates.accumulators import Accumulator, Accumulators
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.aggregates.each_change import each_change, rows_of_changes
from millrace.runtime.tables.aggregates.groups import Grouping, Groups
from millrace.runtime.tables.columns.changes import changes
from millrace.runtime.tables.columns.keys import Key, group, key_columns
from millrace.runtime.tables.state import KeyedValue


class GroupObjects(Groups):
    """Groups with one accumulator object per key.

    :param types: types of the key columns, and of the results of calls.
    :param alive: whether an unchanged group emits an update all the same.
    """

    def __init__(
        self,
        state: KeyedValue,
        accumulators: Accumulators,
        grouping: Grouping,
        types: tuple[Sequence[pa.DataType], Sequence[pa.DataType]],
        alive: bool,
    ) -> None:
        self._state = state
        self._accumulators = accumulators
        self._keys, self._partial, self._with_before, self._evaluator = grouping
        self._key_types, self._result_types = types
        self._alive = alive
        self._before: dict[Key, Accumulator | None] = {}
        """keys changed in this slice -> their old accumulators; None: there was none"""
        self._values: dict[Key, tuple[Any, ...]] = {}
        """the old values of keys whose old accumulators can't be evaluated any more"""
        self._always = False
        """whether an aggregation without keys has a row even without input rows"""

    def update(self, rows: Rows) -> None:
        get, put, columns = self._state.get, self._state.put, rows.columns
        grouped = group([columns[index] for index in self._keys], len(rows))
        stored = [get(key) for key in grouped.keys]
        self._remember(grouped.keys, stored)
        zero = self._accumulators.zero
        old = [zero if each is None else each for each in stored]
        if self._partial:
            new = self._accumulators.merge_partials(grouped.ids, columns[len(self._keys) :], old)
        else:
            batch = Batch(self._evaluator(columns, len(rows)), grouped.ids, signs_of(rows))
            new = self._accumulators.update(batch, old, grouped.keys)
        for key, accumulator in zip(grouped.keys, new):
            put(key, accumulator)

    def each(self, rows: Rows) -> Rows:
        if self._partial or not self._accumulators.in_columns:
            # An accumulator can't be evaluated any more when a later row has changed its entries.
            return concat([changed for place in range(len(rows)) for changed in self._each_row(rows, place)])
        get, columns = self._state.get, rows.columns
        keys = [columns[index] for index in self._keys]
        grouped = group(keys, len(rows))
        batch = Batch(self._evaluator(columns, len(rows)), grouped.ids, signs_of(rows))
        groups = key_columns(grouped.keys, self._key_types)
        found = each_change(self._accumulators, batch, groups, [get(key) for key in grouped.keys])
        changed = rows_of_changes(self._accumulators, keys, found, (self._with_before, self._alive))
        for key, accumulator in zip(grouped.keys, found.last):
            if accumulator is not None:
                self._state.put(key, accumulator)
            else:
                self._state.remove(key)
                self._accumulators.clear(key)
        self._accumulators.settle()
        return changed

    def _each_row(self, rows: Rows, place: int) -> Iterator[Rows]:
        self.update(rows.take(np.array([place])))
        return self.changes()

    def _remember(self, keys: Sequence[Key], stored: Sequence[Accumulator | None]) -> None:
        before = self._before
        fresh = [(key, each) for key, each in zip(keys, stored) if key not in before]
        before.update(fresh)
        if self._accumulators.follows_from_slots:
            return
        known = [(key, each) for key, each in fresh if each is not None]
        if known:
            columns = self._accumulators.results([each for _, each in known], [key for key, _ in known])
            values = zip(*(column.to_pylist() for column in columns)) if columns else [()] * len(known)
            self._values.update(zip((key for key, _ in known), values))

    def end_input(self) -> None:
        """Without keys there is a row from now on, even without input rows."""
        if not self._keys:
            self._always = True
            stored = self._state.get(())
            self._remember([()], [stored])
            if stored is None:  # Restored from behind the end, the input ends again: the row is out.
                self._state.put((), self._accumulators.zero)

    def changes(self) -> Iterator[Rows]:
        if not self._before:
            return
        keys, before = list(self._before), list(self._before.values())
        get, zero = self._state.get, self._accumulators.zero
        now = [get(key) or zero for key in keys]
        had = np.array([each is not None and (each[0] > 0 or self._always) for each in before])
        has = np.array([each[0] > 0 or self._always for each in now])
        key_values = key_columns(keys, self._key_types)
        old = self._old_values(keys, [each or zero for each in before])
        new = self._accumulators.results(now, keys)
        self._before, self._values = {}, {}
        for key, stays in zip(keys, has.tolist()):
            if not stays:
                self._state.remove(key)
                self._accumulators.clear(key)
        self._accumulators.settle()
        yield changes([*key_values, *old], [*key_values, *new], had, has, self._with_before, self._alive)

    def _old_values(self, keys: Sequence[Key], before: Sequence[Accumulator]) -> list[pa.Array]:
        if self._accumulators.follows_from_slots:
            return self._accumulators.results(before, keys)
        nothing = (None,) * len(self._result_types)
        rows = [self._values.get(key, nothing) for key in keys]
        return [pa.array(values, each) for values, each in zip(zip(*rows), self._result_types)]
