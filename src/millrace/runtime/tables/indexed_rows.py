"""State with rows by key that are only ever added: one side of a join of insertions.

To other copies of its task it tells whole batches. Its full content is that of a map from row to count at each key, so
a savepoint can be restored with the state on disk, where such a map is used.
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
    """Rows in columns, found by the hash of some of these. The full content is that of a map at each key."""

    kind = MapTable.kind
    in_columns = True
    added_share = 1.0

    def __init__(self, types: Sequence[pa.DataType], found_by: Sequence[int]) -> None:
        """:param found_by: the columns that rows are found by."""
        super().__init__()
        self.types = types
        self._found_by = tuple(found_by)
        self._index = HashIndex()
        self._store = RowStore(types)
        self._added: list[pa.RecordBatch] = []
        """since the last delta"""
        self._rows_when_told = 0
        """how many there were at the last delta"""

    def add(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        """Rows, and the hashes of what they are found by."""
        if batch.num_rows:
            self._added.append(batch)
            self._keep(batch, hashes)

    def _keep(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        self._index.add(hashes, self._store.length)
        self._store.add(batch)

    def find(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """(position, number of a row that has what is wanted there), by position and then by arrival.

        :param wanted: gives the columns to find by, for positions in ``hashes``; NULL equals NULL.
        """
        return self._equal(*self._index.find(hashes), wanted)

    def _equal(self, owners: Ids, numbers: Ids, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """Those of the rows that are not only of the same hash."""
        if not len(owners):
            return owners, numbers
        same = equal_rows(wanted(owners), self._store.take(numbers, self._found_by), len(owners))
        return (owners, numbers) if same.all() else (owners[same], numbers[same])

    def take(self, numbers: Ids, places: Sequence[int] | None = None) -> list[pa.Array]:
        """The columns of these rows, or those at these places."""
        return self._store.take(numbers, places)

    def numbers(self) -> Ids:
        """Of all rows that are there."""
        return np.arange(self._store.length)

    def batches(self, numbers: Ids) -> Iterator[pa.RecordBatch]:
        """These rows, some at a time: texts of a column may not be longer than 2 GB together."""
        for part in pieces(numbers):
            yield record_batch(self.take(part), len(part))

    def all_rows(self) -> Iterator[pa.RecordBatch]:
        """The rows that are there, by arrival."""
        return self.batches(self.numbers())

    def batches_of_keys(self) -> Iterator[pa.RecordBatch]:
        """The same, those of a key in one batch and by arrival."""
        numbers = self.numbers()
        hashes = [key_hashes(self.take(part, self.divided_by), len(part)) for part in pieces(numbers)]
        for part in pieces_of_groups(np.concatenate(hashes)) if hashes else ():
            yield record_batch(self.take(numbers[part]), len(part))

    # -- as a table -----------------------------------------------------------------------------------------------

    @abstractmethod
    def form(self) -> tuple[str, tuple[Any, ...]]:
        """(the name of the form, what ``told`` makes an empty table of): see ``runtime.state.told``."""

    @abstractmethod
    def batch_of(self, entries: dict[Any, Any]) -> pa.RecordBatch | None:
        """The rows of a full content, None without any."""

    @abstractmethod
    def entries_of(self, batch: pa.RecordBatch) -> dict[Any, Any]:
        """The full content of keys that have these rows."""

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
        """There are so many rows now, and so many have been told: the others of them replace rows that went."""
        self.added_share = min(max(rows - self._rows_when_told, 0) / max(told, 1), 1.0)
        self._rows_when_told = rows

    @property
    def divided_by(self) -> Sequence[int]:
        """The columns by whose hash rows are divided among subtasks."""
        return self._found_by

    @classmethod
    @abstractmethod
    def told(cls, *made_of: Any) -> AddedRows:
        """An empty table that takes in what one of this form has told."""

    @classmethod
    def divided(cls, changes: dict[Any, Any], places: Callable[[Hashes], Ids]) -> dict[int, dict[Any, Any]]:
        """What was told, by the places that keys go to."""
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

    :param key: the columns that the input is partitioned by.
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
    """The rows of batches by the places that their keys go to; those of one place in their order."""
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
    """What ``find`` compares with: the keys at some positions."""
    return lambda positions: [key.take(pa.array(positions)) for key in keys]


def equal_rows(one: Sequence[pa.Array], other: Sequence[pa.Array], length: int) -> Any:
    """Where the values of all columns are the same, as numpy Booleans."""
    return ~differing(one, other) if one else np.ones(length, bool)
