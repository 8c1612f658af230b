"""A join of rows whose times are within an interval.

Both sides store a row as long as a partner may come that is not late. Then the row is removed, and emitted with NULLs
if it had no partner and the join keeps such rows. A new batch is joined with the stored rows of the other side that are
near, all at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows, concat
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.restoring.saved import KeyedPieces
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.matching import common_codes, has_null, near_pairs, side_by_side
from millrace.runtime.tables.due_hashes import DueHashes
from millrace.runtime.tables.event_time import millis, row_buffer
from millrace.runtime.tables.joins.join_config import JoinConfig, always, holds
from millrace.runtime.tables.joins.near_rows import NearRows
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import NEAR, WAITING

SIDES, BUFFERS = ("left", "right"), ("left rows", "right rows")
"""names of the states with rows by key and time, and with waiting batches"""
LATENESS = 8
"""A row that leaves without output may do so later, by one in so many parts of the time for which it is needed."""


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
        return IntervalPairsOperator(self) if self.in_batches else IntervalJoinOperator(self)

    @property
    def in_batches(self) -> bool:
        """Whether rows can be processed in whole batches, because none has to be known by itself."""
        return self.kind == "INNER" and self.event_time

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        names, form = (BUFFERS, WAITING) if self.in_batches else (SIDES, NEAR)
        return self.only_rows(*(self.side_in(input, name, form) for input, name in enumerate(names)))


class IntervalJoinOperator(KeyedTableOperator[IntervalJoin]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        if config.only_left:
            raise NotImplementedError(f"{config.kind} interval join: leave the bounds of time out, or use LEFT JOIN")
        self._keeps = (config.keeps_left, config.keeps_right)
        self._types = (config.left_types, config.right_types)
        self._keys = (config.equal.left, config.equal.right)
        self._bounds = ((config.lower, config.upper), (-config.upper, -config.lower))
        """by side: how much later (ms) than a row a partner is at least, and at most"""
        # How long rows are needed follows from the interval, not from state_ttl.
        self._lives = (config.upper + 1, 1 - config.lower)
        """how long (ms) after its time a row is needed, by side"""
        span = config.upper - config.lower + 1
        tables = [NearRows(types, key, span) for types, key in zip(self._types, self._keys)]
        self._sides = (self.backend.use(SIDES[0], tables[0]), self.backend.use(SIDES[1], tables[1]))
        self._due = (DueHashes(), DueHashes())
        """when rows of a hash leave (ms), by side"""

    def open(self) -> None:
        super().open()
        self._plan()

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(pieces)
        self._plan()

    def _plan(self) -> None:
        """The state was restored, from an earlier copy or from other subtasks: note when its rows leave."""
        for timers in (self.backend.event_timers, self.backend.processing_timers):
            timers.clear()  # earlier versions had one for each time at which rows left
        for side, (table, due) in enumerate(zip(self._sides, self._due)):
            due.clear()
            for times, hashes in table.times_and_hashes():
                due.add_earliest(self._leave(side, times, np.zeros(len(times), bool)), hashes)

    def _leave(self, side: int, times: Ids, met: Flags) -> Ids:
        """When rows leave (ms).

        :param times: of the rows (ms).
        :param met: whether each is known to have had a partner.
        """
        life = self._lives[side]
        leaves = times + life
        step = max(life // LATENESS, 1)
        later = -(-leaves // step) * step
        return np.where(met, later, leaves) if self._keeps[side] else later

    def _now(self) -> int:
        return self.watermark if self.config.event_time else self.context.clock()

    # -- rows come ------------------------------------------------------------------------------------------------

    def receive(self, rows: Rows, input: int) -> None:
        columns, other, now = rows.columns, 1 - input, self._now()
        times = self._times(columns, input, now)
        keys = key_hashes([columns[place] for place in self._keys[input]], len(rows))
        at, numbers = self._partners(rows, times, keys, input, now)
        used, to = np.unique(numbers, return_inverse=True)
        others = self._sides[other].rows_at(used)
        if len(at) and not always(self.config.equal.rest):
            both, pair = ((columns, others), (at, to)) if input == 0 else ((others, columns), (to, at))
            matches = holds(self, self.config.equal.rest, *both, *pair)
            at, to = at[matches], to[matches]
        if self._keeps[other]:
            self._sides[other].mark(used[np.unique(to)])
        met = np.bincount(at, minlength=len(rows)) > 0
        stays = times + self._lives[input] > now
        self._keep(rows, times, keys, met, stays, input)
        if self._keeps[input]:
            alone = np.flatnonzero(~stays & ~met)
            at, to = np.concatenate([at, alone]), np.concatenate([to, np.full(len(alone), -1)])
            order = np.argsort(at, kind="stable")
            at, to = at[order], to[order]
        for table in self._sides:
            table.settle()
        both, pair = ((columns, others), (at, to)) if input == 0 else ((others, columns), (to, at))
        self.emit_columns(side_by_side(*both, *pair), len(at))

    def _times(self, columns: list[pa.Array], input: int, now: int) -> Ids:
        if not self.config.event_time:
            return np.full(len(columns[0]), now, np.int64)
        return millis(columns[self.config.right_time if input else self.config.left_time])

    def _partners(self, rows: Rows, times: Ids, keys: Hashes, input: int, now: int) -> tuple[Ids, Ids]:
        """(index of a row, number of a stored row with the same key within the interval), by row, then by time and
        arrival."""
        table, (earliest, latest) = self._sides[1 - input], self._bounds[input]
        own = [rows.batch.column(place) for place in self._keys[input]]
        # Expired rows don't count, whether they were removed or not.
        expired = max(now - self._lives[1 - input], MIN_TIMESTAMP)
        first, last = np.maximum(times + earliest, expired + 1), times + latest
        asks = np.flatnonzero((first <= last) & ~has_null(own, len(rows), self.config.equal.null_safe))
        numbers = table.near(keys[asks], first[asks], last[asks])
        there = table.times_of(numbers)
        valid = (there > expired) & (there <= last.max(initial=MIN_TIMESTAMP))
        numbers, there = numbers[valid], there[valid]
        null_safe = self.config.equal.null_safe
        codes = common_codes(own, table.keys_of(numbers), (len(rows), len(numbers)), null_safe)
        at, to = near_pairs(codes[0], times, codes[1], there, earliest, latest)
        return at, numbers[to]

    def _keep(self, rows: Rows, times: Ids, keys: Hashes, met: Flags, stays: Flags, side: int) -> None:
        """Store the rows that may still find partners.

        :param stays: which they are.
        """
        if not stays.all():
            rows, times, keys, met = rows.where(stays), times[stays], keys[stays], met[stays]
        if len(rows):
            hashes = self._sides[side].hashes_at(keys, times)
            self._sides[side].add_rows(rows.columns, times, hashes, met)
            self._due[side].add(self._leave(side, times, met), hashes)

    # -- rows go --------------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        if self.config.event_time:
            self._expire(watermark)

    def advance_processing_time(self, now: int) -> None:
        if not self.config.event_time:
            self._expire(now)

    def _expire(self, until: int) -> None:
        for side, table in enumerate(self._sides):
            hashes = self._due[side].take(until)
            if not len(hashes):
                continue
            hashes, numbers = table.of_hashes(hashes)
            times = table.times_of(numbers)
            gone = times + self._lives[side] <= until
            if not gone.all():
                left = self._leave(side, times[~gone], table.have_met(numbers[~gone]))
                self._due[side].add_earliest(left, hashes[~gone])
            if self._keeps[side]:
                self._emit_alone(side, numbers[gone], times[gone])
            table.remove(numbers[gone])
            table.settle()

    def _emit_alone(self, side: int, numbers: Ids, times: Ids) -> None:
        """Emit those of these rows that have had no partner, by time."""
        alone = np.flatnonzero(~self._sides[side].have_met(numbers))
        if not len(alone):
            return
        columns = self._sides[side].rows_at(numbers[alone[np.argsort(times[alone], kind="stable")]])
        nothing = [pa.nulls(len(alone), each) for each in self._types[1 - side]]
        self.emit_columns([*columns, *nothing] if side == 0 else [*nothing, *columns], len(alone))

    def process_watermark(self, watermark: int) -> None:
        _advance_behind(self, watermark)


class IntervalPairsOperator(KeyedTableOperator[IntervalJoin]):
    """An inner join with the same results as ``IntervalJoinOperator``.

    No row has to be known by itself, so both sides are stored as whole batches: a new batch is joined with everything
    stored on the other side in one computation, which looks only at rows of the same key and time range.
    """

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
        _advance_behind(self, watermark)


def _advance_behind(operator: KeyedTableOperator[IntervalJoin], watermark: int) -> None:
    """How an operator processes a watermark that it passes on late."""
    operator.watermark = watermark
    try:
        operator.advance(watermark)
    except Exception as error:
        raise operator.context.error(error) from error
    held_back = max(MIN_TIMESTAMP, watermark - operator.config.output_delay)
    operator.output.mark(watermark if watermark == MAX_WATERMARK else held_back)
