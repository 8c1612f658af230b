"""A join of two windowed inputs: rows wait for the end of their window, then the whole window is joined at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows, record_batch
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.matching import common_codes, equal_pairs, side_by_side
from millrace.runtime.tables.event_time import drop_late, millis, row_buffer, take_due
from millrace.runtime.tables.joins.join_config import JoinConfig, always, holds
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import WAITING

LEFT, RIGHT = "left", "right"
"""names of the states"""


@dataclass(frozen=True, kw_only=True)
class WindowJoin(JoinConfig):
    """A ``WindowJoin`` node: equal windows, and the condition."""

    left_window: tuple[int, int]
    """indexes of window_start and window_end in the left input"""
    right_window: tuple[int, int]
    """indexes of window_start and window_end in the right input"""
    zone: str | None = None
    """time zone of the windows, if the time attribute is a TIMESTAMP_LTZ; else None"""

    def operator(self) -> WindowJoinOperator:
        return WindowJoinOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        return self.only_rows(self.side_in(0, LEFT, WAITING), self.side_in(1, RIGHT, WAITING))


class WindowJoinOperator(KeyedTableOperator[WindowJoin]):
    """A row is late, and dropped, if its window has ended."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._types = (config.left_types, config.right_types)
        self._windows = (config.left_window, config.right_window)
        self._buffers = (
            row_buffer(self.backend, LEFT, config.left_types, config.equal.left),
            row_buffer(self.backend, RIGHT, config.right_types, config.equal.right),
        )

    def open(self) -> None:
        super().open()
        self.late = self.context.runtime.get_metrics_group().counter("numLateRecordsDropped")

    def receive(self, rows: Rows, input: int) -> None:
        last = millis(rows.batch.column(self._windows[input][1]), self.config.zone) - 1
        self._buffers[input].add(*drop_late(self, rows, last, self.watermark))

    def advance(self, watermark: int) -> None:
        due = [take_due(buffer, watermark) for buffer in self._buffers]
        if due[0] is None and due[1] is None:
            return
        left, right = (self._rows(part, side) for side, part in enumerate(due))
        left_at, right_at = self._pairs(left, right)
        if not always(self.config.equal.rest) and len(left_at):
            matches = holds(self, self.config.equal.rest, left.columns, right.columns, left_at, right_at)
            left_at, right_at = left_at[matches], right_at[matches]
        self._emit(left, right, left_at, right_at)

    def _rows(self, due: tuple[Rows, Ids] | None, side: int) -> Rows:
        if due is not None:
            return due[0]
        types = self._types[side]
        return Rows(record_batch([pa.array([], each) for each in types], 0))

    def _pairs(self, left: Rows, right: Rows) -> tuple[Ids, Ids]:
        config = self.config
        columns = [
            [rows.batch.column(index) for index in (*keys, *window)]
            for rows, keys, window in (
                (left, config.equal.left, config.left_window),
                (right, config.equal.right, config.right_window),
            )
        ]
        null_safe = (*config.equal.null_safe, False, False)
        return equal_pairs(*common_codes(columns[0], columns[1], (len(left), len(right)), null_safe))

    def _emit(self, left: Rows, right: Rows, left_at: Ids, right_at: Ids) -> None:
        config = self.config
        if config.only_left:
            matched = np.bincount(left_at, minlength=len(left)) > 0
            self.emit_rows(left.where(matched == (config.kind == "SEMI")))
            return
        if config.keeps_left:
            lonely = _missing(left_at, len(left))
            left_at = np.concatenate([left_at, lonely])
            right_at = np.concatenate([right_at, np.full(len(lonely), -1)])
        if config.keeps_right:
            lonely = _missing(right_at, len(right))
            left_at = np.concatenate([left_at, np.full(len(lonely), -1)])
            right_at = np.concatenate([right_at, lonely])
        self.emit_columns(side_by_side(left.columns, right.columns, left_at, right_at), len(left_at))


def _missing(positions: Ids, length: int) -> Ids:
    """The positions below ``length`` that do not occur."""
    found = np.zeros(length, bool)
    found[positions[positions >= 0]] = True
    return np.flatnonzero(~found)
