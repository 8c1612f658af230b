"""A join of rows whose times are within an interval.

Both sides store a row as long as a partner may come that is not late. Then the row is removed, and emitted with NULLs
if it had no partner and the join keeps such rows. Rows are stored by key and time, so the timer of a time finds the
expired ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import Grouped, Ids, Key, group
from millrace.runtime.tables.columns.matching import has_null, ranges, side_by_side
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.event_time import millis
from millrace.runtime.tables.joins.join_config import JoinConfig, always, holds
from millrace.runtime.tables.state import KeyedMap
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import NEAR, WAITING

SIDES, BUFFERS = ("left", "right"), ("left rows", "right rows")
"""names of the states with rows by key and time, and with waiting batches"""
Entries = tuple[tuple[Row, bool], ...]
"""the rows of a key and a time, and whether each has had a partner"""


@dataclass(frozen=True, kw_only=True)
class IntervalJoin(JoinConfig):
    """An ``IntervalJoin`` node: lower <= right time - left time <= upper (ms). ``kind`` is INNER, LEFT, RIGHT or
    FULL."""

    left_time: int
    right_time: int
    lower: int
    upper: int
    event_time: bool = True
    """False: processing time, so the time of a row is its arrival"""

    @property
    def output_delay(self) -> int:
        """How far watermarks are held back (ms): results contain rows that are this much older. A row without partner
        is emitted 1 ms after the last moment for one."""
        return max(self.upper, -self.lower) + 1 if self.event_time else 0

    def operator(self) -> KeyedTableOperator[IntervalJoin]:
        from millrace.runtime.tables.joins.interval_pairs import IntervalPairsOperator

        return IntervalPairsOperator(self) if self.in_batches else IntervalJoinOperator(self)

    @property
    def in_batches(self) -> bool:
        """Whether rows can be processed in whole batches, because none has to be known by itself."""
        return self.kind == "INNER" and self.event_time

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        names, form = (BUFFERS, WAITING) if self.in_batches else (SIDES, NEAR)
        return self.only_rows(*(self.side_in(input, name, form) for input, name in enumerate(names)))


class _Near:
    """The rows of the other side with times near those of a batch."""

    def __init__(self, state: KeyedMap, keys: Sequence[Key | None], first: int, last: int) -> None:
        """:param first, last: the range of times (ms)."""
        self.rows: list[Row] = []
        self.places: list[tuple[Key, int, int]] = []
        """(key, time, index) of each row"""
        times: list[int] = []
        starts = []
        for key in keys:
            starts.append(len(self.rows))
            if key is None:
                continue
            for time, entries in state.items(key):
                if first <= time <= last:
                    for number, (row, _) in enumerate(entries):
                        self.rows.append(row)
                        self.places.append((key, time, number))
                        times.append(time)
        self.times = np.array(times, np.int64)
        self.starts = np.array(starts, np.int64)
        self.sizes = np.diff(np.append(self.starts, len(self.rows)))


class IntervalJoinOperator(KeyedTableOperator[IntervalJoin]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        if config.only_left:
            raise NotImplementedError(f"{config.kind} interval join: leave the bounds of time out, or use LEFT JOIN")
        # How long rows are needed follows from the interval, not from state_ttl.
        self._states = (self.keyed_map(SIDES[0], 0), self.keyed_map(SIDES[1], 0))
        self._codecs = (RowCodec(config.left_types), RowCodec(config.right_types))
        self._keeps = (config.keeps_left, config.keeps_right)
        self._lives = (config.upper + 1, 1 - config.lower)
        """how long (ms) after its time a row is needed, by side"""
        # Rows that are removed without output may stay longer, so that fewer timers are needed.
        self._step = 1 if True in self._keeps else max(1, (config.upper - config.lower) // 2)
        """timers are at multiples of this many ms"""

    def _now(self) -> int:
        return self.watermark if self.config.event_time else self.context.clock()

    def receive(self, rows: Rows, input: int) -> None:
        config, other, now = self.config, 1 - input, self._now()
        columns = rows.columns
        times = self._times(columns, input, now)
        keys = [columns[index] for index in (config.equal.right if input else config.equal.left)]
        grouped = group(keys, len(rows))
        nowhere = has_null(keys, len(rows), config.equal.null_safe)
        asked = [None if none else key for key, none in zip(grouped.keys, nowhere[grouped.first].tolist())]
        earlier, later = (-config.upper, -config.lower) if input else (config.lower, config.upper)
        # Expired rows don't count, whether they were removed or not.
        first = max(now - self._lives[other] + 1, int(times.min()) + earlier)
        near = _Near(self._states[other], asked, first, int(times.max()) + later)
        others = self._codecs[other].columns(near.rows)
        at, to = self._pairs(grouped, times, near, input)
        left, right = (columns, others) if input == 0 else (others, columns)
        if len(at) and not always(config.equal.rest):
            pair = (at, to) if input == 0 else (to, at)
            matches = holds(self, config.equal.rest, left, right, *pair)
            at, to = at[matches], to[matches]
        matched = np.bincount(at, minlength=len(rows)) > 0
        if self._keeps[other]:
            self._mark(near, np.unique(to), other)
        gone = ~self._keep(rows, grouped, times, matched, now, input) & ~matched
        alone = np.flatnonzero(gone) if self._keeps[input] else np.zeros(0, np.int64)
        at, to = np.concatenate([at, alone]), np.concatenate([to, np.full(len(alone), -1)])
        order = np.argsort(at, kind="stable")
        at, to = at[order], to[order]
        pair = (at, to) if input == 0 else (to, at)
        self.emit_columns(side_by_side(left, right, *pair), len(at))

    def _times(self, columns: list[pa.Array], input: int, now: int) -> Ids:
        if not self.config.event_time:
            return np.full(len(columns[0]), now, np.int64)
        return millis(columns[self.config.right_time if input else self.config.left_time])

    def _pairs(self, grouped: Grouped, times: Ids, near: _Near, input: int) -> tuple[Ids, Ids]:
        at, to = ranges(near.starts[grouped.ids], near.sizes[grouped.ids])
        distance = times[at] - near.times[to] if input else near.times[to] - times[at]
        inside = (distance >= self.config.lower) & (distance <= self.config.upper)
        return at[inside], to[inside]

    def _mark(self, near: _Near, found: Ids, side: int) -> None:
        """Mark these rows as having had a partner."""
        state = self._states[side]
        for place in found.tolist():
            key, time, number = near.places[place]
            entries: Entries = state.get(key, time)
            if not entries[number][1]:
                state.put(key, time, (*entries[:number], (entries[number][0], True), *entries[number + 1 :]))

    def _keep(self, rows: Rows, grouped: Grouped, times: Ids, matched: Any, now: int, side: int) -> Any:
        """Store the rows that may still find partners; returns which they are."""
        state, keys = self._states[side], grouped.keys
        expires = times + self._lives[side]
        kept = expires > now
        chosen = rows.where(kept)
        content = self._codecs[side].rows(chosen.columns, len(chosen))
        for id, time, row, has_partner in zip(
            grouped.ids[kept].tolist(), times[kept].tolist(), content, matched[kept].tolist()
        ):
            key = keys[id]
            state.put(key, time, (*(state.get(key, time) or ()), (row, has_partner)))
        self._plan(keys, grouped.ids[kept], expires[kept])
        return kept

    def _plan(self, keys: list[Key], ids: Ids, expires: Ids) -> None:
        timers = self.backend.event_timers if self.config.event_time else self.backend.processing_timers
        due = -(-expires // self._step) * self._step
        for id, time in np.unique(np.stack([ids, due]), axis=1).T.tolist():
            timers.register(time, keys[id])

    # -- rows go --------------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        if self.config.event_time:
            self._expire(self.backend.event_timers, watermark)

    def advance_processing_time(self, now: int) -> None:
        if not self.config.event_time:
            self._expire(self.backend.processing_timers, now)

    def _expire(self, timers: Any, until: int) -> None:
        alone: tuple[list[Row], list[Row]] = ([], [])
        while (due := timers.pop_due(until)) is not None:
            expiry, key = due
            for side, state in enumerate(self._states):
                for time, entries in self._expired(state, key, expiry - self._lives[side]):
                    state.remove(key, time)
                    if self._keeps[side]:
                        alone[side].extend(row for row, has_partner in entries if not has_partner)
        for side, found in enumerate(alone):
            if found:
                places, nothing = np.arange(len(found)), np.full(len(found), -1)
                columns = [codec.columns(found if side == n else []) for n, codec in enumerate(self._codecs)]
                pair = (places, nothing) if side == 0 else (nothing, places)
                self.emit_columns(side_by_side(columns[0], columns[1], *pair), len(found))

    def _expired(self, state: KeyedMap, key: Key, until: int) -> list[tuple[int, Entries]]:
        """The rows of a key up to a time (ms)."""
        if self._step > 1:
            return [(time, entries) for time, entries in state.items(key) if time <= until]
        entries = state.get(key, until)
        return [] if entries is None else [(until, entries)]

    def process_watermark(self, watermark: int) -> None:
        advance_behind(self, watermark)


def advance_behind(operator: KeyedTableOperator[IntervalJoin], watermark: int) -> None:
    """How an operator processes a watermark that it passes on late."""
    operator.watermark = watermark
    try:
        operator.advance(watermark)
    except Exception as error:
        raise operator.context.error(error) from error
    held_back = max(MIN_TIMESTAMP, watermark - operator.config.output_delay)
    operator.output.mark(watermark if watermark == MAX_WATERMARK else held_back)
