"""Append-only keyed state of rows in columns, for example one side of a join of insertions.

A delta contains whole batches. The full content has the form of a map from row to count at each key, so a savepoint can
be restored with state on disk, where such a map is used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.state.column_deltas import SINCE
from millrace.runtime.state.tables import MapTable, Table
from millrace.runtime.tables.columns.batch_bytes import from_bytes, to_bytes, types_as_bytes, types_of
from millrace.runtime.tables.columns.changes import differing
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, key_tuples
from millrace.runtime.tables.columns.pieces import pieces, pieces_of_groups
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.columns.row_index import HashIndex, RowStore


class AddedRows(Table):
    """Rows in columns, found by the hash of some of the columns. The full content has the form of a map at each key."""

    kind = MapTable.kind
    in_columns = True
    added_share = 1.0

    def __init__(self, types: Sequence[pa.DataType], found_by: Sequence[int]) -> None:
        """:param found_by: indexes of the columns by which rows are found."""
        super().__init__()
        self.types = types
        self._found_by = tuple(found_by)
        self._index = HashIndex()
        self._store = RowStore(types)
        self._added: list[pa.RecordBatch] = []
        """batches added since the last delta"""
        self._rows_when_told = 0
        """number of rows at the last delta"""

    def add(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        """Add rows, with the hashes of the columns by which they are found."""
        if batch.num_rows:
            self._added.append(batch)
            self._keep(batch, hashes)

    def _keep(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        self._index.add(hashes, self._store.length)
        self._store.add(batch)

    def find(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """(index, number of a row that equals the wanted values there), by index and then by arrival.

        :param wanted: gives the wanted values as columns, for indexes into ``hashes``; NULL equals NULL.
        """
        return self._equal(*self._index.find(hashes), wanted)

    def _equal(self, owners: Ids, numbers: Ids, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """The candidates whose values are equal, not only their hashes."""
        if not len(owners):
            return owners, numbers
        same = equal_rows(wanted(owners), self._store.take(numbers, self._found_by), len(owners))
        return (owners, numbers) if same.all() else (owners[same], numbers[same])

    def take(self, numbers: Ids, places: Sequence[int] | None = None) -> list[pa.Array]:
        """The columns of these rows: all, or those with the indexes ``places``."""
        return self._store.take(numbers, places)

    def numbers(self) -> Ids:
        """The numbers of all rows."""
        return np.arange(self._store.length)

    def batches(self, numbers: Ids) -> Iterator[pa.RecordBatch]:
        """These rows in several batches, since the texts of a column must not exceed 2 GB."""
        for part in pieces(numbers):
            yield record_batch(self.take(part), len(part))

    def all_rows(self) -> Iterator[pa.RecordBatch]:
        """All rows, in the order of arrival."""
        return self.batches(self.numbers())

    def batches_of_keys(self) -> Iterator[pa.RecordBatch]:
        """All rows, in batches that contain each key as a whole; rows of a key are in the order of arrival."""
        numbers = self.numbers()
        hashes = [key_hashes(self.take(part, self.divided_by), len(part)) for part in pieces(numbers)]
        for part in pieces_of_groups(np.concatenate(hashes)) if hashes else ():
            yield record_batch(self.take(numbers[part]), len(part))

    # -- as a table -----------------------------------------------------------------------------------------------

    @abstractmethod
    def form(self) -> tuple[str, tuple[Any, ...]]:
        """(name of the form, arguments of ``told``): see ``runtime.state.column_deltas``."""

    @abstractmethod
    def batch_of(self, entries: dict[Any, Any]) -> pa.RecordBatch | None:
        """The rows of a full content as a batch; None: there are none."""

    @abstractmethod
    def entries_of(self, batch: pa.RecordBatch) -> dict[Any, Any]:
        """The full content of the keys of these rows, which must be all rows of their keys."""

    def entries(self) -> dict[Any, Any]:
        return {at: entry for piece in self.entry_pieces() for at, entry in piece.items()}

    def entry_pieces(self) -> Iterator[dict[Any, Any]]:
        return map(self.entries_of, self.batches_of_keys())

    def delta(self) -> dict[Any, Any]:
        if not self._added:
            return {}
        added, self._added = self._added, []
        return self._telling(added)

    def told_pieces(self) -> Iterator[dict[Any, Any]]:
        for batch in self._store.batches():
            yield self._telling([batch])

    def _telling(self, batches: Iterable[pa.RecordBatch]) -> dict[Any, Any]:
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
    def divided(cls, changes: dict[Any, Any], places: Callable[[Hashes], Ids]) -> dict[int, dict[Any, Any]]:
        """Divide a delta by the targets of its keys."""
        form, made_of, batches = changes[SINCE]
        parts = batches_by_place(batches, cls.told(*made_of).divided_by, places)
        return {place: {SINCE: (form, made_of, part)} for place, part in parts.items()}

    def apply(self, changes: dict[Any, Any]) -> None:
        whole = dict(changes)
        told = whole.pop(SINCE, ())
        batches = list(map(from_bytes, told[-1] if isinstance(told, tuple) and told else told))
        stored = self.batch_of(whole)
        for batch in batches if stored is None else [*batches, stored]:
            columns = [batch.column(place) for place in self._found_by]
            self._keep(batch, key_hashes(columns, batch.num_rows))

    def row(self, at: Any) -> Any:
        entry = self.entries().get(at)
        return None if entry is None else entry[1]

    def addresses(self) -> Iterator[Any]:
        return iter(self.entries())


class IndexedRows(AddedRows):
    """A multiset of rows.

    :param key: the columns by which the input is partitioned.
    """

    def __init__(self, types: Sequence[pa.DataType], key: Sequence[int]) -> None:
        super().__init__(types, key)
        self._codec = RowCodec(types)
        self._made_of = (types_as_bytes(types), tuple(key))

    def form(self) -> tuple[str, tuple[Any, ...]]:
        return "added rows", self._made_of

    @classmethod
    def told(cls, types: bytes, key: Sequence[int]) -> IndexedRows:
        return cls(types_of(types), key)

    def batch_of(self, entries: dict[Any, Any]) -> pa.RecordBatch | None:
        rows = [row for _, counts, _ in entries.values() for row, count in counts.items() for _ in range(count)]
        return record_batch(self._codec.columns(rows), len(rows)) if rows else None

    def entries_of(self, batch: pa.RecordBatch) -> dict[Any, Any]:
        found: dict[Any, tuple[bool, dict[Any, int], list[Any]]] = {}
        keys = key_tuples([batch.column(index) for index in self._found_by], batch.num_rows)
        for key, row in zip(keys, self._codec.rows(batch.columns, batch.num_rows)):
            counts = found.setdefault(key, (True, {}, []))[1]
            counts[row] = counts.get(row, 0) + 1
        return found


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
    return lambda positions: [key.take(pa.array(positions)) for key in keys]


def equal_rows(one: Sequence[pa.Array], other: Sequence[pa.Array], length: int) -> Any:
    """Where the values of all columns are the same, as numpy Booleans."""
    return ~differing(one, other) if one else np.ones(length, bool)
