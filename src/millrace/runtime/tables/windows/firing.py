"""The base of operators whose windows end at a time: by watermarks, or by the clock."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np

from millrace.relational.rows import Rows
from millrace.runtime.state.restoring.saved import KeyedPieces
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.window_times import passed
from millrace.runtime.tables.windows.window_config import TimedWindows
from millrace.runtime.windows.slicing import Slicing

C = TypeVar("C", bound=TimedWindows)


class FiringOperator(KeyedTableOperator[C]):
    """Fires windows as their time passes. Late rows and rows without time are counted."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._clock = self.config.clock
        self._event_time = self.config.time is not None
        metrics = context.runtime.get_metrics_group()
        self._late = metrics.counter("numLateRecordsDropped")
        self._without_time = metrics.counter("numNullRowTimeRecordsDropped")

    def open(self) -> None:
        super().open()
        self.plan()

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(pieces)
        self.plan()

    @abstractmethod
    def plan(self) -> None:
        """The state was restored, from an earlier copy or from other subtasks: plan the ends of its windows."""

    def in_windows(self, rows: Rows, times: Ids, windows: Slicing, lateness: int = 0) -> tuple[Rows, Ids]:
        """A row for each window that still accepts it, and the ends of these windows; rows that no window accepts are
        counted.

        :param times: local times of the rows (ms).
        :param lateness: how long after its end a window accepts rows (ms).
        """
        which, _, ends = windows.expand(times)
        if not self._event_time:
            return rows.take(which), ends
        wanted = ~passed(ends + lateness, self._clock, self.watermark)
        if wanted.all():
            return rows.take(which), ends
        self._late.inc(len(np.unique(which)) - len(np.unique(which[wanted])))
        return rows.take(which[wanted]), ends[wanted]

    @abstractmethod
    def fire_until(self, time: int) -> None:
        """Emit the windows that have ended at ``time`` (ms)."""

    @abstractmethod
    def next_end(self) -> int | None:
        """When the next window ends (ms); None: there is none."""

    @abstractmethod
    def forget_open_windows(self) -> None:
        """Drop the windows that have not fired, and never will."""

    def advance(self, watermark: int) -> None:
        if self._event_time:
            self.fire_until(watermark)

    def advance_processing_time(self, now: int) -> None:
        if not self._event_time:
            self.fire_until(now)

    def next_due(self) -> int | None:
        return None if self._event_time else self.next_end()

    def end_input(self) -> None:
        super().end_input()
        if not self._event_time:  # as in Flink: what has not fired when the input ends never does
            self.forget_open_windows()
