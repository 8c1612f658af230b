"""What operators share whose windows end at a time: by watermarks, or by the clock."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.windows.window_config import TimedWindows

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

    @abstractmethod
    def fire_until(self, time: int) -> None:
        """Emit what is over at ``time`` (ms)."""

    @abstractmethod
    def next_end(self) -> int | None:
        """When the next window is over (ms), None without."""

    @abstractmethod
    def forget_open_windows(self) -> None:
        """Drop what has not fired, and will not."""

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
