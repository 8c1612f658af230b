"""WATERMARK FOR a column: assigns event time to the rows of a table.

As for a ``DataStream`` there is one watermark per batch, after its rows: the largest value of the expression so far. A
row is late if its time is at or before the watermark. Watermarks are made by an operator, or within the source by a
generator for each split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Ref, Rex
from millrace.relational.rows import Rows, concat
from millrace.relational.sources import NULL_TIMES
from millrace.runtime.clocks import JumpsIgnored, TimeJumps
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Pause, Status
from millrace.runtime.tables.base import Environment, TableConfig, TableOperator
from millrace.util.skipped import SKIPPED_METRIC

Capped = Callable[[list[int], Sequence[Any]], list[int]]
"""(watermarks of rows in ms, the rows) -> the watermarks, with lower ones for those that jump too far ahead"""
_SHOWN = 500
"""the most characters of a row in the log"""


@dataclass(frozen=True, kw_only=True)
class LeaveOutNoTimes(TableConfig):
    """Rows with a NULL time attribute are dropped and counted."""

    column: int

    def operator(self) -> LeaveOutOperator:
        return LeaveOutOperator(self)


class LeaveOutOperator(TableOperator[LeaveOutNoTimes]):
    def open(self) -> None:
        super().open()
        self._left_out = self.context.runtime.get_metrics_group().counter(SKIPPED_METRIC)

    def receive(self, rows: Rows, input: int) -> None:
        times = rows.batch.column(self.config.column)
        if times.null_count:
            self._left_out.inc(times.null_count)
            rows = rows.where(times.is_valid())
        if len(rows):
            self.emit_rows(rows)


@dataclass(frozen=True, kw_only=True)
class WatermarkAssigner(TableConfig):
    """Rows pass unchanged. The watermarks of the input are replaced, except for the last one."""

    column: int
    """index of the time attribute, a timestamp"""
    names: tuple[str, ...] = ()
    """names of the columns, for errors"""
    expression: Rex
    """the watermark that a row implies, a timestamp; NULL: none"""
    idle_timeout: int = 0
    """time in ms without rows after which the stream is idle (``table.exec.source.idle-timeout``); 0: never"""
    max_jump: int | None = None
    """how far event time may jump ahead (ms); None: no limit"""

    def operator(self) -> WatermarkOperator:
        return WatermarkOperator(self)


class WatermarkOperator(TableOperator[WatermarkAssigner]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._largest = self._next = MIN_TIMESTAMP
        """the last emitted watermark, and the one that is due (ms)"""
        self._pause = Pause()
        self._cap = None if self.config.max_jump is None else TimeJumps(self.config.max_jump)
        self._jumps = JumpsIgnored(context)
        self._idle = False
        self._last_active: int | None = None

    def receive(self, rows: Rows, input: int) -> None:
        times = rows.batch.column(self.config.column)
        if times.null_count:
            names = self.config.names
            raise _no_time(names[self.config.column] if names else "", rows, names, times)
        self._last_active = self.context.steady()
        self._set_idle(False)
        self.emit_rows(rows)
        marks = self.evaluator(rows.columns, len(rows)).column(self.config.expression)
        largest = _largest(marks) if self._cap is None else self._credible(self._cap, _millis(marks), rows)
        if largest is not None:
            self._next = max(self._next, largest)
        if self._pause.is_over(self._last_active, self.context.midst):
            self.flush()

    def _credible(self, cap: TimeJumps, marks: list[int], rows: Rows) -> int | None:
        found, ignored = cap.capped(marks)
        if ignored:
            self._jumps.ignored(len(ignored), marks[ignored[0]], _Shown(rows)[ignored[0]])
        return max(found, default=None)

    def flush(self) -> None:
        if self._next > self._largest:
            self._largest = self._next
            self.output.mark(self._largest)

    def process_watermark(self, watermark: int) -> None:
        self.watermark = watermark
        if watermark == MAX_WATERMARK:
            self._set_idle(False)
            self._largest = watermark
            self.output.mark(watermark)

    def process_status(self, status: Status) -> None:
        """The input's status says nothing about event time, which begins at this operator."""

    def tick(self, now: int) -> None:
        timeout = self.config.idle_timeout
        if not timeout or self._largest == MAX_WATERMARK:
            return
        steady = self.context.steady()
        if self._last_active is None or self._last_active > steady:  # of another process
            self._last_active = steady
        elif steady - self._last_active >= timeout:
            self._set_idle(True)

    def _set_idle(self, idle: bool) -> None:
        if idle != self._idle:
            self._idle = idle
            self.output.mark(Status.IDLE if idle else Status.ACTIVE)

    def snapshot(self) -> Any:
        cap = () if self._cap is None else (self._cap.snapshot(),)
        return self._largest, self._idle, self._last_active, *cap

    def restore(self, snapshot: Any) -> None:
        self._largest, self._idle, self._last_active, *cap = snapshot
        if self._cap is not None and cap:
            self._cap.restore(cap[0])
        self._next = self._largest

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        runtime = self.context.runtime
        if len(smalls) == runtime.get_number_of_parallel_subtasks():
            largest = smalls[runtime.get_index_of_this_subtask()][0]
            self._largest = self._next = MIN_TIMESTAMP if largest == MAX_WATERMARK else largest


