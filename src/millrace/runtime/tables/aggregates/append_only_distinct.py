"""DISTINCT arguments of rows that are never retracted: the set of values seen, in columns.

A value must be known for each FILTER separately, as a bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rex import Rex
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.state.column_deltas import Changes, Form
from millrace.runtime.state.tables import ABSENT, MapTable
from millrace.runtime.tables.aggregates.batch import Batch
from millrace.runtime.tables.aggregates.distinct import Changed, DistinctInColumns, at_groups, crossings
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids, rows_at
from millrace.runtime.tables.group_table import GroupTable

MOST_FILTERS = 62
"""the number of bits available for filters"""
_OF_VALUE = 16
"""the bits of a hash that depend on the value, so that few values of a large group come into memory at a time"""


class SeenRows(GroupTable):
    """Bits by key and value. In a savepoint they are the entries of ``CountedValues``: a value at a key has a count for
    each filter, here at most 1; with a time to live, (time of its last write in ms, counts)."""

    kind = MapTable.kind
    bits_within_key = _OF_VALUE

    def __init__(
        self, keys: Sequence[pa.DataType], values: Sequence[pa.DataType], expiry: Expiry | None = None
    ) -> None:
        super().__init__([*keys, *values], [pa.int64()], [False], expiry)
        self._keys, self._values = keys, values
        self.filters: list[Rex | None] = []

    @property
    def divided_by(self) -> Sequence[int]:
        return range(len(self._keys))

    # -- hashes: the low 32 bits divide rows on disk, where those of a key are neighbours; all bits find a row ---------

    def hashes(self, keys: Sequence[pa.Array], length: int) -> Hashes:
        width = len(self._keys)
        return self.hashes_of_values(key_hashes(keys[:width], length), keys[width:])

    @staticmethod
    def hashes_of_values(keys: Hashes, values: Sequence[pa.Array]) -> Hashes:
        """The hashes of keys and values.

        :param keys: the hash of each row's key.
        """
        both = key_hashes(values, len(keys), keys)
        low = np.uint64(2**_OF_VALUE - 1)
        hashes: Hashes = both << np.uint64(32) | keys & ~low | both & low
        return hashes

    def hashes_of(self, numbers: Ids) -> Hashes:
        return self.hashes(self.take(numbers), len(numbers))

    def append_own(self, columns: Sequence[pa.Array], hashes: Hashes) -> None:
        super().append_own(columns, self.hashes(columns[: len(self.types)], len(hashes)))

    def find_hashes(self, hashes: Hashes) -> tuple[Ids, Ids]:
        # Rows are only written after their hash was looked for, so no row of another hash is in memory.
        return np.zeros(0, np.int64), np.zeros(0, np.int64)

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        made_of = (types_as_bytes(self._keys), types_as_bytes(self._values), len(self.filters))
        return "seen values", (*made_of, *self._lifetime)

    @classmethod
    def told(cls, keys: bytes, values: bytes, filters: int, ttl: int = 0) -> SeenRows:  # type: ignore[override]
        found = cls(types_of(keys), types_of(values), expiry_of_copy(ttl))
        found.filters = [None] * filters
        return found

    def _forget_at(self, ats: Sequence[Any]) -> None:
        """Does nothing: only expired values are removed, and these are not found."""

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        rows = [
            (at, value, entry)
            for at, (_, row, _) in entries.items()
            for value, entry in row.items()
            if entry is not ABSENT
        ]
        return super().batch_of({(*at, *value): entry for at, value, entry in rows})

    def own_batch(self, entries: Changes) -> pa.RecordBatch | None:
        return super().own_batch({at: (_as_bits(counts),) for at, counts in entries.items()})

    def own_entries(self, batch: pa.RecordBatch) -> Changes:
        places = range(len(self.filters))
        bits = super().own_entries(batch)
        return {at: tuple([found >> place & 1 for place in places]) for at, (found,) in bits.items()}

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        found: dict[Any, tuple[bool, dict[Any, Any], list[Any]]] = {}
        width = len(self._keys)
        for at, entry in super().entries_of(batch).items():
            found.setdefault(at[:width], (True, {}, []))[1][at[width:]] = entry
        return found

    def entry_pieces(self) -> Iterator[Changes]:
        return map(self.entries_of, self.batches_of_keys())

    def _entry(self, at: Any) -> Any:
        pieces = self.entry_pieces() if self._disk is None else self._disk.pieces()
        return next((piece[at] for piece in pieces if at in piece), None)

    def row(self, at: Any) -> Any:
        entry = self._entry(at)
        return None if entry is None else entry[1]

    def content(self, at: Any) -> Any:
        row = self.row(at)
        return row if row is None or self._expiry is None else {value: counts for value, (_, counts) in row.items()}


def _as_bits(counts: Sequence[int]) -> int:
    return sum(1 << place for place, count in enumerate(counts) if count > 0)


class SeenValues(DistinctInColumns):
    """The distinct values of some arguments, at keys that are never removed.

    :param keys: the types of the key columns; the key is the address of a group.
    """

    def __init__(self, args: tuple[Rex, ...], rows: SeenRows, keys: Sequence[pa.DataType]) -> None:
        super().__init__(args, keys)
        self._rows = rows
        rows.filters = self.filters

    def settle(self) -> None:
        self._rows.settle()

    def seen(self, batch: Batch, groups: Sequence[pa.Array], count: int) -> Changed:
        return self._added(batch, groups, count)[0]

    def each(self, batch: Batch, groups: Sequence[pa.Array], count: int) -> list[pa.Array]:
        _, of_row, known = self._added(batch, groups, count)
        signs = [batch.signs_where(condition).to_numpy() for condition in self.filters]
        return [crossings(of_row, known >> place & 1, each) for place, each in enumerate(signs)]

    def _added(self, batch: Batch, groups: Sequence[pa.Array], count: int) -> tuple[Changed, Ids, Ids]:
        """(what the values of a batch add, the distinct value of each row, the bits that each of them had before)."""
        args = [batch.column(arg) for arg in self.args]
        of_row, first = group_ids([pa.array(batch.ids), *args], len(batch.ids))
        bits = self._bits(batch, of_row, len(first))
        everywhere = np.zeros(len(first), np.int64)
        passed = np.flatnonzero(bits)
        bits, first = bits[passed], first[passed]
        ids = batch.ids[first]
        columns = at_groups(groups, batch.ids, args, first)
        hashes = self._rows.hashes_of_values(key_hashes(groups, count)[ids], columns[len(groups) :])
        numbers, known = self._rows.place_hashed(columns, hashes)
        before = np.zeros(len(ids), np.int64)
        before[known] = self._rows.slots(numbers[known])[0].to_numpy()
        everywhere[passed] = before
        added = bits & ~before
        fresh = np.flatnonzero(added)
        # Where values expire, one that comes again is written again.
        written = np.arange(len(ids)) if self._rows.expires else fresh
        self._rows.write(numbers[written], [pa.array((before | bits)[written])])
        added = added[fresh]
        signs = [pa.array(added >> place & 1) for place in range(len(self.filters))]
        return Changed(ids[fresh], rows_at(columns[len(groups) :], fresh), signs), of_row, everywhere

    def _bits(self, batch: Batch, of_row: Ids, count: int) -> Ids:
        """The filters that each value of a batch passes, as bits."""
        found = np.zeros(count, np.int64)
        for place, condition in enumerate(self.filters):
            signs = batch.signs_where(condition).to_numpy()
            if len(signs) and signs.min() < 0:
                raise ValueError("an aggregate was planned to have insertions only, but its input takes rows back")
            counts = np.zeros(count, bool)
            counts[of_row[signs > 0]] = True
            found |= counts.astype(np.int64) << place
        return found

    def clear_groups(self, groups: Sequence[pa.Array], count: int) -> None:
        raise AssertionError("a group of insertions only has ended")
