"""Rows by key that are only added, for a side of a join of insertions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.state.column_deltas import SINCE, Changes, Form
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, Key, key_tuples
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.counted_rows import Entry
from millrace.runtime.tables.expiring_rows import ExpiringKeys


class IndexedRows(ExpiringKeys):
    """A multiset of rows. In a savepoint a key has a dict from row to count; with a time to live, to (time of the last
    write in ms, count).

    :param key: the columns by which the input is partitioned.
    :param expiry: when rows expire, each copy by itself; None: never.
    """

    def __init__(self, types: Sequence[pa.DataType], key: Sequence[int], expiry: Expiry | None = None) -> None:
        super().__init__(types, key, expiry)
        self._codec = RowCodec(types)
        self._made_of = (types_as_bytes(types), tuple(key))
        self._added: list[pa.RecordBatch] = []
        """batches added since the last delta, with their times"""

    def form(self) -> Form:
        return "added rows", (*self._made_of, *self._lifetime)

    @classmethod
    def told(cls, types: bytes, key: Sequence[int], ttl: int = 0) -> IndexedRows:
        return cls(types_of(types), key, expiry_of_copy(ttl))

    def add(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        """Add rows, with the hashes of their keys."""
        length = batch.num_rows
        if not length:
            return
        self._keep(batch, hashes)
        if self._expiry is not None:
            times = self._expiry.times(np.arange(self.length - length, self.length))
            batch = record_batch([*batch.columns, times], length)
        self._added.append(batch)

    def settle(self) -> None:
        """Remove expired rows, if it is time, and let rows leave memory: row numbers may change."""
        self._end_slice()
        if self._disk is not None:
            self._disk.evict()

    def find_to_write(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        # No row is replaced, so expired ones stay until ``settle``: without them the others have other numbers.
        return self.find(hashes, wanted)

    def _drop(self, numbers: Ids) -> None:
        # Those on disk are left out when runs are merged.
        if len(numbers):
            wanted = np.ones(self.length, bool)
            wanted[numbers] = False
            self.retain(wanted)

    # -- as a table -----------------------------------------------------------------------------------------------

    def delta(self) -> Changes:
        added, self._added = self._added, []
        return self._telling(added) if added else {}

    def told_pieces(self) -> Iterator[Changes]:
        for batch in self.all_rows() if self.expires else self._store.batches():
            yield self._telling([batch])

    def apply(self, changes: Changes) -> None:
        whole = dict(changes)
        told = whole.pop(SINCE, ((),))[-1]
        batches = list(map(self._read, told))
        stored = self.batch_of(whole)
        for batch in batches if stored is None else [*batches, stored]:
            own, times = self._without_times(batch.columns)
            hashes = key_hashes([own[place] for place in self._found_by], batch.num_rows)
            self._keep(record_batch(own, batch.num_rows), hashes)
            self._restore(np.arange(self.length - batch.num_rows, self.length), times)

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        if not self.expires:
            return self.own_batch(entries)
        found = [(row, *entry) for _, stored, _ in entries.values() for row, entry in stored.items()]
        own = self._copies([(row, count) for row, _, count in found])
        times = [time for _, time, count in found for _ in range(count)]
        return None if own is None else record_batch([*own.columns, pa.array(times, pa.int64())], len(times))

    def row(self, at: Key) -> Entry:
        entry = self._entry(at)
        return None if entry is None else entry[1]

    def content(self, at: Key) -> Entry:
        row = self.row(at)
        return row if row is None or not self.expires else {name: count for name, (_, count) in row.items()}

    def own_batch(self, entries: Changes) -> pa.RecordBatch | None:
        return self._copies([each for _, counts, _ in entries.values() for each in counts.items()])

    def _copies(self, counts: Sequence[tuple[Row, int]]) -> pa.RecordBatch | None:
        """Rows with their numbers of copies as a batch; None: there are none."""
        rows = [row for row, count in counts for _ in range(count)]
        return record_batch(self._codec.columns(rows), len(rows)) if rows else None

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        own, times = self._without_times(batch.columns)
        entries = self.own_entries(record_batch(own, batch.num_rows))
        if times is None:
            return entries
        latest: dict[Row, int] = {}
        for row, time in zip(self._codec.rows(own, batch.num_rows), times.to_pylist()):
            latest[row] = max(latest.get(row, time), time)
        return {
            at: (fresh, {row: (latest[row], count) for row, count in counts.items()}, more)
            for at, (fresh, counts, more) in entries.items()
        }

    def own_entries(self, batch: pa.RecordBatch) -> Changes:
        found: Changes = {}
        keys = key_tuples([batch.column(index) for index in self._found_by], batch.num_rows)
        for key, row in zip(keys, self._codec.rows(batch.columns, batch.num_rows)):
            counts = found.setdefault(key, (True, {}, []))[1]
            counts[row] = counts.get(row, 0) + 1
        return found
