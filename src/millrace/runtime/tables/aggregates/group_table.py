"""The accumulators of groups in columns: one row per key, whose slots are overwritten in place.

A delta contains the whole accumulators of changed keys, and the removed keys, also in columns. In a savepoint an
accumulator is a tuple at its key, as in a ``ValueTable``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.functions.aggregates.registry import Slot, column_of
from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.state.column_deltas import SINCE
from millrace.runtime.state.tables import ABSENT, ValueTable
from millrace.runtime.tables.columns.batch_bytes import from_bytes, to_bytes, types_as_bytes, types_of
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, key_columns, key_tuples
from millrace.runtime.tables.columns.mutable_columns import written_column
from millrace.runtime.tables.columns.pieces import pieces
from millrace.runtime.tables.indexed_rows import AddedRows, at_positions, batches_by_place
from millrace.runtime.tables.replaced_rows import FEW_DEAD

Changes = dict[Any, Any]


class GroupTable(AddedRows):
    """Accumulators by key. Row numbers change in ``settle`` only.

    :param keys: the types of the key columns.
    :param slots: the types of the accumulators' slots.
    :param nullable: whether each slot may be NULL.
    """

    kind = ValueTable.kind

    def __init__(self, keys: Sequence[pa.DataType], slots: Sequence[pa.DataType], nullable: Sequence[bool]) -> None:
        super().__init__(keys, range(len(keys)))
        self._made_of = (types_as_bytes(keys), types_as_bytes(slots), tuple(nullable))
        self._columns = [written_column(kind, may) for kind, may in zip(slots, nullable)]
        self._alive = np.zeros(0, bool)
        self._untold = np.zeros(0, bool)
        """for each row, whether it has changed since the last delta"""
        self._gone: list[pa.RecordBatch] = []
        """keys removed since the last delta"""
        self._dead = 0
        self.settled = 0
        """number of the first row that was added since the last ``settle``"""

    @property
    def length(self) -> int:
        """The number that the next row will have."""
        return self._store.length

    def place(self, keys: Sequence[pa.Array], length: int) -> tuple[Ids, Any]:
        """(number of each key's row, which is added if it is missing; whether it existed, as numpy Booleans).

        :param keys: key columns, without duplicates. Added rows must be written next.
        """
        hashes = key_hashes(keys, length)
        owners, found = self.find(hashes, at_positions(keys))
        known = np.zeros(length, bool)
        known[owners] = True
        numbers = np.empty(length, np.int64)
        numbers[owners] = found
        fresh = np.flatnonzero(~known)
        if len(fresh):
            first, end = self.length, self.length + len(fresh)
            where = pa.array(fresh)
            self._alive, self._untold = with_room(self._alive, end), with_room(self._untold, end)
            self._alive[first:end] = True
            for column in self._columns:
                column.grow(end)
            self._index.add(hashes[fresh], first, self._alive if self._dead else None)
            self._store.add(record_batch([key.take(where) for key in keys], len(fresh)))
            numbers[fresh] = np.arange(first, end)
        return numbers, known

    def find(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        return self._equal(*self._index.find(hashes, self._alive if self._dead else None), wanted)

    def write(self, numbers: Ids, slots: Sequence[pa.Array]) -> None:
        """Set the accumulators of these rows."""
        for column, values in zip(self._columns, slots):
            column.write(numbers, values)
        self._untold[numbers] = True

    def slots(self, numbers: Ids) -> list[pa.Array]:
        """The accumulators of these rows."""
        return [column.take(numbers) for column in self._columns]

    def remove(self, numbers: Ids) -> None:
        """Remove the accumulators of these rows."""
        if len(numbers):
            self._gone.append(record_batch(self.take(numbers), len(numbers)))
            self._drop(numbers)

    def _drop(self, numbers: Ids) -> None:
        self._alive[numbers] = self._untold[numbers] = False
        self._dead += len(numbers)

    def settle(self) -> None:
        """Drop removed rows. Row numbers may change, so the caller must not hold any."""
        if self._dead > self.length - self._dead + FEW_DEAD:
            wanted = self._alive[: self.length]
            kept = np.flatnonzero(wanted)
            for column in self._columns:
                column.keep(kept)
            self._untold = self._untold[kept]
            self._store.keep(wanted)
            self._index.keep(wanted)
            self._alive, self._dead = np.ones(len(kept), bool), 0
        self.settled = self.length

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> tuple[str, tuple[Any, ...]]:
        return "groups", self._made_of

    @classmethod
    def told(cls, keys: bytes, slots: bytes, nullable: Sequence[bool]) -> GroupTable:
        return cls(types_of(keys), types_of(slots), nullable)

    def delta(self) -> Changes:
        changed = np.flatnonzero(self._untold[: self.length])
        if not len(changed) and not self._gone:
            return {}
        gone, self._gone = self._gone, []
        self._untold[changed] = False
        self._note_growth(self.length - self._dead, len(changed))
        return self._changes(gone, self.batches(changed))

    def told_pieces(self) -> Iterator[Changes]:
        for batch in self.all_rows():
            yield self._changes((), [batch])

    def _changes(self, gone: Sequence[pa.RecordBatch], there: Any) -> Changes:
        return {SINCE: (*self.form(), (list(map(to_bytes, gone)), list(map(to_bytes, there))))}

    @classmethod
    def divided(cls, changes: Changes, places: Callable[[Hashes], Ids]) -> dict[int, Changes]:
        """Divide a delta by the targets of the keys."""
        form, made_of, both = changes[SINCE]
        gone, there = (batches_by_place(each, cls.told(*made_of).divided_by, places) for each in both)
        found = ((place, (gone.get(place, []), there.get(place, []))) for place in gone.keys() | there.keys())
        return {place: {SINCE: (form, made_of, part)} for place, part in found}

    @classmethod
    def by_address(cls, changes: Changes) -> Changes:
        """A delta in the form of a ``ValueTable``."""
        _, made_of, (gone, _) = changes[SINCE]
        table = cls.told(*made_of)
        table.apply(changes)
        keys = [key_tuples(batch.columns, batch.num_rows) for batch in map(from_bytes, gone)]
        return {**{key: ABSENT for each in keys for key in each}, **table.entries()}

    def apply(self, changes: Changes) -> None:
        whole = dict(changes)
        *_, (gone, there) = whole.pop(SINCE, (((), ()),))
        for batch in map(from_bytes, gone):
            self._forget(batch.columns, batch.num_rows)
        for batch in map(from_bytes, there):
            self._replace(batch)
        absent = [at for at, entry in whole.items() if entry is ABSENT]
        if absent:
            self._forget(key_columns(absent, self.types), len(absent))
        stored = self.batch_of({at: entry for at, entry in whole.items() if entry is not ABSENT})
        if stored is not None:
            self._replace(stored)
        self._untold[:] = False
        self.settle()
        self._rows_when_told = self.length - self._dead

    def _forget(self, keys: Sequence[pa.Array], length: int) -> None:
        self._drop(self.find(key_hashes(keys, length), at_positions(keys))[1])

    def _replace(self, batch: pa.RecordBatch) -> None:
        width = len(self.types)
        numbers, _ = self.place(batch.columns[:width], batch.num_rows)
        self.write(numbers, batch.columns[width:])

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        if not entries:
            return None
        slots = [column_of(values, each.kind) for values, each in zip(zip(*entries.values()), self._columns)]
        return record_batch([*key_columns(list(entries), self.types), *slots], len(entries))

    def numbers(self) -> Ids:
        return np.flatnonzero(self._alive[: self.length])

    def batches(self, numbers: Ids) -> Iterator[pa.RecordBatch]:
        """Keys and accumulators of these rows, in batches of limited size."""
        for part in pieces(numbers):
            yield record_batch([*self.take(part), *self.slots(part)], len(part))

    def entry_pieces(self) -> Iterator[Changes]:
        # A key has one row.
        return map(self.entries_of, self.all_rows())

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        width = len(self.types)
        slots = [column.to_pylist() for column in batch.columns[width:]]
        return dict(zip(key_tuples(batch.columns[:width], batch.num_rows), zip(*slots)))

    def row(self, at: Any) -> Any:
        keys = key_columns([at], self.types)
        found = self.batches(self.find(key_hashes(keys, 1), at_positions(keys))[1])
        return next((self.entries_of(batch)[at] for batch in found), None)


def group_table(keys: Sequence[pa.DataType], slots: Sequence[Slot]) -> GroupTable:
    """A table for accumulators with these slots; a slot may be NULL if it has no zero."""
    return GroupTable(keys, [slot.type for slot in slots], [slot.zero is None for slot in slots])
