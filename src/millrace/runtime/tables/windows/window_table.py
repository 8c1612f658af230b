"""The windowing table functions TUMBLE, HOP and CUMULATE: each row once for every window that contains it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.runtime.tables.base import TableOperator
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.window_times import WallClock
from millrace.runtime.tables.windows.window_config import TimedWindows


@dataclass(frozen=True, kw_only=True)
class WindowTable(TimedWindows):
    """The output is the columns of the input, then window_start, window_end and window_time. Rows keep their kinds. A
    row with a NULL time is in no window: it is dropped and counted (``numNullRowTimeRecordsDropped``)."""

    def operator(self) -> WindowTableOperator:
        return WindowTableOperator(self)


class WindowTableOperator(TableOperator[WindowTable]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._clock = self.config.clock
        self._windows = self.config.slicing
        self._dropped = context.runtime.get_metrics_group().counter("numNullRowTimeRecordsDropped")

    def receive(self, rows: Rows, input: int) -> None:
        rows, times = timed(rows, self.config.time, self._clock, self.context.clock, self._dropped)
        which, starts, ends = self._windows.expand(times)
        self.emit_rows(with_windows(rows if len(which) == len(rows) else rows.take(which), starts, ends, self._clock))


def timed(rows: Rows, time: int | None, clock: WallClock, now: Callable[[], int], dropped: Any) -> tuple[Rows, Ids]:
    """The rows that have a time, and their local times (ms).

    :param time: index of the time column; None: all rows have the time ``now``.
    :param dropped: counts the rows without a time.
    """
    if time is None:
        return rows, np.full(len(rows), clock.time(now()), np.int64)
    rows = without_null_times(rows, time, dropped)
    return rows, clock.times(rows.batch.column(time))


def without_null_times(rows: Rows, time: int, dropped: Any) -> Rows:
    """The rows that have a time; ``dropped`` counts the others."""
    column = rows.batch.column(time)
    if column.null_count:
        dropped.inc(column.null_count)
        rows = rows.where(column.is_valid())
    return rows


def with_windows(rows: Rows, starts: Any, ends: Any, clock: WallClock) -> Rows:
    """The rows with the columns of each row's window."""
    return rows.with_columns([*rows.columns, *window_columns(starts, ends, clock)])


def window_columns(starts: Any, ends: Any, clock: WallClock) -> list[pa.Array]:
    """The columns window_start, window_end and window_time: the last ms of the window, of the type of the time
    attribute."""
    return [clock.column(starts, False), clock.column(ends, False), clock.column(ends - 1, True)]
