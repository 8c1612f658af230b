"""The present row of each key, in columns: replacements and changes are found without Python per key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows, record_batch
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.changes import placed_changes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids, key_tuples
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.event_time import millis
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.replaced_rows import ReplacedRows


class RowOfKey(ReplacedRows):
    """One row for each key. In a savepoint it is (time, row) at the key.

    :param time: index of the time column that decides; None: the order of arrival decides.
    """

    def __init__(self, types: Sequence[pa.DataType], found_by: Sequence[int], time: int | None) -> None:
        super().__init__(types, found_by)
        self._codec = RowCodec(types)
        self._time = time

    def beside(self, new: Ids) -> Ids:
        return new

    def form(self) -> tuple[str, tuple[Any, ...]]:
        return "latest rows", (types_as_bytes(self.types), self._found_by, self._time)

    @classmethod
    def told(cls, types: bytes, found_by: Sequence[int], time: int | None) -> RowOfKey:
        return cls(types_of(types), found_by, time)

    def batch_of(self, entries: dict[Any, Any]) -> pa.RecordBatch | None:
        rows = [row for _, row in entries.values()]
        return record_batch(self._codec.columns(rows), len(rows)) if rows else None

    def entries_of(self, batch: pa.RecordBatch) -> dict[Any, Any]:
        keys = key_tuples([batch.column(place) for place in self._found_by], batch.num_rows)
        times = [0] * batch.num_rows if self._time is None else millis(batch.column(self._time)).tolist()
        return dict(zip(keys, zip(times, self._codec.rows(batch.columns, batch.num_rows))))


class LatestRows:
    """The implementation of ``Deduplicate`` for state in memory that never expires."""

    def __init__(self, table: RowOfKey, keys: Sequence[int], time: int | None, last: bool) -> None:
        self.table = table
        self._keys = keys
        self._time = time
        self._last = last
        self._clear()

    def _clear(self) -> None:
        # For each row added since the last changes: the row that its key had before (-1 for none), and its position in
        # the changes, which is that of the first row added for the key.
        self._old: Ids = np.zeros(0, np.int64)
        self._places: Ids = np.zeros(0, np.int64)

    def update(self, rows: Rows) -> None:
        """Let the rows of a batch of insertions replace the present rows of their keys, where they are better."""
        table, columns = self.table, rows.columns
        ids, first = group_ids([columns[place] for place in self._keys], len(rows))
        times = None if self._time is None else millis(columns[self._time])
        best = best_rows(ids, len(first), times, self._last)
        where = pa.array(best)
        keys = [columns[place].take(where) for place in self._keys]
        hashes = key_hashes(keys, len(best))
        owners, numbers = table.find(hashes, at_positions(keys))
        known = np.full(len(best), -1, np.int64)
        known[owners] = numbers
        if times is not None and len(owners):
            mine, theirs = times[best[owners]], millis(table.take(numbers, (self._time or 0,))[0])
            wins = np.ones(len(best), bool)
            wins[owners] = mine >= theirs if self._last else mine < theirs
            best, hashes, known = best[wins], hashes[wins], known[wins]
        self._note(known)
        table.remove(known[known >= 0])
        table.add(rows.batch.take(pa.array(best)), hashes)

    def _note(self, known: Ids) -> None:
        """Note the present rows (-1 for none) that are about to be replaced."""
        table = self.table
        again = known >= table.settled
        since = known[again] - table.settled
        old, places = known.copy(), np.arange(len(known)) + (table.length - table.settled)
        old[again], places[again] = self._old[since], self._places[since]
        self._old = np.concatenate([self._old, old])
        self._places = np.concatenate([self._places, places])

    def changes(self, before: bool) -> Iterator[Rows]:
        """The changes since the last call.

        :param before: whether an update includes the old row (-U).
        """
        table = self.table
        new = table.new()
        old, places = self._old[new - table.settled], self._places[new - table.settled]
        if (np.diff(places) < 0).any():
            order = np.argsort(places, kind="stable")
            new, old = new[order], old[order]
        had = old >= 0
        kinds = None
        if had.any():
            updated = had.copy()
            updated[had] = table.differing(old[had], new[had])
            new, kinds = placed_changes(old, new, had, np.ones(len(new), bool), updated, before)
        yield from table.rows_of(new, kinds)
        table.settle()
        self._clear()


def best_rows(ids: Ids, count: int, times: Ids | None, last: bool) -> Ids:
    """The first or last row of each group by time; of those with the same time the first or last to arrive.

    :param times: time of each row (ms); None: by arrival.
    """
    order = np.arange(len(ids)) if times is None else np.argsort(times, kind="stable")
    best = np.empty(count, np.int64)
    # The last assignment of a group remains.
    chosen = order if last else order[::-1]
    best[ids[chosen]] = chosen
    return best
