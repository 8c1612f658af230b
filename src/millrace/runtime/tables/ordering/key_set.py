"""The set of keys seen, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.state.tables import ValueTable
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids, key_columns, key_tuples
from millrace.runtime.tables.indexed_rows import AddedRows, at_positions


class SeenKeys(AddedRows):
    """A set of keys; keys are never removed. In a savepoint each key has the value True."""

    kind = ValueTable.kind

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        super().__init__(types, range(len(types)))
        self._types = types

    def new(self, columns: Sequence[pa.Array], length: int) -> Ids:
        """The numbers of the first rows of new keys; the keys are added to the set.

        :param columns: the key columns of the rows.
        """
        first = group_ids(columns, length)[1]
        where = pa.array(first)
        keys = [column.take(where) for column in columns]
        hashes = key_hashes(keys, len(first))
        known = self.find(hashes, at_positions(keys))[0]
        fresh = np.ones(len(first), bool)
        fresh[known] = False
        batch = record_batch(keys, len(first))
        if not fresh.all():
            batch, hashes = batch.filter(pa.array(fresh)), hashes[fresh]
        self.add(batch, hashes)
        return first[fresh]

    def form(self) -> tuple[str, tuple[Any, ...]]:
        return "seen keys", (types_as_bytes(self._types),)

    @classmethod
    def told(cls, types: bytes) -> SeenKeys:
        return cls(types_of(types))

    def batch_of(self, entries: dict[Any, Any]) -> pa.RecordBatch | None:
        keys = [at for at, seen in entries.items() if seen is True]
        return record_batch(key_columns(keys, self._types), len(keys)) if keys else None

    def entries_of(self, batch: pa.RecordBatch) -> dict[Any, Any]:
        return dict.fromkeys(key_tuples(batch.columns, batch.num_rows), True)
