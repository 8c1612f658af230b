"""Keyed state of rows in columns, to which rows are added and from which they are removed: found by the hash of the
key, without Python per row or key.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.state.tables import Table
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.columns.row_index import HashIndex, RowStore
from millrace.runtime.tables.indexed_rows import equal_rows

FEW = 4_096
"""The number of removed rows up to which, even if they are the majority, the columns are not rewritten without them."""


class ChangingRows(Table):
    """Rows whose first columns are the key. Each row has a mark, a number by which rows can be selected.

    :param types: types of all columns.
    :param width: number of key columns.
    """

    def __init__(self, types: Sequence[pa.DataType], width: int) -> None:
        super().__init__()
        self._types = tuple(types)
        self.width = width
        self._touched: list[pa.RecordBatch] = []
        """keys changed since the last delta"""
        self._clear()

    def _clear(self) -> None:
        self._index = HashIndex()
        self._store = RowStore(self._types)
        self._alive = np.zeros(0, bool)
        self._fresh = np.zeros(0, bool)
        """for each row, whether it was added since the last delta"""
        self._marks = np.zeros(0, np.int64)
        self._gone = 0

    @abstractmethod
    def marks(self, batch: pa.RecordBatch) -> Ids:
        """The marks for new rows."""

    def removing(self, numbers: Ids) -> None:
        """Called before these rows are removed."""

    # -- rows come and go -----------------------------------------------------------------------------------------

    def add(self, batch: pa.RecordBatch) -> Ids:
        """Add rows; returns their numbers."""
        first = self._store.length
        if batch.num_rows:
            self._touch(batch)
            self._keep(batch, np.ones(batch.num_rows, bool))
        return np.arange(first, first + batch.num_rows)

    def mark(self, numbers: Ids, marks: Ids) -> None:
        """Set the marks of these rows."""
        self._marks[numbers] = marks

    def remove(self, numbers: Ids) -> None:
        """Remove rows. The numbers of the remaining rows may change."""
        if len(numbers):
            self.removing(numbers)
            self._touch(record_batch(self._store.take(numbers, range(self.width)), len(numbers)))
            self._kill(numbers)

    def _touch(self, batch: pa.RecordBatch) -> None:
        self._touched.append(record_batch(batch.columns[: self.width], batch.num_rows))

    def _keep(self, batch: pa.RecordBatch, fresh: Any) -> None:
        if not batch.num_rows:
            return
        self._index.add(key_hashes(batch.columns[: self.width], batch.num_rows), self._store.length)
        self._store.add(batch)
        first, end = self._store.length - batch.num_rows, self._store.length
        self._alive, self._fresh, self._marks = (
            with_room(each, end) for each in (self._alive, self._fresh, self._marks)
        )
        self._alive[first:end], self._fresh[first:end], self._marks[first:end] = True, fresh, self.marks(batch)

    def _kill(self, numbers: Ids) -> None:
        self._alive[numbers] = False
        self._gone += len(numbers)
        if self._gone > max(FEW, self._store.length - self._gone):
            left = self.all()
            rows, fresh, marks = self.rows_of(left), self._fresh[left], self._marks[left]
            self._clear()
            self._keep(rows, fresh)
            self._marks[: len(left)] = marks

    # -- and are found --------------------------------------------------------------------------------------------

    def find(self, keys: Sequence[pa.Array], length: int) -> tuple[Ids, Ids]:
        """(index in ``keys``, number of a row with this key), by index and then by arrival."""
        owners, numbers = self._index.find(key_hashes(keys, length))
        alive = self._alive[numbers]
        owners, numbers = owners[alive], numbers[alive]
        if not len(owners):
            return owners, numbers
        where = pa.array(owners)
        wanted = [column.take(where) for column in keys]
        same = equal_rows(wanted, self._store.take(numbers, range(self.width)), len(owners))
        return (owners, numbers) if same.all() else (owners[same], numbers[same])

    def marked(self, until: int) -> Ids:
        """The numbers of rows with marks up to this one."""
        return np.flatnonzero(self._alive & (self._marks <= until))

    def all(self) -> Ids:
        """The numbers of all rows, in the order of arrival."""
        return np.flatnonzero(self._alive)

    def take(self, numbers: Ids) -> list[pa.Array]:
        """The columns of these rows."""
        return self._store.take(numbers)

    def rows_of(self, numbers: Ids) -> pa.RecordBatch:
        return record_batch(self._store.take(numbers), len(numbers))

    # -- as a table -----------------------------------------------------------------------------------------------

    def touched_keys(self) -> tuple[list[pa.Array], int]:
        """The distinct keys changed since the last call, and their number."""
        if not self._touched:
            return [], 0
        columns = [pa.concat_arrays(parts) for parts in zip(*(batch.columns for batch in self._touched))]
        length = sum(batch.num_rows for batch in self._touched)
        self._touched = []
        _, first = group_ids(columns, length)
        where = pa.array(first)
        return [column.take(where) for column in columns], len(first)

    def wipe(self) -> None:
        self._clear()
        self._touched = []

    def row(self, at: Any) -> Any:
        return self.entries().get(at)

    def addresses(self) -> Iterator[Any]:
        return iter(self.entries())
