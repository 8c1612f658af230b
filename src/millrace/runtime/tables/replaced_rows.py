"""State with a few rows per key, in columns: the rows of a key are replaced as a whole.

Rows are numbered in the order of arrival. A removed row is only marked; when there are more removed rows than others,
the store is rewritten without them, and the others get new numbers. That happens only in ``settle``, which the operator
calls when it has emitted the changes of the slice: until then old rows can still be read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Kinds, Rows
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.state.column_deltas import SINCE
from millrace.runtime.state.tables import ABSENT, ValueTable
from millrace.runtime.tables.columns.batch_bytes import from_bytes
from millrace.runtime.tables.columns.changes import differing
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.columns.pieces import pieces
from millrace.runtime.tables.indexed_rows import AddedRows, at_positions

FEW_DEAD = 1_000
"""The number of removed rows up to which rewriting the store is not worth it."""
MANY_DEAD = 2_000_000
"""The number of rows added since ``settle`` above which calling it may be worth it."""


class ReplacedRows(AddedRows):
    """Rows by key. A delta contains all rows of the changed keys; the full content is that of a ``ValueTable``."""

    kind = ValueTable.kind

    def __init__(self, types: Sequence[pa.DataType], found_by: Sequence[int]) -> None:
        super().__init__(types, found_by)
        self._alive = np.zeros(0, bool)
        self._readable = np.zeros(0, bool)
        """for each row, whether it is alive, or was when ``settle`` was last called"""
        self.settled = 0
        """number of the first row that was added after the last ``settle``"""
        self._told = 0
        """number of the first row that no delta has contained"""

    @property
    def length(self) -> int:
        """The number that the next row will get."""
        return self._store.length

    def _keep(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        first, end = self.length, self.length + batch.num_rows
        self._alive, self._readable = with_room(self._alive, end), with_room(self._readable, end)
        self._alive[first:end] = True
        self._readable[first:end] = True
        self._index.add(hashes, first, self._readable)
        self._store.add(batch)

    def add(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        if batch.num_rows:
            self._keep(batch, hashes)

    def remove(self, numbers: Ids) -> None:
        """Mark these rows as removed."""
        self._alive[numbers] = False
        self._readable[numbers[numbers >= self.settled]] = False

    def find(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        return self._equal(*self._index.find(hashes, self._alive), wanted)

    def find_readable(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """As ``find``, among the rows that existed when ``settle`` was last called."""
        return self._equal(*self._index.find(hashes, self._readable), wanted)

    def alive(self, numbers: Ids) -> Any:
        """Whether these rows exist, as numpy Booleans."""
        return self._alive[numbers]

    def new(self) -> Ids:
        """The rows that were added since ``settle`` and still exist."""
        return np.flatnonzero(self._alive[self.settled : self.length]) + self.settled

    @property
    def crowded(self) -> bool:
        """Whether changes should be emitted and ``settle`` called before the slice ends, because most new rows were
        replaced."""
        came = self.length - self.settled
        return came > MANY_DEAD and came - len(self.new()) > came // 2

    def settle(self) -> None:
        """The changes were emitted: drop removed rows, so that row numbers may change."""
        self._readable[: self.length] = self._alive[: self.length]
        left = self._count()
        if self.length - left > left + FEW_DEAD:
            kept = self._alive[: self.length]
            self._told = int(np.count_nonzero(kept[: self._told]))
            self._store.keep(kept)
            self._index.keep(kept)
            self._alive, self._readable = np.ones(left, bool), np.ones(left, bool)
        self.settled = self.length

    def differing(self, one: Ids, other: Ids) -> Any:
        """For each pair of rows, whether they differ, as numpy Booleans."""
        parts = [differing(self.take(a), self.take(b)) for a, b in zip(pieces(one), pieces(other))]
        return np.concatenate(parts) if parts else np.zeros(0, bool)

    def rows_of(self, numbers: Ids, kinds: Kinds | None) -> Iterator[Rows]:
        """These rows in batches, with the given kinds; None: all are insertions."""
        start = 0
        for batch in self.batches(numbers):
            part = None if kinds is None else kinds[start : start + batch.num_rows]
            yield Rows(batch, part if part is not None and part.any() else None)
            start += batch.num_rows

    def numbers(self) -> Ids:
        return np.flatnonzero(self._alive[: self.length])

    # -- as a table -----------------------------------------------------------------------------------------------

    @abstractmethod
    def beside(self, new: Ids) -> Ids:
        """All rows with the keys of ``new``, rows added since the last delta, in the order of arrival."""

    def delta(self) -> dict[Any, Any]:
        new = np.flatnonzero(self._alive[self._told : self.length]) + self._told
        whole = new if self._told == 0 else self.beside(new)
        self._told = self.length
        self._note_growth(self._count(), len(whole))
        return self._telling(self.batches(whole)) if len(new) else {}

    def _count(self) -> int:
        return int(np.count_nonzero(self._alive[: self.length]))

    def told_pieces(self) -> Iterator[dict[Any, Any]]:
        # A piece replaces everything that earlier pieces had for its keys, because it contains all of their rows.
        for batch in self.batches_of_keys():
            yield self._telling([batch])

    def apply(self, changes: dict[Any, Any]) -> None:
        whole = {at: entry for at, entry in changes.items() if entry is not ABSENT}
        told = list(map(from_bytes, whole.pop(SINCE, ((),))[-1]))
        if told:
            self._replace(told)
        stored = self.batch_of(whole)
        if stored is not None:
            self._replace([stored])
        self.settle()
        self._told = self.length
        self._rows_when_told = self._count()

    def _replace(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Replace the rows of the keys in these batches."""
        keyed = []
        for batch in batches:
            keys = [batch.column(place) for place in self._found_by]
            keyed.append((batch, keys, key_hashes(keys, batch.num_rows)))
        if self.length:
            for _, keys, hashes in keyed:
                self._remove_all(keys, hashes)
        for batch, _, hashes in keyed:
            self._keep(batch, hashes)

    def _remove_all(self, keys: Sequence[pa.Array], hashes: Hashes) -> None:
        first = group_ids(keys, len(hashes))[1]
        where = pa.array(first)
        distinct = [key.take(where) for key in keys]
        _, numbers = self.find(hashes[first], at_positions(distinct))
        self.remove(numbers)
