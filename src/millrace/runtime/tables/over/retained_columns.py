"""The stored rows of an OVER window, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.state.column_deltas import SINCE, Changes, Form
from millrace.runtime.state.tables import ABSENT, MapTable
from millrace.runtime.tables.changing_rows import ChangingRows
from millrace.runtime.tables.columns.batch_bytes import from_bytes, types_as_bytes, types_of
from millrace.runtime.tables.columns.keys import (
    Ids,
    Key,
    group_ids,
    key_columns,
    key_tuples,
    places_within,
    rows_at,
    taken,
)
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.due_hashes import DueHashes
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.over.over_frames import Line
from millrace.runtime.tables.over.retained_rows import History, KeptRows, Need, Partitions


class KeptTable(ChangingRows):
    """Stored rows: the key, the number of the row in its partition, the time (ms), the values that calls need.

    A delta contains the rows that were added, and the (key, number) of those that were removed. In a savepoint they are
    the map of ``ObjectRows``.
    """

    kind = MapTable.kind

    def __init__(self, keys: Sequence[pa.DataType], kept: Sequence[pa.DataType]) -> None:
        super().__init__([*keys, pa.int64(), pa.int64(), *kept], len(keys))
        self._key_types = tuple(keys)
        self._made_of = (types_as_bytes(keys), types_as_bytes(kept))
        self._codec = RowCodec([pa.int64(), *kept])
        self._removed: list[pa.RecordBatch] = []
        """(key, number) of removed rows that earlier deltas contained"""

    def remove(self, numbers: Ids) -> None:
        known = numbers[~self._fresh[numbers]]
        if len(known):
            self._removed.append(record_batch(self.take(known, range(self.width + 1)), len(known)))
        super().remove(numbers)

    def wipe(self) -> None:
        super().wipe()
        self._removed = []

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        return "kept rows", self._made_of

    @classmethod
    def told(cls, keys: bytes, kept: bytes) -> KeptTable:
        return cls(types_of(keys), types_of(kept))

    def delta(self) -> Changes:
        fresh = np.flatnonzero(self._fresh[: self.length] & self._alive[: self.length])
        removed, self._removed = self._removed, []
        self._fresh[:] = False
        if not len(fresh) and not removed:
            return {}
        self._note_growth(self.length - self._dead, len(fresh))
        return self._changes(removed, self.batches(fresh))

    @classmethod
    def by_address(cls, changes: Changes) -> Changes:
        """A delta in the form of a ``MapTable``."""
        _, made_of, (gone, there) = changes[SINCE]
        table = cls.told(*made_of)
        found: dict[Key, Any] = {}
        for batch in map(from_bytes, gone):
            keys = key_tuples(batch.columns[: table.width], batch.num_rows)
            for key, number in zip(keys, batch.column(table.width).to_pylist()):
                found.setdefault(key, (False, {}, []))[1][number] = ABSENT
        for batch in map(from_bytes, there):
            for key, number, row in table._rows_of(batch):
                found.setdefault(key, (False, {}, []))[1][number] = row
        return found

    def _rows_of(self, batch: pa.RecordBatch) -> Iterator[tuple[Key, int, Row]]:
        """(key, number, row) of these rows, in the form of ``ObjectRows``."""
        keys = key_tuples(batch.columns[: self.width], batch.num_rows)
        rows = self._codec.rows(batch.columns[self.width + 1 :], batch.num_rows)
        return zip(keys, batch.column(self.width).to_pylist(), rows)

    def _apply_entries(self, entries: Changes) -> None:
        absent = [at for at, change in entries.items() if change is ABSENT or change[0]]
        if absent:
            self._drop(key_columns(absent, self._key_types), len(absent))
        there = {at: change[1] for at, change in entries.items() if change is not ABSENT}
        names = [(at, number) for at, rows in there.items() for number in rows]
        if names:
            keys = key_columns([at for at, _ in names], self._key_types)
            self._forget([*keys, pa.array([number for _, number in names], pa.int64())])
        stored = self.batch_of(entries)
        if stored is not None:
            self._come(stored)

    def _forget(self, names: Sequence[pa.Array]) -> None:
        """:param names: keys, and the numbers of rows."""
        length = len(names[-1])
        _, first = group_ids(names[:-1], length)
        _, numbers = self.find_keys(taken(names[:-1], first, length), len(first))
        there = self.take(numbers, range(self.width + 1))
        both = [pa.concat_arrays([own, name.cast(own.type)]) for own, name in zip(there, names)]
        ids, _ = group_ids(both, len(numbers) + length)
        self._kill(numbers[np.isin(ids[: len(numbers)], ids[len(numbers) :])])

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        items = [
            (at, number, row)
            for at, change in entries.items()
            if change is not ABSENT
            for number, row in change[1].items()
            if row is not ABSENT
        ]
        if not items:
            return None
        keys = key_columns([at for at, *_ in items], self._key_types)
        rows = self._codec.columns([row for *_, row in items])
        return record_batch([*keys, pa.array([number for _, number, _ in items], pa.int64()), *rows], len(items))

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        found: dict[Key, Any] = {}
        for key, number, row in self._rows_of(batch):
            found.setdefault(key, (True, {}, []))[1][number] = row
        return found

    def row(self, at: Any) -> Any:
        entry = super().row(at)
        return None if entry is None else entry[1]


class ColumnRows(KeptRows):
    """Stores rows in columns, with no Python per row or partition."""

    def __init__(self, need: Need, table: KeptTable) -> None:
        super().__init__(need)
        self._table = table
        self._due = DueHashes()
        """where idle partitions are removed: the times (ms) of the last rows of partitions"""

    def restored(self) -> None:
        self._due.clear()
        if self.need.only_times:
            width = self._table.width
            for columns in self._table.parts():
                partitions = Partitions.of(columns[:width], len(columns[width]))
                self._note(partitions.hashes, partitions.ids, columns[width + 1].to_numpy())

    def _note(self, hashes: Hashes, owners: Ids, times: Ids) -> None:
        """Note that partitions have rows at these times (ms).

        :param hashes: the hash of each partition's key.
        :param owners: the partition of each time.
        """
        newest = _newest(owners, times, len(hashes))
        have = np.unique(owners)
        self._due.add(newest[have], hashes[have])

    def find(self, keys: Partitions) -> History:
        owners, numbers = self._table.find(keys.hashes, at_positions(keys.columns))
        number = self._table.take(numbers, (self._table.width,))[0].to_numpy()
        order = np.lexsort((number, owners))
        owners, numbers = owners[order], numbers[order]
        return History(owners, self._table.take(numbers)[self._table.width + 1 :], (numbers, number[order]))

    def change(self, keys: Partitions, history: History, gone: Any, owners: Ids, columns: list[pa.Array]) -> None:
        table = self._table
        numbers, known = history.places
        following = np.zeros(keys.count, np.int64)
        following[history.owners] = known + 1  # what is assigned last stays
        number = following[owners] + places_within(owners)
        batch = record_batch([*rows_at(keys.columns, owners), pa.array(number), *columns], len(owners))
        table.add(batch, keys.hashes[owners])
        if self.need.only_times:
            self._note(keys.hashes, owners, columns[0].to_numpy())
        table.remove(numbers[gone])
        table.settle()

    def plan_to_forget(self, keys: Partitions, new: Line) -> None:
        """Does nothing: what is added is noted."""

    def forget_idle(self, following: int) -> None:
        if not self.need.only_times:
            return
        limit = following - self.need.idle - 1
        hashes = self._due.take(limit)
        if not len(hashes):
            return
        table = self._table
        numbers = table.with_hashes(hashes)
        columns = table.take(numbers, range(table.width + 2))
        partitions, times = Partitions.of(columns[: table.width], len(numbers)), columns[-1].to_numpy()
        idle = (_newest(partitions.ids, times, partitions.count) <= limit)[partitions.ids]
        if not idle.all():
            self._note(partitions.hashes, partitions.ids[~idle], times[~idle])
        table.remove(numbers[idle])
        table.settle()


def _newest(owners: Ids, times: Ids, count: int) -> Ids:
    """The latest time of each of ``count`` owners; the smallest number for one without times."""
    found = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(found, owners, times)
    return found
