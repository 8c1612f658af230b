"""The base of keyed state with rows in columns, found by the hash of their key, in memory and on disk.

A delta contains whole batches; the full content has an entry for each key, as tables of objects have it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Kinds, Rows, record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.rows.row_runs import RowRuns
from millrace.runtime.rows.rows_on_disk import RowsOnDisk
from millrace.runtime.state.column_deltas import SINCE, Changes, Form
from millrace.runtime.state.disk.stored_table import StoredTable
from millrace.runtime.state.figures import MEMORY_BYTES, ROWS, Figures
from millrace.runtime.state.tables import MapTable, Table
from millrace.runtime.tables.columns.batch_bytes import from_bytes, to_bytes
from millrace.runtime.tables.columns.changes import differing, placed_changes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, key_columns, rows_at
from millrace.runtime.tables.columns.pieces import pieces, pieces_of_groups
from millrace.runtime.tables.columns.row_index import HashIndex, RowStore

MARKS = 30
"""The bytes of a row beside its columns: in the index, and marks."""


class AddedRows(Table):
    """Rows in columns, found by the hash of some of the columns. The full content has the form of a map at each key."""

    kind = MapTable.kind
    in_columns = True
    added_share = 1.0
    bits_within_key = 0
    """the number of low bits of a hash in which the rows of one key may differ"""

    def __init__(self, types: Sequence[pa.DataType], found_by: Sequence[int]) -> None:
        """:param found_by: indexes of the columns by which rows are found."""
        super().__init__()
        self.types = types
        self._found_by = tuple(found_by)
        self._index = HashIndex()
        self._store = RowStore(types)
        self._rows_when_told = 0
        """number of rows at the last delta"""
        self.settled = 0
        """number of the first row that was added since the last ``settle``, in tables that have changes to emit"""
        self._disk: RowsOnDisk | None = None
        """the rows that are not in memory; None: all are"""

    @property
    def length(self) -> int:
        """The number that the next row will have."""
        return self._store.length

    def _keep(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        """Add rows that are a change, with the hashes of the columns by which they are found."""
        if self._disk is not None:
            self._disk.sync()
        first = self.length
        self._append(batch, hashes)
        if self._disk is not None:
            self._disk.appended(first)

    def _append(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        self._index.add(hashes, self._store.length, self._findable())
        self._store.add(batch)

    def _findable(self) -> Flags | None:
        """For each row, whether it exists (numpy Booleans); None: all do."""
        return None

    def find(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """(index, number of a row that equals the wanted values there), by index and then by arrival.

        :param wanted: gives the wanted values as columns, for indexes into ``hashes``; NULL equals NULL.
        """
        if self._disk is not None:
            self._disk.fetch(self._of_disk(hashes))
        owners, numbers = self._equal(*self._index.find(hashes, self._findable()), wanted)
        if self._disk is not None:
            self._disk.used(numbers)
        return owners, numbers

    def find_hashes(self, hashes: Hashes) -> tuple[Ids, Ids]:
        """(index, number of a row in memory whose key has this hash), by index and then by arrival."""
        return self._index.find(hashes, self._findable())

    def _of_disk(self, hashes: Hashes) -> Hashes:
        """The hashes of the keys that rows with these hashes have: keys come and go as a whole."""
        return hashes

    def _equal(self, owners: Ids, numbers: Ids, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """The candidates whose values are equal, not only their hashes."""
        if not len(owners):
            return owners, numbers
        same = equal_rows(wanted(owners), self._store.take(numbers, self._found_by), len(owners))
        return (owners, numbers) if same.all() else (owners[same], numbers[same])

    def are_new(self, numbers: Ids) -> Flags:
        """Whether these rows were added since ``settle`` was last called, as numpy Booleans."""
        new: Flags = numbers >= self.settled
        return new if self._disk is None else new & ~self._disk.are_loaded(numbers)

    def take(self, numbers: Ids, places: Sequence[int] | None = None) -> list[pa.Array]:
        """The columns of these rows: all, or those with the indexes ``places``."""
        return self._store.take(numbers, places)

    def numbers(self) -> Ids:
        """The numbers of all rows."""
        return np.arange(self._store.length)

    def batches(self, numbers: Ids) -> Iterator[pa.RecordBatch]:
        """These rows as they are stored, in several batches, since the texts of a column must not exceed 2 GB."""
        for part in pieces(numbers):
            yield record_batch(self.stored_columns(part), len(part))

    def differing(self, one: Ids, other: Ids) -> Flags:
        """For each pair of rows, whether they differ, as numpy Booleans."""
        parts = [differing(self.take(a), self.take(b)) for a, b in zip(pieces(one), pieces(other))]
        return np.concatenate(parts) if parts else np.zeros(0, bool)

    def rows_of(self, numbers: Ids, kinds: Kinds | None) -> Iterator[Rows]:
        """These rows in batches, with the given kinds; None: all are insertions."""
        start = 0
        for chosen in pieces(numbers):
            part = None if kinds is None else kinds[start : start + len(chosen)]
            batch = record_batch(self.take(chosen), len(chosen))
            yield Rows(batch, part if part is not None and part.any() else None)
            start += len(chosen)

    def key_changes(self, old: Ids, new: Ids, before: bool, alive: bool) -> Iterator[Rows]:
        """The changes of keys that have one row at most.

        :param old: number of the row that each key had; -1: it had none. ``new``: of the one that it has.
        :param before: whether an update includes the old row (-U).
        :param alive: whether a row that replaces an equal one is a change, too.
        """
        had, has = old >= 0, new >= 0
        updated = had & has
        if not alive:
            updated[updated] = self.differing(old[updated], new[updated])
        return self.rows_of(*placed_changes(old, new, had, has, updated, before))

    def shown_numbers(self) -> Ids:
        """The numbers of the rows that a copy needs."""
        return self.numbers()

    def all_rows(self) -> Iterator[pa.RecordBatch]:
        """All rows that a copy needs, in the order of arrival."""
        return self.batches(self.shown_numbers())

    def batches_of_keys(self) -> Iterator[pa.RecordBatch]:
        """The rows of ``all_rows``, in batches that contain each key as a whole, by arrival within a key."""
        numbers = self.shown_numbers()
        hashes = [key_hashes(self.take(part, self.divided_by), len(part)) for part in pieces(numbers)]
        for part in pieces_of_groups(np.concatenate(hashes)) if hashes else ():
            yield record_batch(self.stored_columns(numbers[part]), len(part))

    # -- rows on disk ---------------------------------------------------------------------------------------------

    def on_disk(self, shelf: StoredTable, folder: str, memory: int) -> RowsOnDisk:
        self._disk = RowsOnDisk(self, shelf, RowRuns(folder, self.stored_types, self.still_wanted), memory)
        return self._disk

    @property
    def stored_types(self) -> Sequence[pa.DataType]:
        """The types of a stored row's columns."""
        return self.types

    def stored_columns(self, numbers: Ids) -> list[pa.Array]:
        return self.take(numbers)

    def append_stored(self, columns: Sequence[pa.Array], hashes: Hashes) -> None:
        self._append(record_batch(columns, len(hashes)), hashes)

    def hashes_of(self, numbers: Ids) -> Hashes:
        return key_hashes(self.take(numbers, self._found_by), len(numbers))

    def retain(self, wanted: Flags) -> None:
        """Remove all other rows from memory; the remaining rows get new numbers."""
        self.settled = int(np.count_nonzero(wanted[: self.settled]))
        self._store.keep(wanted)
        self._index.keep(wanted)
        if self._disk is not None:
            self._disk.retained(wanted)

    @property
    def bytes_in_memory(self) -> int:
        return self._store.nbytes + MARKS * self.length

    def figures(self) -> Figures:
        return {ROWS: len(self.numbers()), MEMORY_BYTES: self.bytes_in_memory}

    def still_wanted(self, columns: Sequence[pa.Array]) -> Flags:
        """Which stored rows are still needed: when runs are merged, the others are dropped."""
        return np.ones(len(columns[0]), bool)

    def content_of(self, columns: Sequence[pa.Array]) -> Changes:
        return self.entries_of(record_batch(columns, len(columns[0])))

    def told_of(self, columns: Sequence[pa.Array]) -> Changes:
        return self._telling([record_batch(columns, len(columns[0]))])

    # -- as a table -----------------------------------------------------------------------------------------------

    @abstractmethod
    def form(self) -> Form:
        """(name of the form, arguments of ``told``): see ``runtime.state.column_deltas``."""

    @abstractmethod
    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        """The rows of a full content as a batch; None: there are none."""

    @abstractmethod
    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        """The full content of the keys of these rows, which must be all rows of their keys."""

    def entries(self) -> Changes:
        return {at: entry for piece in self.entry_pieces() for at, entry in piece.items()}

    def entry_pieces(self) -> Iterator[Changes]:
        return map(self.entries_of, self.batches_of_keys())

    def _telling(self, batches: Iterable[pa.RecordBatch]) -> Changes:
        return {SINCE: (*self.form(), list(map(to_bytes, batches)))}

    def _note_growth(self, rows: int, told: int) -> None:
        """Compute ``added_share``: rows of the delta beyond the growth of the table replace removed rows.

        :param rows: number of rows now.
        :param told: number of rows in the delta.
        """
        self.added_share = min(max(rows - self._rows_when_told, 0) / max(told, 1), 1.0)
        self._rows_when_told = rows

    @property
    def divided_by(self) -> Sequence[int]:
        """Indexes of the columns by whose hash rows are divided among subtasks."""
        return self._found_by

    @classmethod
    @abstractmethod
    def told(cls, *made_of: Any) -> AddedRows:
        """An empty table that deltas of this form can be applied to, made from the arguments of ``form``."""

    @classmethod
    def divided(cls, changes: Changes, places: Callable[[Hashes], Ids]) -> dict[int, Changes]:
        """Divide a delta by the targets of its keys."""
        form, made_of, batches = changes[SINCE]
        parts = batches_by_place(batches, cls.told(*made_of).divided_by, places)
        return {place: {SINCE: (form, made_of, part)} for place, part in parts.items()}

    def _read(self, content: bytes) -> pa.RecordBatch:
        """A batch of a delta, with the types of this table: those of an earlier query may be narrower."""
        batch = from_bytes(content)
        columns = [
            column if column.type == kind else column.cast(kind)
            for column, kind in zip(batch.columns, self.stored_types)
        ]
        return record_batch(columns, batch.num_rows)

    def row(self, at: Any) -> Any:
        entry = self._entry(at)
        return None if entry is None else entry[1]

    def _entry(self, at: Any) -> Any:
        """The full content of a key; None: it has none."""
        keys = self._columns_of_key(at)
        numbers = self.find(key_hashes(keys, 1), at_positions(keys))[1]
        return self.entries_of(record_batch(self.stored_columns(numbers), len(numbers))).get(at)

    def _columns_of_key(self, at: Any) -> list[pa.Array]:
        return key_columns([at], [self.types[place] for place in self.divided_by])

    def addresses(self) -> Iterator[Any]:
        if self._disk is None:
            return iter(self.entries())
        return (at for piece in self._disk.pieces() for at in piece)


