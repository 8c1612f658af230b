"""Aggregates over TUMBLE, HOP and CUMULATE: the same windows for all keys, which fire together.

Where accumulators can be merged, overlapping event-time windows share slices: a row is added once, and a window that
fires merges its slices. Otherwise a row is added to every window that contains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.rows import Rows
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator, stored_calls
from millrace.runtime.tables.columns.key_hashes import key_subtasks
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.window_times import clock_times, passed
from millrace.runtime.tables.stored_calls import OF_VALUES, OF_WHOLE_WINDOWS, StoredCalls
from millrace.runtime.tables.windows.contents import Results, WindowContents, contents_of
from millrace.runtime.tables.windows.firing import FiringOperator
from millrace.runtime.tables.windows.window_config import WindowAggregate, window_rows
from millrace.runtime.tables.windows.window_table import timed
from millrace.runtime.tables.windows.window_values import plain_calls, value_calls, value_contents, values_name
from millrace.runtime.windows.slicing import Agenda

WINDOWS = "window accumulators"


def stored_windows(config: WindowAggregate) -> tuple[StoredCalls, tuple[Any, ...]] | None:
    """As ``stored_calls``. Calls with values in rows of their own have no slots."""
    values = value_calls(config)
    found = stored_calls(config, config, WINDOWS, OF_VALUES if values else "")
    if found is None:
        return None
    layout, zero = found
    if not values:
        whole = may_share_slices(config) and not all(call.is_mergeable for call in layout.calls)
        return replace(layout, shape=OF_WHOLE_WINDOWS if whole else ""), zero
    calls, zeros = list(layout.calls), list(zip(layout.places, (call.width for call in layout.calls)))
    for number, several in enumerate(values):
        for each in several.calls:
            before, name = calls[each.place], values_name(number)
            filters = before.filters or ("",)
            calls[each.place] = replace(before, slots=(), width=0, entries="", distinct=name, filters=filters)
            zeros[each.place] = (0, 0)
    plain = [zero[start : start + width] for start, width in zeros]
    return replace(layout, calls=tuple(calls)), (zero[0], *(each for slots in plain for each in slots))


def may_share_slices(config: WindowAggregate) -> bool:
    """Whether windows overlap, and their slices are those of all keys."""
    overlap = (config.window.slide or config.window.size) < config.window.size
    return overlap and config.time is not None and config.attached is None


class WindowAggregateOperator(FiringOperator[WindowAggregate], AggregatingOperator[WindowAggregate]):
    """State: end of a window or slice (local time, ms) -> key -> accumulator. For windows that are attached to rows,
    the two window columns are the last part of the key by which rows are partitioned."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._windows = config.slicing
        may_share = may_share_slices(config)
        self._contents = self._made(may_share)
        self._sliced = may_share and self._contents.shares_slices
        self._width = len(config.keys) + (1 if config.attached is None else 2)
        """index of the first slot column of partial accumulators, which counts rows"""
        self._agenda: Agenda[int] = Agenda()
        """the ends of windows, by the time when they fire"""
        self._planned: set[int] = set()
        """the ends of windows and slices whose windows are planned, or have ended"""

    def _made(self, shares_slices: bool) -> WindowContents:
        config = self.config
        values = value_calls(config)
        self.aggregate(plain_calls(config, values), config.retracts, ttl=0)
        if values:
            return value_contents(self.backend, WINDOWS, self.accumulators, config, values, shares_slices)
        return contents_of(self.backend, WINDOWS, self.accumulators, config)

    def plan(self) -> None:
        self._agenda.clear()
        self._planned.clear()
        self._schedule(set(self._contents.ends()))

    def _schedule(self, buckets: set[int]) -> None:
        size = self._windows.slice_size
        watermark = self.watermark if self.ahead is None else self.ahead.watermark
        for bucket in buckets - self._planned:
            self._planned.add(bucket)
            for end in self._windows.window_ends(bucket - size) if self._sliced else (bucket,):
                due = self._clock.instant(end) - 1
                if not (self._sliced and due <= watermark):
                    self._agenda.add(due, end)

    # -- rows come in ---------------------------------------------------------------------------------------------

    def receive(self, rows: Rows, input: int) -> None:
        if not self._event_time:
            self.fire_until(self.context.clock())
        rows, buckets = self._assigned(rows)
        if not len(rows):
            return
        self._schedule(self._contents.add(rows, buckets, self.evaluator(rows.columns, len(rows))))

    def _assigned(self, rows: Rows) -> tuple[Rows, Ids]:
        """The rows that are not late, and the end of the window or slice that each is added to."""
        config, clock = self.config, self._clock
        if config.attached is not None:
            ends = clock_times(rows.batch.column(config.attached[1]))
            return self._in_time(rows, ends, ends)
        if config.partial:
            ends = rows.batch.column(len(config.keys)).to_numpy()
            return self._in_time(rows, ends, self._last_ends(ends) if self._sliced else ends)
        rows, times = timed(rows, config.time, clock, self.context.clock, self._without_time)
        if self._sliced:
            slices = self._windows.slice_ends_at(times)
            return self._in_time(rows, slices, self._last_ends(slices))
        return self.in_windows(rows, times, self._windows)

    def _in_time(self, rows: Rows, buckets: Ids, needed_until: Ids) -> tuple[Rows, Ids]:
        """The rows without those of windows that have ended."""
        if not self._event_time:
            return rows, buckets
        late = passed(needed_until, self._clock, self.watermark)
        if not late.any():
            return rows, buckets
        self._late.inc(self._how_many(rows.where(late)))
        return rows.where(~late), buckets[~late]

    def _last_ends(self, slices: Ids) -> Ids:
        """The end of the last window that contains each of these slices."""
        distinct, where = np.unique(slices, return_inverse=True)
        last = np.array([self._windows.last_window(each) for each in distinct.tolist()], np.int64)
        return last[where] if len(last) else slices

    def _how_many(self, rows: Rows) -> int:
        return int(pc.sum(rows.batch.column(self._width)).as_py()) if self.config.partial else len(rows)

    # -- windows fire ---------------------------------------------------------------------------------------------

    def next_end(self) -> int | None:
        return self._agenda.next_time()

    def forget_open_windows(self) -> None:
        for end in self._contents.ends():
            self._drop(end)
        self._agenda.clear()

    def fire_until(self, time: int) -> None:
        due = [end for _, ends in self._agenda.due(time) for end in ends]
        if self._contents.shares_slices:
            self._fire(due)
        else:
            for end in due:
                self._fire([end])

    def _fire(self, ends: Sequence[int]) -> None:
        for found in self._contents.results([(end, self._stored(end)) for end in ends]):
            self._emit(self._not_fired(found))
        for end in ends:
            self._drop_after(end)

    def _stored(self, end: int) -> Sequence[int]:
        return self._windows.slice_ends(end) if self._sliced else (end,)

    def _drop_after(self, end: int) -> None:
        """Delete what no later window needs."""
        for each in self._stored(end):
            if not self._sliced or self._windows.last_window(each) <= end:
                self._drop(each)

    def _drop(self, bucket: int) -> None:
        self._contents.drop(bucket)
        self._planned.discard(bucket)

    def _not_fired(self, found: Results) -> Results:
        """The results without those of keys for which a window has fired: windows that share slices leave some of
        them.
        """
        if not self._sliced or self.ahead is None:
            return found
        width, times = len(self.config.keys), np.array(self.ahead.times, np.int64)
        groups = key_subtasks(found.keys[:width], len(found.ends), len(times), len(times))
        due = self._clock.instants(found.ends) - 1 > times[groups]
        keys, values = ([column.filter(pa.array(due)) for column in columns] for columns in found[:2])
        return Results(keys, values, found.ends[due])

    def _emit(self, found: Results) -> None:
        starts = self._starts(found)
        width = len(self.config.keys)
        now = self.context.clock()
        columns = window_rows(self.config, found.keys[:width], found.values, starts, found.ends, now)
        self.emit_columns(columns, len(found.ends))

    def _starts(self, found: Results) -> Ids:
        if self.config.attached is not None:
            return clock_times(found.keys[-2])
        distinct, where = np.unique(found.ends, return_inverse=True)
        return np.array([self._windows.window_start(end) for end in distinct.tolist()], np.int64)[where]
