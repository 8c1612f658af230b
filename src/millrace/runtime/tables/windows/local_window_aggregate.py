"""The first half of a two-phase window aggregation: partial accumulators of the slices of windows.

``WindowAggregate`` with ``partial`` is the second half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.runtime.tables.aggregates.local_aggregate import LocalAggregate, LocalAggregateOperator
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.window_times import clock_times, has_passed
from millrace.runtime.tables.windows.window_config import TimedWindows
from millrace.runtime.tables.windows.window_table import without_null_times


@dataclass(frozen=True, kw_only=True)
class LocalWindowAggregate(LocalAggregate, TimedWindows):
    """The output is the keys; the end of the slice (BIGINT, local time in ms), or the two columns of an attached
    window; all slots."""

    attached: tuple[int, int] | None = None
    """indexes of window_start and window_end, if each row is in one window already"""

    def operator(self) -> LocalWindowAggregateOperator:
        return LocalWindowAggregateOperator(self)


class LocalWindowAggregateOperator(LocalAggregateOperator[LocalWindowAggregate]):
    """Rows are held until the end of the slice, or until a watermark may complete a window that contains them."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._clock, self._windows = self.config.clock, self.config.slicing
        self._earliest: int | None = None
        """the earliest end of a held slice (ms); None: nothing is held"""

    def open(self) -> None:
        super().open()
        self._without_time = self.context.runtime.get_metrics_group().counter("numNullRowTimeRecordsDropped")

    def keyed(self, rows: Rows) -> tuple[Rows, list[pa.Array]]:
        rows, ends, window = self._placed(rows)
        if len(rows):
            first = int(np.min(ends))
            self._earliest = first if self._earliest is None else min(first, self._earliest)
        rows, keys = super().keyed(rows)
        return rows, [*keys, *window]

    def _placed(self, rows: Rows) -> tuple[Rows, Ids, list[pa.Array]]:
        """(rows, the end of the slice of each, the columns with the slice or window)"""
        config = self.config
        if config.attached is not None:
            window = [rows.batch.column(index) for index in config.attached]
            return rows, clock_times(window[1]), window
        assert config.time is not None, "windows of processing time have one phase"
        rows = without_null_times(rows, config.time, self._without_time)
        ends = self._windows.slice_ends_at(self._clock.times(rows.batch.column(config.time)))
        return rows, ends, [pa.array(ends)]

    def advance(self, watermark: int) -> None:
        if self._earliest is not None and has_passed(self._earliest, self._clock, watermark):
            self.flush()

    def flush(self) -> None:
        super().flush()
        self._earliest = None
