"""DISTINCT arguments of rows that are never retracted: the set of values seen, in columns.

A value must be known for each FILTER separately, as a bit. A row of the state contains the bits that were new when it
was added, so rows are only ever added: the bits of a value are those of all its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rex import Rex
from millrace.relational.rows import record_batch
from millrace.runtime.tables.aggregates.batch import Batch
from millrace.runtime.tables.aggregates.distinct import Changed, DistinctCounts
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids, key_columns, key_tuples
from millrace.runtime.tables.indexed_rows import AddedRows

MOST_FILTERS = 62
"""the number of bits available for filters"""


class SeenRows(AddedRows):
    """Rows of key, value and bits. In a savepoint they are the entries of ``CountedValues``: a value at a key has a
    count for each filter, here at most 1."""

    def __init__(self, keys: Sequence[pa.DataType], values: Sequence[pa.DataType]) -> None:
        super().__init__([*keys, *values, pa.int64()], range(len(keys) + len(values)))
        self._keys, self._values = keys, values
        self.filters: list[Rex | None] = []

    @property
    def divided_by(self) -> Sequence[int]:
        return range(len(self._keys))

    def form(self) -> tuple[str, tuple[Any, ...]]:
        return "seen values", (types_as_bytes(self._keys), types_as_bytes(self._values), len(self.filters))

    @classmethod
    def told(cls, keys: bytes, values: bytes, filters: int) -> SeenRows:
        found = cls(types_of(keys), types_of(values))
        found.filters = [None] * filters
        return found

    def batch_of(self, entries: dict[Any, Any]) -> pa.RecordBatch | None:
        rows = [(at, value, counts) for at, (_, row, _) in entries.items() for value, counts in row.items()]
        if not rows:
            return None
        keys = key_columns([at for at, _, _ in rows], self._keys)
        values = key_columns([value for _, value, _ in rows], self._values)
        bits = [sum(1 << place for place, count in enumerate(counts) if count > 0) for _, _, counts in rows]
        return record_batch([*keys, *values, pa.array(bits, pa.int64())], len(rows))

    def entries_of(self, batch: pa.RecordBatch) -> dict[Any, Any]:
        seen: dict[Any, dict[Any, int]] = {}
        width = len(self._keys)
        keys = key_tuples(batch.columns[:width], batch.num_rows)
        values = key_tuples(batch.columns[width:-1], batch.num_rows)
        for key, value, bits in zip(keys, values, batch.column(batch.num_columns - 1).to_pylist()):
            row = seen.setdefault(key, {})
            row[value] = row.get(value, 0) | bits
        places = range(len(self.filters))
        return {
            key: (True, {value: tuple([bits >> place & 1 for place in places]) for value, bits in row.items()}, [])
            for key, row in seen.items()
        }


class SeenValues(DistinctCounts):
    """The distinct values of some arguments, at keys that are never removed.

    :param keys: the types of the key columns; the key is the address of a group.
    """

    def __init__(self, args: tuple[Rex, ...], rows: SeenRows, keys: Sequence[pa.DataType]) -> None:
        super().__init__(args)
        self._rows = rows
        rows.filters = self.filters
        self._keys = keys

    def update(self, batch: Batch, ats: Sequence[Any]) -> Changed:
        return self.seen(batch, key_columns(ats, self._keys), len(ats))

    def seen(self, batch: Batch, groups: Sequence[pa.Array], count: int) -> Changed:
        """As ``update``.

        :param groups: the key columns of the accumulators. :param count: number of accumulators.
        """
        args = [batch.column(arg) for arg in self.args]
        of_row, first = group_ids([pa.array(batch.ids), *args], len(batch.ids))
        bits = self._bits(batch, of_row, len(first))
        ids = batch.ids[first]
        where = pa.array(first)
        values = [arg.take(where) for arg in args]
        hashes = key_hashes(values, len(ids), key_hashes(groups, count)[ids])

        def columns_at(positions: Ids) -> list[pa.Array]:
            group, value = pa.array(ids[positions]), pa.array(positions)
            return [*(column.take(group) for column in groups), *(column.take(value) for column in values)]

        owners, numbers = self._rows.find(hashes, columns_at)
        known = np.zeros(len(ids), np.int64)
        if len(owners):
            (before,) = self._rows.take(numbers, (len(groups) + len(values),))
            np.bitwise_or.at(known, owners, before.to_numpy())
        bits &= ~known
        fresh = np.flatnonzero(bits)
        bits = bits[fresh]
        found = columns_at(fresh)
        self._rows.add(record_batch([*found, pa.array(bits)], len(fresh)), hashes[fresh])
        signs = [pa.array(bits >> place & 1) for place in range(len(self.filters))]
        return Changed(ids[fresh], found[len(groups) :], signs)

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

    def clear(self, at: Any) -> None:
        raise AssertionError(f"a group of insertions only has ended: {at}")
