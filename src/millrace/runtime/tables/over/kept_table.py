"""The rows that an OVER window keeps, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.state.tables import ABSENT, MapTable
from millrace.runtime.tables.changing_rows import SINCE, ChangingRows
from millrace.runtime.tables.columns.batch_bytes import from_bytes, to_bytes
from millrace.runtime.tables.columns.keys import Ids, key_columns, key_tuples
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.over.kept_rows import History, KeptRows, Need, Partitions
from millrace.runtime.tables.over.over_frames import Line


class KeptTable(ChangingRows):
    """Rows: the key, the time (ms), what calls need. Of a partition the first ones go first.

    To other copies of its task it tells new rows, and how many rows each partition has. Its full content is that of the
    map of ``ObjectRows``.
    """

    kind = MapTable.kind

    def __init__(self, keys: Sequence[pa.DataType], kept: Sequence[pa.DataType]) -> None:
        super().__init__([*keys, pa.int64(), *kept], len(keys))
        self._key_types = tuple(keys)
        self._codec = RowCodec([pa.int64(), *kept])

    def marks(self, batch: pa.RecordBatch) -> Ids:
        found: Ids = batch.column(self.width).to_numpy()
        return found

    def delta(self) -> dict[Any, Any]:
        keys, length = self.touched_keys()
        if not length:
            return {}
        owners, numbers = self.find(keys, length)
        counts = pa.array(np.bincount(owners, minlength=length))
        come = self.rows_of(numbers[self._fresh[numbers]])
        self._fresh[:] = False
        return {SINCE: (to_bytes(record_batch([*keys, counts], length)), to_bytes(come))}

    def apply(self, changes: dict[Any, Any]) -> None:
        whole = dict(changes)
        if SINCE in whole:
            counted, come = map(from_bytes, whole.pop(SINCE))
            self._keep_all(come)
            owners, numbers = self.find(counted.columns[: self.width], counted.num_rows)
            left = counted.column(self.width).to_numpy()[owners]
            from_end = np.searchsorted(owners, owners, "right") - np.arange(len(owners))
            self._kill(numbers[from_end > left])
        found = [(key, row) for key, each in whole.items() if each is not ABSENT for row in each[1].values()]
        if found:
            keys = key_columns([key for key, _ in found], self._key_types)
            self._keep_all(record_batch([*keys, *self._codec.columns([row for _, row in found])], len(found)))

    def _keep_all(self, batch: pa.RecordBatch) -> None:
        self._keep(batch, np.zeros(batch.num_rows, bool))

    def entries(self) -> dict[Any, Any]:
        batch = self.rows_of(self.all())
        found: dict[Any, dict[int, Row]] = {}
        keys = key_tuples(batch.columns[: self.width], batch.num_rows)
        for key, row in zip(keys, self._codec.rows(batch.columns[self.width :], batch.num_rows)):
            rows = found.setdefault(key, {})
            rows[len(rows)] = row
        return {key: (True, rows, []) for key, rows in found.items()}

    def row(self, at: Any) -> Any:
        entry = super().row(at)
        return None if entry is None else entry[1]


class ColumnRows(KeptRows):
    """In columns, with no Python per row or partition."""

    def __init__(self, need: Need, table: KeptTable) -> None:
        super().__init__(need)
        self._table = table

    def restored(self) -> None:
        """Nothing has to be made of the state."""

    def find(self, keys: Partitions) -> History:
        owners, numbers = self._table.find(keys.columns, keys.count)
        return History(owners, self._table.take(numbers)[self._table.width :], numbers)

    def change(self, keys: Partitions, history: History, gone: Any, owners: Ids, columns: list[pa.Array]) -> None:
        self._table.remove(history.places[gone])
        where = pa.array(owners)
        self._table.add(record_batch([*(each.take(where) for each in keys.columns), *columns], len(owners)))

    def plan_to_forget(self, keys: Partitions, new: Line) -> None:
        """Times are looked through instead."""

    def forget_idle(self, following: int) -> None:
        if self.need.only_times:
            self._table.remove(self._table.marked(following - self.need.span - 1))
