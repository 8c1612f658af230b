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

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.expiry import Expiry
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import SINCE, Changes
from millrace.runtime.state.tables import ABSENT, ValueTable
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids, taken
from millrace.runtime.tables.expiring_rows import ExpiringKeys
from millrace.runtime.tables.indexed_rows import at_positions

FEW_DEAD = 1_000
"""The number of removed rows up to which rewriting the store is not worth it."""
MANY_DEAD = 2_000_000
"""The number of rows added since ``settle`` above which calling it may be worth it."""


class ReplacedRows(ExpiringKeys):
    """Rows by key. A delta contains all rows of the changed keys; the full content is that of a ``ValueTable``."""

    kind = ValueTable.kind

    def __init__(self, types: Sequence[pa.DataType], found_by: Sequence[int], expiry: Expiry | None) -> None:
        super().__init__(types, found_by, expiry)
        self._alive = np.zeros(0, bool)
        self._readable = np.zeros(0, bool)
        """for each row, whether it is alive, or was when ``settle`` was last called"""
        self._told = 0
        """number of the first row that no delta has contained"""

    def _append(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        first, end = self.length, self.length + batch.num_rows
        self._alive, self._readable = with_room(self._alive, end), with_room(self._readable, end)
        self._alive[first:end] = True
        self._readable[first:end] = True
        self._index.add(hashes, first, self._readable)
        self._store.add(batch)

    def add(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        """Add rows, with the hashes of their keys."""
        if batch.num_rows:
            self._keep(batch, hashes)

    def remove(self, numbers: Ids) -> None:
        """Mark these rows as removed."""
        if self._disk is not None:
            self._disk.removed(numbers)
        self._readable[numbers[self.are_new(numbers)]] = False
        self._alive[numbers] = False

    def _drop(self, numbers: Ids) -> None:
        self.remove(numbers)

    def _findable(self) -> Flags:
        return self._alive

    def find_readable(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """As ``find``, among the rows that existed when ``settle`` was last called."""
        return self._live(*self._equal(*self._index.find(hashes, self._readable), wanted))

    def alive(self, numbers: Ids) -> Any:
        """Whether these rows exist, as numpy Booleans."""
        return self._alive[numbers]

    def new(self) -> Ids:
        """The rows that were added since ``settle`` and still exist."""
        return self._added_from(self.settled)

    def _added_from(self, first: int) -> Ids:
        """The rows from this number on that were added, not loaded, and still exist."""
        numbers = np.flatnonzero(self._alive[first : self.length]) + first
        return numbers if self._disk is None else numbers[~self._disk.are_loaded(numbers)]

    @property
    def crowded(self) -> bool:
        """Whether changes should be emitted and ``settle`` called before the slice ends, because most new rows were
        replaced."""
        came = self.length - self.settled
        return came > MANY_DEAD and came - len(self.new()) > came // 2

    def settle(self) -> None:
        """The changes were emitted: drop removed rows, so that row numbers may change."""
        self._end_slice()
        self._readable[: self.length] = self._alive[: self.length]
        left = self._count()
        if self.length - left > left + FEW_DEAD:
            self.retain(self._alive[: self.length])
        if self._disk is not None:
            self._disk.evict()
        self.settled = self.length

    def retain(self, wanted: Flags) -> None:
        self._told = int(np.count_nonzero(wanted[: self._told]))
        super().retain(wanted)
        self._alive, self._readable = self._alive[: len(wanted)][wanted], self._readable[: len(wanted)][wanted]

    def numbers(self) -> Ids:
        return np.flatnonzero(self._alive[: self.length])

    # -- as a table -----------------------------------------------------------------------------------------------

    @abstractmethod
    def beside(self, new: Ids) -> Ids:
        """All rows with the keys of ``new``, rows added since the last delta, in the order of arrival."""

    def delta(self) -> Changes:
        new = self._added_from(self._told)
        begins = self._told == 0 and self._disk is None
        whole = new if begins else self.beside(new)
        self._told = self.length
        self._note_growth(self._count(), len(whole))
        return self._telling(self.batches(whole)) if len(new) else {}

    def _count(self) -> int:
        return int(np.count_nonzero(self._alive[: self.length]))

    def told_pieces(self) -> Iterator[Changes]:
        # A piece replaces everything that earlier pieces had for its keys, because it contains all of their rows.
        for batch in self.batches_of_keys():
            yield self._telling([batch])

    def apply(self, changes: Changes) -> None:
        whole = {at: entry for at, entry in changes.items() if entry is not ABSENT}
        told = list(map(self._read, whole.pop(SINCE, ((),))[-1]))
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
        if self.length or self._disk is not None:
            for _, keys, hashes in keyed:
                self._remove_all(keys, hashes)
        for batch, _, hashes in keyed:
            own, times = self._without_times(batch.columns)
            self._keep(record_batch(own, batch.num_rows), hashes)
            self._restore(np.arange(self.length - batch.num_rows, self.length), times)

    def _remove_all(self, keys: Sequence[pa.Array], hashes: Hashes) -> None:
        first = group_ids(keys, len(hashes))[1]
        distinct = taken(keys, first, len(hashes))
        _, numbers = self._find_expired_too(hashes[first], at_positions(distinct))
        self.remove(numbers)
