"""WATERMARK FOR a column: event time begins here.

As for a ``DataStream`` there is one watermark a batch, after its rows: the largest value of the expression so far. A
row is late if its time is at or before the watermark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Status
from millrace.runtime.tables.base import TableConfig, TableOperator


@dataclass(frozen=True, kw_only=True)
class WatermarkAssigner(TableConfig):
    """Rows pass as they are. The watermarks of the input end here, but for the last one."""

    column: int
    """the time attribute, a timestamp"""
    expression: Rex
    """the watermark that follows from a row, a timestamp; NULL for none"""
    idle_timeout: int = 0
    """ms without rows until the stream counts as idle (``table.exec.source.idle-timeout``); 0: never"""

    def operator(self) -> WatermarkOperator:
        return WatermarkOperator(self)


class WatermarkOperator(TableOperator[WatermarkAssigner]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._largest = MIN_TIMESTAMP
        self._idle = False
        self._last_active: int | None = None

    def receive(self, rows: Rows, input: int) -> None:
        if rows.batch.column(self.config.column).null_count:
            raise ValueError(
                f"column {self.config.column} is the time attribute and must not be NULL: leave such rows out in the "
                f"source, or give it a value in a computed column"
            )
        self._last_active = self.context.clock()
        self._set_idle(False)
        self.emit_rows(rows)
        found = self.evaluator(rows.columns, len(rows)).column(self.config.expression)
        largest = pc.max(found.view(pa.int64())).as_py()
        if largest is not None and largest // 1000 > self._largest:
            self._largest = largest // 1000
            self.output.mark(self._largest)

    def process_watermark(self, watermark: int) -> None:
        self.watermark = watermark
        if watermark == MAX_WATERMARK:
            self._set_idle(False)
            self._largest = watermark
            self.output.mark(watermark)

    def process_status(self, status: Status) -> None:
        """The input's status says nothing about the event time that begins here."""

    def after_input(self, now: int) -> None:
        timeout = self.config.idle_timeout
        if not timeout or self._largest == MAX_WATERMARK:
            return
        if self._last_active is None:
            self._last_active = now
        elif now - self._last_active >= timeout:
            self._set_idle(True)

    def _set_idle(self, idle: bool) -> None:
        if idle != self._idle:
            self._idle = idle
            self.output.mark(Status.IDLE if idle else Status.ACTIVE)

    def snapshot(self) -> Any:
        return self._largest, self._idle, self._last_active

    def restore(self, snapshot: Any) -> None:
        self._largest, self._idle, self._last_active = snapshot

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        runtime = self.context.runtime
        if len(smalls) == runtime.get_number_of_parallel_subtasks():
            largest = smalls[runtime.get_index_of_this_subtask()][0]
            self._largest = MIN_TIMESTAMP if largest == MAX_WATERMARK else largest
