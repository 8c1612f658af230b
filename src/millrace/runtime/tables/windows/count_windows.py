"""Aggregates over a number of rows of a key, in the order of arrival: the Table API's windows over
``row_interval(n)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.runtime.state.address import Scoped
from millrace.runtime.tables.aggregates.accumulators import Accumulator
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.columns.keys import Ids, group, key_columns
from millrace.runtime.tables.columns.ranges import ranges
from millrace.runtime.tables.windows.window_config import WindowAggregate

ROWS = "ROWS"
"""the kind of count windows"""
COUNTED = "windows"
"""name of the state"""


class CountWindowOperator(AggregatingOperator[WindowAggregate]):
    """State: key -> (number of rows so far, number of an open window -> accumulator).

    Window k has ``size`` rows from row ``k * slide`` on. It emits its row when it is full; windows that are not full at
    the end of the input emit none.
    """

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.aggregate(self.config.calls, retracts=False)
        self._state = self.keyed_value(COUNTED)
        self._size = self.config.window.size
        self._slide = self.config.window.slide or self._size

    def receive(self, rows: Rows, input: int) -> None:
        grouped = group([rows.batch.column(index) for index in self.config.keys], len(rows))
        known: list[tuple[int, dict[int, Accumulator]]] = [self._state.get(key) or (0, {}) for key in grouped.keys]
        seen = np.array([count for count, _ in known], np.int64)
        owners, windows = self._windows(grouped.ids, seen)
        opened = [dict(each) for _, each in known]
        self._add(rows.take(owners), grouped.ids[owners], windows, grouped.keys, opened)
        full: list[tuple[Any, int, Accumulator]] = []
        sizes = np.bincount(grouped.ids, minlength=len(known))
        for place, (key, count) in enumerate(zip(grouped.keys, (seen + sizes).tolist())):
            ready = [each for each in sorted(opened[place]) if each * self._slide + self._size <= count]
            full += [(key, each, opened[place].pop(each)) for each in ready]
            self._state.put(key, (count, opened[place]))
        self._fire(full)

    def _windows(self, ids: Ids, seen: Ids) -> tuple[Ids, Ids]:
        """(row, window) for every window that a row is in."""
        order = np.argsort(ids, kind="stable")
        starts = np.flatnonzero(np.diff(ids[order], prepend=-1))
        numbers = np.empty(len(ids), np.int64)
        numbers[order] = np.arange(len(ids)) - np.repeat(starts, np.diff(np.append(starts, len(ids))))
        numbers += seen[ids]
        first = np.maximum((numbers - self._size) // self._slide + 1, 0)
        return ranges(first, np.maximum(numbers // self._slide - first + 1, 0))

    def _add(self, rows: Rows, ids: Ids, windows: Ids, keys: list[Any], opened: list[dict[int, Accumulator]]) -> None:
        if not len(rows):
            return
        targets = group([pa.array(ids), pa.array(windows)], len(rows))
        ats = [Scoped(keys[place], window) for place, window in targets.keys]
        old = [opened[place].get(window, self.accumulators.zero) for place, window in targets.keys]
        batch = Batch(self.evaluator(rows.columns, len(rows)), targets.ids, signs_of(rows))
        for (place, window), accumulator in zip(targets.keys, self.accumulators.update(batch, old, ats)):
            opened[place][window] = accumulator

    def _fire(self, full: list[tuple[Any, int, Accumulator]]) -> None:
        if not full:
            return
        ats = [Scoped(key, window) for key, window, _ in full]
        values = self.accumulators.results([accumulator for _, _, accumulator in full], ats)
        keys = key_columns([key for key, _, _ in full], self.config.arrow_key_types)
        self.emit_columns([*keys, *values], len(full))
        for at in ats:
            self.accumulators.clear(at)
