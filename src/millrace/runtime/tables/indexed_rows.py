"""State with rows by key that are only ever added: one side of a join of insertions.

To other copies of its task it tells whole batches. Its full content is that of a map from row to count at each key, so
a savepoint can be restored with the state on disk, where such a map is used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.hash_columns import Hashes
from millrace.runtime.state.tables import MapTable, Table
from millrace.runtime.state.told import SINCE
from millrace.runtime.tables.columns.batch_bytes import from_bytes, to_bytes, types_as_bytes, types_of
from millrace.runtime.tables.columns.changes import differing
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, key_tuples
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.columns.row_index import HashIndex, RowStore


class AddedRows(Table):
    """Rows in columns, found by the hash of some of these. The full content is that of a map at each key."""

    kind = MapTable.kind
    in_columns = True

    def __init__(self, types: Sequence[pa.DataType], found_by: Sequence[int]) -> None:
        """:param found_by: the columns that rows are found by."""
        super().__init__()
        self.types = types
        self._found_by = tuple(found_by)
        self._index = HashIndex()
        self._store = RowStore(types)
        self._added: list[pa.RecordBatch] = []
        """since the last delta"""

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

    # -- as a table -----------------------------------------------------------------------------------------------

    @abstractmethod
    def form(self) -> tuple[str, tuple[Any, ...]]:
        """(the name of the form, what ``told`` makes an empty table of): see ``runtime.state.told``."""

    @abstractmethod
    def batch_of(self, entries: dict[Any, Any]) -> pa.RecordBatch | None:
        """The rows of a full content, None without any."""

    def delta(self) -> dict[Any, Any]:
        if not self._added:
            return {}
        added, self._added = self._added, []
        return {SINCE: (*self.form(), list(map(to_bytes, added)))}

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

    def entries(self) -> dict[Any, Any]:
        found: dict[Any, tuple[bool, dict[Any, int], list[Any]]] = {}
        for batch in self._store.batches():
            keys = key_tuples([batch.column(index) for index in self._found_by], batch.num_rows)
            for key, row in zip(keys, self._codec.rows(batch.columns, batch.num_rows)):
                counts = found.setdefault(key, (True, {}, []))[1]
                counts[row] = counts.get(row, 0) + 1
        return found


def at_positions(keys: Sequence[pa.Array]) -> Callable[[Ids], Sequence[pa.Array]]:
    """What ``find`` compares with: the keys at some positions."""
    return lambda positions: [key.take(pa.array(positions)) for key in keys]


def equal_rows(one: Sequence[pa.Array], other: Sequence[pa.Array], length: int) -> Any:
    """Where the values of all columns are the same, as numpy Booleans."""
    return ~differing(one, other) if one else np.ones(length, bool)
