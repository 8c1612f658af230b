"""Aggregates over TUMBLE and HOP whose rows change: they are emitted before the window ends, or again after its end.

A window accepts late rows until its lateness has passed; its last emitted row is stored next to its accumulator, and
later changes are updates of that row. Changes that wait for their delay when the window is deleted are emitted before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.nodes import Emission
from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.window_tables import WindowTable as WindowState
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator
from millrace.runtime.tables.columns.changes import differing, placed_changes
from millrace.runtime.tables.columns.keys import key_columns
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.columns.window_times import has_passed
from millrace.runtime.tables.windows.contents import ObjectContents
from millrace.runtime.tables.windows.firing import FiringOperator
from millrace.runtime.tables.windows.window_config import WindowAggregate, window_rows
from millrace.runtime.tables.windows.window_table import timed
from millrace.runtime.windows.slicing import Agenda

WINDOWS = "changing window accumulators"
GIVEN = "window rows that were given"


class _Given(NamedTuple):
    """What a key and window have emitted, and when they emit the next change."""

    row: Row | None = None
    """the values of the calls that were emitted last; None: nothing was emitted"""
    at: int = 0
    """processing time of that emission (ms)"""
    first: int | None = None
    """when the first waiting change is emitted (ms), and then after each further delay; None: nothing has waited yet"""
    over: bool = False
    """whether the key had rows when the window ended"""


_NOTHING = _Given()


class ChangingWindowsOperator(FiringOperator[WindowAggregate], AggregatingOperator[WindowAggregate]):
    """State: end of a window (local time, ms) -> key -> accumulator; and likewise what was emitted."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        assert config.emission is not None and config.attached is None and not config.partial
        self._emission: Emission = config.emission
        self.aggregate(config.calls, config.retracts, ttl=0)
        table = self.backend.table_of(WINDOWS, WindowState.kind)
        self._contents = ObjectContents(table, self.accumulators, config.keys, config.arrow_key_types, False)
        self._given: Any = self.backend.table_of(GIVEN, WindowState.kind)
        self._codec = RowCodec([arrow_type(call.type) for call in config.calls])
        self._windows = config.slicing
        self._ends: Agenda[int] = Agenda()
        self._last: Agenda[int] = Agenda()
        """when windows are deleted"""
        self._waiting: Agenda[Scoped] = Agenda()
        """changes that wait for their delay, in processing time"""
        self._planned: set[int] = set()
        self._changed: dict[Scoped, None] = {}
        """changes of this slice that do not wait"""

    def plan(self) -> None:
        for each in (self._ends, self._last, self._waiting):
            each.clear()
        self._planned.clear()
        self._schedule(self._contents.ends())
        for end in self._contents.ends():
            for key, given in self._given.rows.get(end, {}).items():
                if given.first is not None:
                    self._wait(Scoped(key, end), given)

    def _schedule(self, ends: Iterable[int]) -> None:
        for end in ends:
            if end in self._planned:
                continue
            self._planned.add(end)
            if not (self._event_time and has_passed(end, self._clock, self.watermark)):
                self._ends.add(self._clock.instant(end) - 1, end)
            self._last.add(self._clock.instant(end + self._emission.lateness) - 1, end)

    # -- rows come in ---------------------------------------------------------------------------------------------

    def receive(self, rows: Rows, input: int) -> None:
        if not self._event_time:
            self.fire_until(self.context.clock())
        if not self.config.every_change:
            self._receive(rows)
            return
        for place in range(len(rows)):
            self._receive(rows.take(np.array([place])))
            self.flush()

    def _receive(self, rows: Rows) -> None:
        rows, times = timed(rows, self.config.time, self._clock, self.context.clock, self._without_time)
        rows, ends = self.in_windows(rows, times, self._windows, self._emission.lateness)
        if not len(rows):
            return
        touched = self._contents.add_at(rows, ends, self.evaluator(rows.columns, len(rows)))
        self._schedule({at.namespace for at in touched})
        for at in touched:
            self._note(at)

    def _note(self, at: Scoped) -> None:
        """A window of a key has changed: emit the change at the end of the slice, or plan it after the delay."""
        given = self._given_at(at)
        over = given.over or (self._event_time and has_passed(at.namespace, self._clock, self.watermark))
        delay = self._emission.late if over else self._emission.early
        if delay is None:
            return
        # As in Flink, a key whose first row comes after the end of its window emits each change at once.
        if not delay or (over and not given.over):
            self._changed[at] = None
            return
        if given.first is None:
            given = given._replace(first=self.context.clock() + delay)
            self._given.put(at.namespace, at.key, given)
        self._wait(at, given)

    def _wait(self, at: Scoped, given: _Given) -> None:
        delay = self._emission.late if given.over else self._emission.early
        if given.first is not None and delay:
            rounds = max(0, self.context.clock() - given.first) // delay
            passed = self.context.clock() >= given.first
            self._waiting.add(given.first + (rounds + passed) * delay, at)

    def _given_at(self, at: Scoped) -> _Given:
        found: _Given = self._given.rows.get(at.namespace, {}).get(at.key, _NOTHING)
        return found

    # -- rows are given -------------------------------------------------------------------------------------------

    def flush(self) -> None:
        changed, self._changed = self._changed, {}
        self._give(list(changed))

    def advance_processing_time(self, now: int) -> None:
        super().advance_processing_time(now)
        self._give_waiting(now)

    def next_due(self) -> int | None:
        times = [self._waiting.next_time(), None if self._event_time else self.next_end()]
        return min((each for each in times if each is not None), default=None)

    def next_end(self) -> int | None:
        return self._ends.next_time()

    def forget_open_windows(self) -> None:
        for end in self._contents.ends():
            self._drop(end)
        for each in (self._ends, self._last, self._waiting):
            each.clear()

    def fire_until(self, time: int) -> None:
        self.flush()
        if not self._event_time:
            self._give_waiting(time)
        for _, ends in self._ends.due(time):
            for end in ends:
                self._end(end)
        for _, ends in self._last.due(time):
            for end in ends:
                if self._emission.late:
                    self._give([Scoped(key, end) for key in self._contents.keys_at(end)])
                self._drop(end)

    def _give_waiting(self, now: int) -> None:
        due = dict.fromkeys(at for _, ats in self._waiting.due(now) for at in ats)
        self._give([at for at in due if at.namespace in self._planned])

    def _end(self, end: int) -> None:
        ats = [Scoped(key, end) for key in self._contents.keys_at(end)]
        self._give(ats)
        if not self._emission.lateness:
            return
        goes_on = self._emission.early == self._emission.late
        for at in ats:
            given = self._given_at(at)
            first = given.first if goes_on else None
            self._given.put(end, at.key, given._replace(first=first, over=True))

    def _drop(self, end: int) -> None:
        self._contents.drop(end)
        self._given.drop(end)
        self._planned.discard(end)

    def _give(self, ats: Sequence[Scoped]) -> None:
        """Emit the changes of these windows since their last emission."""
        if not ats:
            return
        config, count, now = self.config, len(ats), self.context.clock()
        accumulators = self._contents.accumulators_at(ats)
        given = [self._given_at(at) for at in ats]
        nothing: Row = (None,) * len(self._codec.types)
        had = np.array([each.row is not None for each in given], bool)
        has = np.array([each[0] > 0 for each in accumulators], bool)
        old = self._codec.columns([nothing if each.row is None else each.row for each in given])
        new = self.accumulators.results(accumulators, ats)
        updated = had & has & differing(old, new)
        ends = np.array([at.namespace for at in ats], np.int64)
        keys = key_columns([at.key for at in ats], config.arrow_key_types)
        columns = window_rows(
            config,
            [pa.concat_arrays([each, each]) for each in keys],
            [pa.concat_arrays(both) for both in zip(old, new)],
            np.tile(np.array([self._windows.window_start(end) for end in ends.tolist()], np.int64), 2),
            np.tile(ends, 2),
            np.array([*(each.at for each in given), *([now] * count)], np.int64),
        )
        places, kinds = placed_changes(np.arange(count), np.arange(count) + count, had, has, updated, config.before)
        where = pa.array(places)
        self.emit_columns([each.take(where) for each in columns], len(kinds), kinds if kinds.any() else None)
        rows = self._codec.rows(new, count)
        for place in np.flatnonzero(updated | (had != has)).tolist():
            row = rows[place] if has[place] else None
            at = ats[place]
            self._given.put(at.namespace, at.key, given[place]._replace(row=row, at=now))
