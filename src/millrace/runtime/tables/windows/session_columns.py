"""Open sessions with mergeable accumulators, in columns: no Python per key or session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.rows import Rows, record_batch
from millrace.runtime.tables.aggregates.accumulators import Accumulators
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.columns.reduction import reduce_columns
from millrace.runtime.tables.columns.window_times import WallClock
from millrace.runtime.tables.due_hashes import DueHashes
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.windows.open_sessions import OpenSessions
from millrace.runtime.tables.windows.sessions import Sessions, pieces_of

Emit = Callable[[list[pa.Array], list[pa.Array], Ids, Ids], None]
"""called with (keys, values of the calls, starts, ends) of sessions that have ended; times in ms"""


class ColumnSessions(Sessions):
    """Open sessions in columns.

    :param keys: indexes of the key columns.
    :param evaluator: makes an evaluator of expressions over a batch.
    :param emit: called with sessions that have ended, in the order of their ends.
    """

    def __init__(
        self,
        table: OpenSessions,
        accumulators: Accumulators,
        keys: Sequence[int],
        gap: int,
        clock: WallClock,
        evaluator: Callable[[Sequence[pa.Array], int], Evaluator],
        emit: Emit,
    ) -> None:
        self._table = table
        self._accumulators = accumulators
        self._keys = tuple(keys)
        self._gap = gap
        self._evaluator = evaluator
        self._emit = emit
        self._clock = clock
        self._due = DueHashes()
        """the last ms of sessions, as instants"""

    def restored(self) -> None:
        self._due.clear()
        for columns in self._table.parts():
            self._note(columns[: self._table.width], self._last_ms(columns[-1]))

    def _note(self, keys: Sequence[pa.Array], times: Ids) -> None:
        """Note when sessions of these keys end (ms)."""
        self._due.add(times, key_hashes(keys, len(times)))

    def _last_ms(self, ends: pa.Array) -> Ids:
        """The last ms of sessions with these ends in local time, as instants."""
        return self._clock.instants(_numbers(ends)) - 1

    # -- rows come in ---------------------------------------------------------------------------------------------

    def _grouped(self, rows: Rows) -> tuple[Ids, list[pa.Array]]:
        """(number of each row's key, the columns of the distinct keys)"""
        partials = self._table.partials
        ids, first = group_ids([rows.batch.column(index) for index in self._keys], len(rows))
        where = pa.array(first)
        keys = partials.key_columns([rows.batch.column(index).take(where) for index in self._keys])
        return ids, keys

    def hopeful(self, rows: Rows, late: Any) -> Any:
        ids, keys = self._grouped(rows)
        count = int(ids.max()) + 1
        known = np.zeros(count, bool)
        known[self._table.find_keys(keys, count)[0]] = True
        known[ids[~late]] = True
        return late & known[ids]

    def finds(self, row: Rows, time: int) -> bool:
        numbers = self._table.find_keys(self._grouped(row)[1], 1)[1]
        starts, ends = map(_numbers, self._table.take(numbers)[-2:])
        return bool(((starts <= time + self._gap) & (ends >= time)).any())

    def add(self, rows: Rows, times: Ids) -> None:
        table, width = self._table, self._table.partials.width
        ids, keys = self._grouped(rows)
        pieces, piece_keys, starts, ends = pieces_of(ids, times, self._gap)
        hashes = key_hashes(keys, int(ids.max()) + 1)
        owners, numbers = table.find(hashes, at_positions(keys))
        stored = table.take(numbers)
        # Stored sessions, then new pieces: those that overlap become one session.
        found = _unions(
            np.concatenate([owners, piece_keys]),
            np.concatenate([_numbers(stored[-2]), starts]),
            np.concatenate([_numbers(stored[-1]), ends]),
            len(numbers),
        )
        batch = Batch(self._evaluator(rows.columns, len(rows)), found.targets[len(numbers) :][pieces], signs_of(rows))
        slots = self._accumulators.partials(batch, len(found.keys))
        taken_in = found.targets[: len(numbers)]
        if (taken_in >= 0).any():
            older = [column.filter(pa.array(taken_in >= 0)) for column in stored[width:-2]]
            slots = self._merged(older, taken_in[taken_in >= 0], slots)
            table.remove(numbers[taken_in >= 0])
        where = pa.array(found.keys)
        own_keys = [column.take(where) for column in keys]
        columns = [*own_keys, *slots, pa.array(found.starts), pa.array(found.ends)]
        table.add(record_batch(columns, len(found.keys)), hashes[found.keys])
        self._due.add(self._last_ms(columns[-1]), hashes[found.keys])
        table.settle()

    def _merged(self, older: Sequence[pa.Array], ids: Ids, newer: Sequence[pa.Array]) -> list[pa.Array]:
        """The slots after merging older ones into them; ``ids``: the index that each older one belongs to."""
        count = len(newer[0])
        places = np.concatenate([ids, np.arange(count)])
        slots = self._table.partials.slots
        both = [(pa.concat_arrays(parts), slot.reduce) for *parts, slot in zip(older, newer, slots)]
        return [column.cast(slot.type) for column, slot in zip(reduce_columns(places, count, both), slots)]

    # -- sessions end ---------------------------------------------------------------------------------------------

    def next_end(self) -> int | None:
        return self._due.next_time()

    def forget(self) -> None:
        self._table.remove_all()
        self._due.clear()

    def fire_until(self, time: int) -> None:
        columns = self._ended(time)
        if columns is None:
            return
        width = self._table.partials.width
        alive = columns[width].to_numpy() > 0
        if not alive.all():
            columns = [column.filter(pa.array(alive)) for column in columns]
        if alive.any():
            values = self._accumulators.column_results(columns[width:-2])
            self._emit(columns[:width], values, _numbers(columns[-2]), _numbers(columns[-1]))

    def _ended(self, time: int) -> list[pa.Array] | None:
        """The columns of the sessions that have ended at a time (ms), by their ends; they are removed. None: there are
        none."""
        hashes = self._due.take(time)
        if not len(hashes):
            return None
        table = self._table
        numbers = table.with_hashes(hashes)
        columns = table.take(numbers)
        times = self._last_ms(columns[-1])
        ended = np.flatnonzero(times <= time)
        if len(ended) < len(times):
            open = np.flatnonzero(times > time)
            where = pa.array(open)
            self._note([column.take(where) for column in columns[: table.width]], times[open])
        if not len(ended):
            return None
        ended = ended[np.argsort(times[ended], kind="stable")]
        table.remove(numbers[ended])
        table.settle()
        where = pa.array(ended)
        return [column.take(where) for column in columns]


def _numbers(column: pa.Array) -> Ids:
    found: Ids = column.to_numpy(zero_copy_only=False)
    return found


class _Unions(NamedTuple):
    """The unions of overlapping intervals of keys."""

    targets: Ids
    """index of the union that each interval is part of; -1: a stored interval to which nothing was added"""
    keys: Ids
    starts: Ids
    ends: Ids


def _unions(keys: Ids, starts: Ids, ends: Ids, known: int) -> _Unions:
    """Unite the overlapping intervals of each key.

    :param known: the first this many intervals are stored ones, not new.
    """
    order = np.lexsort((starts, keys))
    begins, reach = _overlapping(keys[order], starts[order], ends[order])
    firsts = np.flatnonzero(begins)
    all_targets = np.empty(len(order), np.int64)
    all_targets[order] = np.cumsum(begins) - 1
    grown = np.zeros(len(firsts), bool)
    grown[all_targets[known:]] = True
    places = np.where(grown, np.cumsum(grown) - 1, -1)
    lasts = np.append(firsts[1:], len(order)) - 1
    first = order[firsts[grown]]
    return _Unions(places[all_targets], keys[first], starts[first], reach[lasts[grown]])


def _overlapping(keys: Ids, starts: Ids, ends: Ids) -> tuple[Any, Ids]:
    """For intervals sorted by key and start: (whether each touches none before it, the latest end of it and those
    before)."""
    lowest = int(starts.min())
    span = int(ends.max()) - lowest + 1
    if span * (int(keys[-1]) + 2) < 2**62:
        reach = np.maximum.accumulate(ends - lowest + keys * span) - keys * span + lowest
    else:
        ranks, place = np.unique(ends, return_inverse=True)
        reach = ranks[np.maximum.accumulate(place + keys * len(ranks)) - keys * len(ranks)]
    begins = np.ones(len(keys), bool)
    begins[1:] = (keys[1:] != keys[:-1]) | (starts[1:] > reach[:-1])
    return begins, reach
