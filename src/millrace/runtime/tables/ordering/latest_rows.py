"""The present row of each key, and the set of keys, in columns: changes are found without Python per key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows, record_batch
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.state.column_deltas import Changes, Form
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids, key_columns, key_tuples, rows_at, taken
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.event_time import millis
from millrace.runtime.tables.group_table import GroupTable
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.replaced_rows import ReplacedRows


class RowOfKey(ReplacedRows):
    """One row for each key. In a savepoint it is (time, row) at the key.

    :param time: index of the time column that decides; None: the order of arrival decides.
    """

    def __init__(
        self, types: Sequence[pa.DataType], found_by: Sequence[int], time: int | None, expiry: Expiry | None = None
    ) -> None:
        super().__init__(types, found_by, expiry)
        self._codec = RowCodec(types)
        self._time = time

    def beside(self, new: Ids) -> Ids:
        return new

    def form(self) -> Form:
        return "latest rows", (types_as_bytes(self.types), self._found_by, self._time, *self._lifetime)

    @classmethod
    def told(cls, types: bytes, found_by: Sequence[int], time: int | None, ttl: int = 0) -> RowOfKey:
        return cls(types_of(types), found_by, time, expiry_of_copy(ttl))

    def own_batch(self, entries: Changes) -> pa.RecordBatch | None:
        rows = [row for _, row in entries.values()]
        return record_batch(self._codec.columns(rows), len(rows)) if rows else None

    def own_entries(self, batch: pa.RecordBatch) -> Changes:
        keys = key_tuples([batch.column(place) for place in self._found_by], batch.num_rows)
        times = [0] * batch.num_rows if self._time is None else millis(batch.column(self._time)).tolist()
        return dict(zip(keys, zip(times, self._codec.rows(batch.columns, batch.num_rows))))


class LatestRows:
    """The present rows of the keys, and what has changed since the last changes.

    :param alive: whether a row that replaces an equal one is a change, too.
    """

    def __init__(self, table: RowOfKey, keys: Sequence[int], time: int | None, last: bool, alive: bool) -> None:
        self.table = table
        self._keys = keys
        self._time = time
        self._last = last
        self._alive = alive
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
        keys = rows_at([columns[place] for place in self._keys], best)
        hashes = key_hashes(keys, len(best))
        owners, numbers = table.find_to_write(hashes, at_positions(keys))
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
        loaded = table.length - table.settled - len(self._old)
        if loaded:  # rows of keys that were not in memory stand between those that were added
            self._old = np.concatenate([self._old, np.full(loaded, -1)])
            self._places = np.concatenate([self._places, np.zeros(loaded, np.int64)])
        again = known >= 0
        again[again] = table.are_new(known[again])
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
        if (old >= 0).any():
            yield from table.key_changes(old, new, before, self._alive)
        else:
            yield from table.rows_of(new, None)
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


class SeenKeys(GroupTable):
    """A set of keys: groups without accumulators. In a savepoint each key has the value True."""

    def __init__(self, types: Sequence[pa.DataType], expiry: Expiry | None = None) -> None:
        super().__init__(types, (), (), expiry)

    def new(self, columns: Sequence[pa.Array], length: int) -> Ids:
        """The numbers of the first rows of new keys; the keys are added to the set. A key that is seen again is not
        written.

        :param columns: the key columns of the rows.
        """
        first = group_ids(columns, length)[1]
        numbers, known = self.place(taken(columns, first, length), len(first))
        fresh = np.flatnonzero(~known)
        self.write(numbers[fresh], ())
        self.settle()
        return first[fresh]

    def form(self) -> Form:
        return "seen keys", (types_as_bytes(self.types), *self._lifetime)

    @classmethod
    def told(cls, types: bytes, ttl: int = 0) -> SeenKeys:  # type: ignore[override]
        return cls(types_of(types), expiry_of_copy(ttl))

    def own_batch(self, entries: Changes) -> pa.RecordBatch | None:
        return record_batch(key_columns(list(entries), self.types), len(entries)) if entries else None

    def own_entries(self, batch: pa.RecordBatch) -> Changes:
        return dict.fromkeys(key_tuples(batch.columns, batch.num_rows), True)