@dataclass(frozen=True)
class RowsWatermarks(WatermarkGenerator):
    """Makes the watermarks of a split.

    :ivar time: the time attribute, an expression over the columns of the source; ``expression`` is the watermark.
    """

    time: Rex
    expression: Rex
    environment: Environment
    names: tuple[str, ...] = ()
    """names of the columns, for errors"""
    leaves_out: bool = False
    """whether rows without a time are dropped later, by an operator after the source"""
    stateless = True

    def __call__(self) -> RowsWatermarks:
        """A generator for one more split."""
        return self

    def on_values(self, values: list[Rows], output: WatermarkOutput, capped: Capped | None = None) -> None:
        """Process batches that arrived together. One watermark follows them, because computing it costs as much for few
        rows as for many.

        :param capped: limits the rows' watermarks to credible ones.
        """
        self._follow(concat(values), output, capped)

    def on_event(self, event: Rows, timestamp: int, output: WatermarkOutput) -> None:
        self._follow(event, output, None)

    def _follow(self, event: Rows, output: WatermarkOutput, capped: Capped | None) -> None:
        if not len(event):
            return
        around = self.environment
        surroundings = Surroundings(len(event), around.zone, 0, around.database, None, around.configuration)
        evaluator = Evaluator(event.columns, surroundings)
        times = evaluator.column(self.time)
        if times.null_count and not self.leaves_out:
            names = self.names
            raise _no_time(names[self.time.index] if names and isinstance(self.time, Ref) else "", event, names, times)
        marks = evaluator.column(self.expression)
        largest = _largest(marks) if capped is None else max(capped(_millis(marks), _Shown(event)), default=None)
        if largest is not None and largest > MIN_TIMESTAMP:
            output.emit_watermark(largest)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Does nothing: every watermark was emitted with its batches."""


def _no_time(column: str, rows: Rows, names: Sequence[str], times: pa.Array) -> ValueError:
    """:param column: the name of the time attribute; empty: it is computed."""
    at = int(np.flatnonzero(times.is_null().to_numpy(zero_copy_only=False))[0])
    values = [each.slice(at, 1).to_pylist()[0] for each in rows.columns]
    row = ", ".join(f"{name}={value!r}" for name, value in zip(names, values))[:_SHOWN]
    which = f"column '{column}'" if column else "the time attribute"
    return ValueError(
        f"{which} has a WATERMARK and must not be NULL, as it is in the row ({row}). '{NULL_TIMES}' = 'drop' of the "
        f"table leaves such rows out and counts them; or give the column a value in a computed column"
    )


def _millis(watermarks: pa.Array) -> list[int]:
    return (pc.drop_null(watermarks.view(pa.int64())).to_numpy(zero_copy_only=False) // 1000).tolist()  # type: ignore[no-any-return]


class _Shown(Sequence[Any]):
    """Rows in the form that the log shows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        return tuple(column.slice(place, 1).to_pylist()[0] for column in self._rows.columns)


def _largest(watermarks: pa.Array) -> int | None:
    """The largest watermark (ms); None: there is none."""
    largest = pc.max(watermarks.view(pa.int64())).as_py()
    return None if largest is None else int(largest // 1000)
