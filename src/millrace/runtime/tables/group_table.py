"""The accumulators of groups in columns: one row per key, whose slots are overwritten in place.

A delta contains the whole accumulators of changed keys, and the removed keys, also in columns. In a savepoint an
accumulator is a tuple at its key, as in a ``ValueTable``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.functions.aggregates.registry import Slot, column_of
from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import SINCE, Changes, Form
from millrace.runtime.state.tables import ABSENT, ValueTable
from millrace.runtime.tables.columns.batch_bytes import from_bytes, types_as_bytes, types_of
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, key_columns, key_tuples, rows_at
from millrace.runtime.tables.columns.mutable_columns import written_column
from millrace.runtime.tables.expiring_rows import ExpiringKeys
from millrace.runtime.tables.indexed_rows import ChangedRows, at_positions
from millrace.runtime.tables.replaced_rows import FEW_DEAD


class GroupTable(ChangedRows, ExpiringKeys):
    """Accumulators by key. Row numbers change in ``settle`` only.

    :param keys: the types of the key columns.
    :param slots: the types of the accumulators' slots.
    :param nullable: whether each slot may be NULL.
    """

    kind = ValueTable.kind

    def __init__(
        self,
        keys: Sequence[pa.DataType],
        slots: Sequence[pa.DataType],
        nullable: Sequence[bool],
        expiry: Expiry | None = None,
        found_by: Sequence[int] | None = None,
    ) -> None:
        """:param expiry: when rows expire; None: never.
        :param found_by: indexes of the key columns that identify a row; None: all.
        """
        super().__init__(keys, range(len(keys)) if found_by is None else found_by, expiry)
        self._made_of: tuple[Any, ...] = (types_as_bytes(keys), types_as_bytes(slots), tuple(nullable))
        self._columns = [written_column(kind, may) for kind, may in zip(slots, nullable)]
        self._alive = np.zeros(0, bool)
        self._untold = np.zeros(0, bool)
        """for each row, whether it has changed since the last delta"""
        self._gone: list[pa.RecordBatch] = []
        """keys removed since the last delta"""
        self._dead = 0

    def place(self, keys: Sequence[pa.Array], length: int) -> tuple[Ids, Any]:
        """(number of each key's row, which is added if it is missing; whether it existed, as numpy Booleans).

        :param keys: key columns, without duplicates. Added rows must be written next.
        """
        return self.place_hashed(keys, self.hashes(keys, length))

    def place_hashed(self, keys: Sequence[pa.Array], hashes: Hashes) -> tuple[Ids, Any]:
        """As ``place``, for keys with these hashes."""
        length = len(hashes)
        owners, found = self.find_to_write(hashes, at_positions(keys))
        known = np.zeros(length, bool)
        known[owners] = True
        numbers = np.empty(length, np.int64)
        numbers[owners] = found
        fresh = np.flatnonzero(~known)
        if len(fresh):
            first = self.length
            self._keep(record_batch(rows_at(keys, fresh), len(fresh)), hashes[fresh])
            numbers[fresh] = np.arange(first, self.length)
        return numbers, known

    def _append(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        """Add keys, whose accumulators must be written next."""
        first, end = self.length, self.length + batch.num_rows
        self._alive, self._untold = with_room(self._alive, end), with_room(self._untold, end)
        self._alive[first:end] = True
        for column in self._columns:
            column.grow(end)
        super()._append(batch, hashes)

    def _findable(self) -> Flags | None:
        return self._alive if self._dead else None

    def write(self, numbers: Ids, slots: Sequence[pa.Array]) -> None:
        """Set the accumulators of these rows."""
        self._set(numbers, slots)
        if self._expiry is not None:
            self._expiry.wrote(numbers)
        self._untold[numbers] = True
        if self._disk is not None:
            self._disk.changed(numbers)

    def renew(self, numbers: Ids) -> None:
        super().renew(numbers)
        self._untold[numbers] = True

    def _set(self, numbers: Ids, slots: Sequence[pa.Array]) -> None:
        for column, values in zip(self._columns, slots):
            column.write(numbers, values)

    def slots(self, numbers: Ids) -> list[pa.Array]:
        """The accumulators of these rows."""
        return [column.take(numbers) for column in self._columns]

    def remove(self, numbers: Ids) -> None:
        """Remove the accumulators of these rows."""
        if len(numbers):
            self._gone.append(record_batch(self.take(numbers), len(numbers)))
            self._drop(numbers)

    def _drop(self, numbers: Ids) -> None:
        if self._disk is not None:
            self._disk.removed(numbers)
        self._alive[numbers] = self._untold[numbers] = False
        self._dead += len(numbers)

    def settle(self) -> None:
        """Drop removed rows. Row numbers may change, so the caller must not hold any."""
        self._end_slice()
        if self._dead > self.length - self._dead + FEW_DEAD:
            self.retain(self._alive[: self.length])
        if self._disk is not None:
            self._disk.evict()
        self.settled = self.length

    def retain(self, wanted: Flags) -> None:
        kept = np.flatnonzero(wanted)
        for column in self._columns:
            column.keep(kept)
        super().retain(wanted)
        self._untold, self._alive = self._untold[kept], self._alive[kept]
        self._dead = int(np.count_nonzero(~self._alive))

    @property
    def bytes_in_memory(self) -> int:
        return super().bytes_in_memory + sum(column.nbytes for column in self._columns)

    @property
    def own_types(self) -> Sequence[pa.DataType]:
        return [*self.types, *(column.kind for column in self._columns)]

    def own_columns(self, numbers: Ids) -> list[pa.Array]:
        return [*self.take(numbers), *(column.take(numbers) for column in self._columns)]

    def append_own(self, columns: Sequence[pa.Array], hashes: Hashes) -> None:
        first, width = self.length, len(self.types)
        super().append_own(columns[:width], hashes)
        self._set(np.arange(first, self.length), columns[width:])

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        return "groups", (*self._made_of, *self._lifetime)

    @classmethod
    def told(cls, keys: bytes, slots: bytes, nullable: Sequence[bool], ttl: int = 0) -> GroupTable:
        return cls(types_of(keys), types_of(slots), nullable, expiry_of_copy(ttl))

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
        for batch in map(self._read, gone):
            self._forget(batch.columns, batch.num_rows)
        for batch in map(self._read, there):
            self._replace(batch)
        absent = [at for at, entry in whole.items() if entry is ABSENT]
        if absent:
            self._forget_at(absent)
        stored = self.batch_of({at: entry for at, entry in whole.items() if entry is not ABSENT})
        if stored is not None:
            self._replace(stored)
        self.settle()
        self._untold[:], self._gone = False, []
        self._rows_when_told = self.length - self._dead

    def _forget_at(self, ats: Sequence[Any]) -> None:
        """Remove what is at these addresses."""
        self._forget(key_columns(ats, self.types), len(ats))

    def _forget(self, keys: Sequence[pa.Array], length: int) -> None:
        self._drop(self._find_expired_too(self.hashes(keys, length), at_positions(keys))[1])

    def hashes(self, keys: Sequence[pa.Array], length: int) -> Hashes:
        """The hashes by which these keys are found."""
        return key_hashes(keys, length)

    def _replace(self, batch: pa.RecordBatch) -> None:
        width, (own, times) = len(self.types), self._without_times(batch.columns)
        numbers, _ = self.place(own[:width], batch.num_rows)
        self.write(numbers, own[width:])
        self._restore(numbers, times)

    def own_batch(self, entries: Changes) -> pa.RecordBatch | None:
        if not entries:
            return None
        slots = [column_of(values, each.kind) for values, each in zip(zip(*entries.values()), self._columns)]
        return record_batch([*key_columns(list(entries), self.types), *slots], len(entries))

    def numbers(self) -> Ids:
        return np.flatnonzero(self._alive[: self.length])

    def entry_pieces(self) -> Iterator[Changes]:
        # A key has one row.
        return map(self.entries_of, self.all_rows())

    def own_entries(self, batch: pa.RecordBatch) -> Changes:
        width = len(self.types)
        slots = [column.to_pylist() for column in batch.columns[width:]]
        return dict(zip(key_tuples(batch.columns[:width], batch.num_rows), zip(*slots)))


def group_table(keys: Sequence[pa.DataType], slots: Sequence[Slot], expiry: Expiry | None = None) -> GroupTable:
    """A table for accumulators with these slots; a slot may be NULL if it has no zero."""
    return GroupTable(keys, [slot.type for slot in slots], [slot.zero is None for slot in slots], expiry)
