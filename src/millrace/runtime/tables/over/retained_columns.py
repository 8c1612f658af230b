"""The stored rows of an OVER window, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import SINCE, Changes, Form
from millrace.runtime.state.tables import ABSENT, MapTable
from millrace.runtime.tables.changing_rows import ChangingRows
from millrace.runtime.tables.columns.batch_bytes import from_bytes, types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
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
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.due_hashes import DueHashes
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.over.retained_rows import History, Need, Partitions

KEPT = "kept"
"""name of the state"""


class KeptTable(ChangingRows):
    """Stored rows: the key, the number of the row in its partition, the time (ms), the values that calls need.

    A delta contains the rows that were added, and the (key, number) of those that were removed. In a savepoint a key
    has a dict: number -> (time, values ...), with a time to live (time of the write in ms, (time, values ...)).

    :param keys: the types of the key columns; ``kept``: those of the values.
    :param expiry: when rows expire, each by itself; None: never.
    """

    kind = MapTable.kind

    def __init__(self, keys: Sequence[pa.DataType], kept: Sequence[pa.DataType], expiry: Expiry | None = None) -> None:
        super().__init__([*keys, pa.int64(), pa.int64(), *kept], len(keys), expiry)
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
        return "kept rows", (*self._made_of, *self._lifetime)

    @classmethod
    def told(cls, keys: bytes, kept: bytes, ttl: int = 0) -> KeptTable:
        return cls(types_of(keys), types_of(kept), expiry_of_copy(ttl))

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

    def _rows_of(self, batch: pa.RecordBatch) -> Iterator[tuple[Key, int, Any]]:
        """(key, number, row) of these stored rows, in the form of a savepoint."""
        keys = key_tuples(batch.columns[: self.width], batch.num_rows)
        own, _ = self._without_times(batch.columns)
        rows = self._codec.rows(own[self.width + 1 :], batch.num_rows)
        return zip(keys, batch.column(self.width).to_pylist(), self.stamped(rows, batch))

    def _apply_entries(self, entries: Changes) -> None:
        absent = [at for at, change in entries.items() if change is ABSENT or change[0]]
        if absent:
            self._drop_keys(key_columns(absent, self._key_types), len(absent))
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
        keys = taken(names[:-1], first, length)
        _, numbers = self._find_expired_too(key_hashes(keys, len(first)), at_positions(keys))
        there = self.take(numbers, range(self.width + 1))
        both = [pa.concat_arrays([own, name.cast(own.type)]) for own, name in zip(there, names)]
        ids, _ = group_ids(both, len(numbers) + length)
        self._drop(numbers[np.isin(ids[: len(numbers)], ids[len(numbers) :])])

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
        rows, stamps = zip(*(self.unstamped(entry) for *_, entry in items))
        times = [pa.array(each, pa.int64()) for each in zip(*stamps)]
        numbers = pa.array([number for _, number, _ in items], pa.int64())
        return record_batch([*keys, numbers, *self._codec.columns(rows), *times], len(items))

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        found: dict[Key, Any] = {}
        for key, number, row in self._rows_of(batch):
            found.setdefault(key, (True, {}, []))[1][number] = row
        return found

    def row(self, at: Any) -> Any:
        entry = super().row(at)
        return None if entry is None else entry[1]


class KeptRows:
    """The rows that later ones may need, in columns, with no Python per row or partition."""

    def __init__(self, need: Need, table: KeptTable) -> None:
        self.need = need
        self._table = table
        self._due = DueHashes()
        """where idle partitions are removed: the times (ms) of the last rows of partitions"""

    def restored(self) -> None:
        """The state was restored, from an earlier copy or from other subtasks."""
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

    def newest(self, keys: Partitions) -> Ids:
        """The time (ms) of the last row of each partition; the smallest number if it has none."""
        owners, numbers = self._table.find(keys.hashes, at_positions(keys.columns))
        return _newest(owners, self._table.take(numbers, (self._table.width + 1,))[0].to_numpy(), keys.count)

    def find(self, keys: Partitions) -> History:
        """The rows of partitions that ``change`` is called for next."""
        owners, numbers = self._table.find_to_write(keys.hashes, at_positions(keys.columns))
        places = self._table.take(numbers, (self._table.width,))[0].to_numpy()
        order = np.lexsort((places, owners))
        owners, numbers = owners[order], numbers[order]
        return History(owners, self._table.take(numbers)[self._table.width + 1 :], numbers, places[order])

    def change(self, keys: Partitions, history: History, gone: Flags, owners: Ids, columns: list[pa.Array]) -> None:
        """Remove rows, then add others.

        :param gone: which rows of the history are removed.
        :param owners: the partitions of new rows; ``columns`` as those of a history.
        """
        table = self._table
        following = np.zeros(keys.count, np.int64)
        following[history.owners] = history.places + 1  # what is assigned last stays
        number = following[owners] + places_within(owners)
        batch = record_batch([*rows_at(keys.columns, owners), pa.array(number), *columns], len(owners))
        table.add(batch, keys.hashes[owners])
        if self.need.only_times:
            self._note(keys.hashes, owners, columns[0].to_numpy())
        table.remove(history.numbers[gone])
        table.settle()

    def forget_idle(self, following: int) -> None:
        """Delete the partitions that have had no new rows for so long that none is needed.

        :param following: a lower limit of the time of later rows (ms).
        """
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
