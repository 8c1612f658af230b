"""The inner join of rows whose event times are within an interval.

No row has to be known by itself, so both sides are stored as whole batches: a new batch is joined with everything
stored on the other side in one computation, which looks only at rows of the same key and time range.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.relational.rows import Rows, concat
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.matching import common_codes, near_pairs, side_by_side
from millrace.runtime.tables.event_time import millis, row_buffer
from millrace.runtime.tables.joins.interval_join import BUFFERS, IntervalJoin, advance_behind
from millrace.runtime.tables.joins.join_config import always, holds


class IntervalPairsOperator(KeyedTableOperator[IntervalJoin]):
    """An inner join with the same results as ``IntervalJoinOperator``."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._waiting = (
            row_buffer(self.backend, BUFFERS[0], config.left_types, config.equal.left),
            row_buffer(self.backend, BUFFERS[1], config.right_types, config.equal.right),
        )
        self._times = (config.left_time, config.right_time)
        self._lives = (config.upper + 1, 1 - config.lower)
        """how long (ms) after its time a row is needed, by side"""

    def receive(self, rows: Rows, input: int) -> None:
        config, other = self.config, 1 - input
        times = millis(rows.batch.column(self._times[input]))
        earlier, later = (-config.upper, -config.lower) if input else (config.lower, config.upper)
        near = self._near(other, int(times.min()) + earlier, int(times.max()) + later)
        if near is not None:
            self._join(rows, times, *near, input)
        expires = times + self._lives[input]
        needed = expires > self.watermark
        if not needed.all():
            rows, expires = rows.where(needed), expires[needed]
        self._waiting[input].add(rows, expires)

    def _near(self, side: int, first: int, last: int) -> tuple[Rows, Ids] | None:
        """The rows of a side with times (ms) from ``first`` to ``last``."""
        parts, found = [], []
        for rows, expires in self._waiting[side].waiting():
            times = expires - self._lives[side]
            inside = (times >= first) & (times <= last)
            if inside.any():
                parts.append(rows if inside.all() else rows.where(inside))
                found.append(times[inside])
        return (concat(parts), np.concatenate(found)) if parts else None

    def _join(self, rows: Rows, times: Ids, others: Rows, other_times: Ids, input: int) -> None:
        config = self.config
        left, right = (rows, others) if input == 0 else (others, rows)
        left_times, right_times = (times, other_times) if input == 0 else (other_times, times)
        codes = common_codes(
            [left.batch.column(index) for index in config.equal.left],
            [right.batch.column(index) for index in config.equal.right],
            (len(left), len(right)),
            config.equal.null_safe,
        )
        at, to = near_pairs(codes[0], left_times, codes[1], right_times, config.lower, config.upper)
        if len(at) and not always(config.equal.rest):
            matches = holds(self, config.equal.rest, left.columns, right.columns, at, to)
            at, to = at[matches], to[matches]
        if input:
            order = np.argsort(to, kind="stable")  # as the rows came
            at, to = at[order], to[order]
        self.emit_columns(side_by_side(left.columns, right.columns, at, to), len(at))

    def advance(self, watermark: int) -> None:
        for buffer in self._waiting:
            buffer.take(watermark)

    def process_watermark(self, watermark: int) -> None:
        advance_behind(self, watermark)
