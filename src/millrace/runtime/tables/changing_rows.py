"""Keyed state of rows in columns, to which rows are added and from which they are removed: found by the hash of the
key, without Python per row or key.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.expiry import Expiry
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import SINCE, Changes
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.expiring_rows import ExpiringRows
from millrace.runtime.tables.indexed_rows import ChangedRows, at_positions

FEW = 4_096
"""The number of removed rows up to which, even if they are the majority, the columns are not rewritten without them."""


class ChangingRows(ChangedRows, ExpiringRows):
    """Rows whose first columns are the key. Row numbers change in ``settle`` only.

    :param types: types of all columns.
    :param width: number of key columns.
    :param expiry: when rows expire, each by itself; None: never.
    """

    def __init__(self, types: Sequence[pa.DataType], width: int, expiry: Expiry | None = None) -> None:
        super().__init__(types, range(width), expiry)
        self.width = width
        self._alive = np.zeros(0, bool)
        self._fresh = np.zeros(0, bool)
        """for each row, whether it was added since the last delta"""
        self._dead = 0

    # -- rows come and go -----------------------------------------------------------------------------------------

    def add(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        """Add rows, with the hashes of their keys."""
        first = self._keep_some(batch, hashes)
        self._fresh[first : self.length] = True

    def _keep_some(self, batch: pa.RecordBatch, hashes: Hashes) -> int:
        """Add rows; returns the number of the first one."""
        if self._disk is not None:
            self._disk.sync()
        first = self.length
        if batch.num_rows:
            self._keep(batch, hashes)
        return first

    def _append(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        first, end = self.length, self.length + batch.num_rows
        self._alive, self._fresh = with_room(self._alive, end), with_room(self._fresh, end)
        self._alive[first:end], self._fresh[first:end] = True, False
        super()._append(batch, hashes)

    def _findable(self) -> Flags | None:
        return self._alive if self._dead else None

    def remove(self, numbers: Ids) -> None:
        """Remove rows."""
        self._drop(numbers)

    def _drop(self, numbers: Ids) -> None:
        if self._disk is not None:
            self._disk.removed(numbers)
        self._alive[numbers] = False
        self._dead += len(numbers)

    def settle(self) -> None:
        """Drop removed rows. Row numbers may change, so the caller must not hold any."""
        self._end_slice()
        if self._dead > max(FEW, self.length - self._dead):
            self.retain(self._alive[: self.length])
        if self._disk is not None:
            self._disk.evict()

    def retain(self, wanted: Flags) -> None:
        super().retain(wanted)
        count = len(wanted)
        self._alive, self._fresh = self._alive[:count][wanted], self._fresh[:count][wanted]
        self._dead = int(np.count_nonzero(~self._alive))

    def wipe(self) -> None:
        self.retain(np.zeros(self.length, bool))

    # -- and are found --------------------------------------------------------------------------------------------

    def find_keys(self, keys: Sequence[pa.Array], length: int) -> tuple[Ids, Ids]:
        """(index in ``keys``, number of a row with this key), by index and then by arrival."""
        return self.find(key_hashes(keys, length), at_positions(keys))

    def with_hashes(self, hashes: Hashes) -> Ids:
        """The numbers of all rows whose keys have these hashes, which are distinct."""
        if self._disk is not None:
            self._disk.fetch(hashes)
        return np.sort(self.find_hashes(hashes)[1])

    def numbers(self) -> Ids:
        return np.flatnonzero(self._alive[: self.length])

    def parts(self) -> Iterator[Sequence[pa.Array]]:
        """The columns of all rows, also of those that are not in memory, in parts that contain each key as a whole."""
        if self._disk is None:
            return (batch.columns for batch in self.batches_of_keys())
        return self._disk.parts()

    def remove_all(self) -> None:
        """Remove all rows, also those that are not in memory."""
        hashes = [key_hashes(columns[: self.width], len(columns[0])) for columns in self.parts()]
        for some in hashes:
            self.remove(self.with_hashes(np.unique(some)))

    # -- as a table -----------------------------------------------------------------------------------------------

    def told_pieces(self) -> Iterator[Changes]:
        return map(self.told_of, (batch.columns for batch in self.batches_of_keys()))

    def apply(self, changes: Changes) -> None:
        whole = dict(changes)
        *_, (gone, there) = whole.pop(SINCE, (((), ()),))
        for batch in map(self._read, gone):
            self._forget(batch.columns)
        for batch in map(self._read, there):
            self._come(batch)
        if whole:
            self._apply_entries(whole)
        self.settle()

    @abstractmethod
    def _apply_entries(self, entries: Changes) -> None:
        """Apply changes by address."""

    @abstractmethod
    def _forget(self, names: Sequence[pa.Array]) -> None:
        """Remove the rows that a delta names, as far as they exist."""

    def _drop_keys(self, keys: Sequence[pa.Array], length: int) -> None:
        """Remove the rows with these keys because another copy has."""
        self._drop(self._find_expired_too(key_hashes(keys, length), at_positions(keys))[1])

    def _come(self, batch: pa.RecordBatch) -> None:
        """Add rows because another copy has."""
        own, times = self._without_times(batch.columns)
        first = self._keep_some(
            record_batch(own, batch.num_rows), key_hashes(batch.columns[: self.width], batch.num_rows)
        )
        self._restore(np.arange(first, self.length), times)