class ChangedRows(AddedRows):
    """Rows whose delta consists of what names the removed ones, and of the added ones."""

    def _changes(self, gone: Iterable[pa.RecordBatch], there: Iterable[pa.RecordBatch]) -> Changes:
        """A delta.

        :param gone: names rows that are removed before ``there`` is added, beginning with the key.
        """
        return {SINCE: (*self.form(), (list(map(to_bytes, gone)), list(map(to_bytes, there))))}

    def told_of(self, columns: Sequence[pa.Array]) -> Changes:
        return self._changes((), [record_batch(columns, len(columns[0]))])

    @classmethod
    def divided(cls, changes: Changes, places: Callable[[Hashes], Ids]) -> dict[int, Changes]:
        form, made_of, both = changes[SINCE]
        gone, there = (batches_by_place(each, cls.told(*made_of).divided_by, places) for each in both)
        found = ((place, (gone.get(place, []), there.get(place, []))) for place in gone.keys() | there.keys())
        return {place: {SINCE: (form, made_of, part)} for place, part in found}


def batches_by_place(
    batches: Sequence[bytes], key: Sequence[int], places: Callable[[Hashes], Ids]
) -> dict[int, list[bytes]]:
    """The rows of batches, divided by the targets of their keys; rows of one target stay in order."""
    found: dict[int, list[bytes]] = {}
    for batch in map(from_bytes, batches):
        goes_to = places(key_hashes([batch.column(place) for place in key], batch.num_rows))
        order = np.argsort(goes_to, kind="stable")
        ordered = batch.take(pa.array(order))
        starts = np.flatnonzero(np.diff(goes_to[order], prepend=-1))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), batch.num_rows]):
            part = to_bytes(ordered.slice(start, end - start))
            found.setdefault(int(goes_to[order[start]]), []).append(part)
    return found


def at_positions(keys: Sequence[pa.Array]) -> Callable[[Ids], Sequence[pa.Array]]:
    """The values that ``find`` compares with, as a function: the keys at some indexes."""
    return lambda positions: rows_at(keys, positions)


def equal_rows(one: Sequence[pa.Array], other: Sequence[pa.Array], length: int) -> Any:
    """Where the values of all columns are the same, as numpy Booleans."""
    return ~differing(one, other) if one else np.ones(length, bool)
