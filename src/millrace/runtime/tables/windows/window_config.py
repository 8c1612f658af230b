"""The descriptions of operators on windows, and functions that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.nodes import Emission, WindowSpec
from millrace.relational.rex import AggCall
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.tables.aggregates.aggregating import stored_calls
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.window_times import WallClock
from millrace.runtime.tables.stored_calls import OF_COUNTED, OF_SESSIONS, StoredCalls
from millrace.runtime.windows.slicing import CumulativeSlices, Slicing, SlidingSlices, TumblingSlices

START, END, ROWTIME, PROCTIME = "START", "END", "ROWTIME", "PROCTIME"


@dataclass(frozen=True, kw_only=True)
class TimedWindows(TableConfig):
    """Windows over a time attribute."""

    window: WindowSpec
    time: int | None
    """index of the event-time column; None: processing time"""
    zoned: bool
    """whether the time attribute is a TIMESTAMP_LTZ, as processing time always is"""

    @property
    def clock(self) -> WallClock:
        return WallClock(self.environment.zone if self.zoned else None)

    @property
    def slicing(self) -> Slicing:
        """The windows of TUMBLE, HOP and CUMULATE."""
        window = self.window
        if window.kind == "TUMBLE":
            return TumblingSlices(window.offset, window.size)
        kind = SlidingSlices if window.kind == "HOP" else CumulativeSlices
        return kind(window.offset, window.size, window.slide or window.size)


@dataclass(frozen=True, kw_only=True)
class WindowAggregate(TimedWindows):
    """Aggregates per window and key. The output is the keys, the value of each call, then ``properties``.

    A window emits its rows when it has ended, and never changes them, unless ``emission`` says otherwise. Rows of
    windows that have ended are dropped and counted (``numLateRecordsDropped``).
    """

    keys: tuple[int, ...]
    """indexes of the key columns"""
    key_types: tuple[DataType, ...]
    calls: tuple[AggCall, ...]
    properties: tuple[str, ...] = ()
    """further output columns: some of START, END, ROWTIME, PROCTIME"""
    retracts: bool = False
    """whether the input contains changes other than insertions"""
    attached: tuple[int, int] | None = None
    """indexes of window_start and window_end, if each row is in one window already: rows are partitioned by the keys
    and these two"""
    partial: bool = False
    """whether the input is the output of ``LocalWindowAggregate``"""
    emission: Emission | None = None
    """when a window emits rows that may change; None: only at its end, and they never change"""
    before: bool = True
    """whether the consumer needs the old row of an update (-U)"""

    def operator(self) -> Any:
        from millrace.runtime.tables.windows.count_windows import ROWS, CountWindowOperator
        from millrace.runtime.tables.windows.session_aggregate import SessionAggregateOperator
        from millrace.runtime.tables.windows.window_aggregate import WindowAggregateOperator

        if self.emission is not None:
            from millrace.runtime.tables.windows.changing_windows import ChangingWindowsOperator

            return ChangingWindowsOperator(self)
        if self.window.kind == ROWS:
            return CountWindowOperator(self)
        own_sessions = self.window.kind == "SESSION" and self.attached is None
        return SessionAggregateOperator(self) if own_sessions else WindowAggregateOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        from millrace.runtime.tables.windows.count_windows import COUNTED, ROWS
        from millrace.runtime.tables.windows.sessions import SESSIONS
        from millrace.runtime.tables.windows.window_aggregate import stored_windows

        if self.emission is not None:  # the rows that were given have the values of all calls
            return None
        if self.window.kind == ROWS:
            return stored_calls(self, replace(self, retracts=False), COUNTED, OF_COUNTED)
        if self.window.kind == "SESSION" and self.attached is None:
            return stored_calls(self, self, SESSIONS, OF_SESSIONS)
        return stored_windows(self)

    @property
    def arrow_key_types(self) -> list[pa.DataType]:
        return [arrow_type(each) for each in self.key_types]


def window_rows(
    config: WindowAggregate,
    keys: Sequence[pa.Array],
    values: Sequence[pa.Array],
    starts: Ids,
    ends: Ids,
    now: int | Ids,
) -> list[pa.Array]:
    """The columns of the result; each row is a window of a key.

    :param now: the processing time (ms), one or one per row.
    """
    clock = config.clock
    made = {
        START: lambda: clock.column(starts, False),
        END: lambda: clock.column(ends, False),
        ROWTIME: lambda: clock.column(ends - 1, True),
        PROCTIME: lambda: pa.array(np.full(len(ends), now, np.int64) * 1000).view(pa.timestamp("us", "UTC")),
    }
    return [*keys, *values, *(made[each]() for each in config.properties)]
