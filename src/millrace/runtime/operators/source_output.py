"""Where a reader puts its elements: gathers single ones to chunks, each split's for themselves, and counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.source import ReaderOutput
from millrace.relational.rows import Rows
from millrace.runtime.elements import Status, count
from millrace.runtime.operators.assign_timestamps import EventTime
from millrace.runtime.operators.split_times import SplitTimes

CHUNK = 4_096
"""Elements that single ``collect`` calls are gathered to."""


class _Gathering(ReaderOutput[Any]):
    def __init__(self, elements: Callable[[list[Any], list[int | None] | None, int], None], now: Callable[[], int]):
        self._elements = elements
        self._now = now
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []
        self.count = 0
        """records of this epoch; of batches of rows the rows, but one at least: an epoch has an end also if all are
        empty"""

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self._values.append(record)
        self._timestamps.append(timestamp)
        self.count += max(len(record), 1) if record.__class__ is Rows else 1
        if len(self._values) >= CHUNK:
            self.flush()

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        self.flush()
        self.count += max(count(records), len(records))
        self._elements(records, None if timestamps is None else list(timestamps), self._now())

    def flush(self) -> None:
        if not self._values:
            return
        values, timestamps = self._values, self._timestamps
        self._values, self._timestamps = [], []
        known = None if timestamps.count(None) == len(timestamps) else timestamps
        self._elements(values, known, self._now())


class _SplitOutput(_Gathering):
    """The elements of one split."""

    def __init__(self, time: EventTime, now: Callable[[], int]) -> None:
        super().__init__(time.elements, now)
        self._time = time

    def emit_watermark(self, timestamp: int) -> None:
        self.flush()
        self._time.mark(timestamp)

    def mark_idle(self) -> None:
        self.flush()
        self._time.mark(Status.IDLE)


class SourceOutput(_Gathering):
    """The elements of no split, and the outputs of those that have one."""

    def __init__(self, times: SplitTimes, now: Callable[[], int]) -> None:
        super().__init__(times.elements, now)
        self._times = times
        self._splits: dict[str, _SplitOutput] = {}

    def emit_watermark(self, timestamp: int) -> None:
        self.flush_all()
        self._times.mark(timestamp)

    def mark_idle(self) -> None:
        self.flush_all()
        self._times.mark_idle()

    def create_output_for_split(self, split_id: str) -> ReaderOutput[Any]:
        if split_id not in self._splits:
            self._splits[split_id] = _SplitOutput(self._times.of_split(split_id), self._now)
        return self._splits[split_id]

    def release_output_for_split(self, split_id: str) -> None:
        released = self._splits.pop(split_id, None)
        if released is not None:
            released.flush()
            self.count += released.count
        self._times.release(split_id)

    def flush_all(self) -> None:
        self.flush()
        for output in self._splits.values():
            output.flush()

    @property
    def total(self) -> int:
        """Records of this epoch, in all splits."""
        return self.count + sum(output.count for output in self._splits.values())

    def begin_epoch(self) -> None:
        self.count = 0
        for output in self._splits.values():
            output.count = 0
