"""The stored rows of an OVER window, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.state.tables import ABSENT, MapTable
from millrace.runtime.tables.changing_rows import ChangingRows
from millrace.runtime.tables.columns.keys import Ids, Key, group_ids, key_columns, key_tuples
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.over.over_frames import Line
from millrace.runtime.tables.over.retained_rows import History, KeptRows, Need, Partitions


class KeptTable(ChangingRows):
    """Stored rows: the key, the number of the row in its partition, the time (ms), the values that calls need.

    Its deltas and full content have the form of the map of ``ObjectRows``, so that state can be restored by a task that
    has it on disk, or be divided by keys.
    """

    kind = MapTable.kind

    def __init__(self, keys: Sequence[pa.DataType], kept: Sequence[pa.DataType]) -> None:
        super().__init__([*keys, pa.int64(), pa.int64(), *kept], len(keys))
        self._key_types = tuple(keys)
        self._codec = RowCodec([pa.int64(), *kept])
        self._removed: list[pa.RecordBatch] = []
        """(key, number) of removed rows that earlier deltas contained"""

    def marks(self, batch: pa.RecordBatch) -> Ids:
        found: Ids = batch.column(self.width + 1).to_numpy()
        return found

    def removing(self, numbers: Ids) -> None:
        known = numbers[~self._fresh[numbers]]
        if len(known):
            self._removed.append(record_batch(self._store.take(known, range(self.width + 1)), len(known)))

    # -- as a table -----------------------------------------------------------------------------------------------

    def delta(self) -> dict[Any, Any]:
        keys, length = self.touched_keys()
        if not length:
            return {}
        owners, numbers = self.find(keys, length)
        fresh = self._fresh[numbers]
        begun = np.ones(length, bool)
        begun[owners[~fresh]] = False  # others know some of their rows
        found: dict[Key, Any] = dict.fromkeys(key_tuples(keys, length), ABSENT)
        there = np.zeros(length, bool)
        there[owners] = True
        for key, new, any_rows in zip(list(found), begun.tolist(), there.tolist()):
            if any_rows:
                found[key] = (new, {}, [])
        for batch in self._removed:
            gone = key_tuples(batch.columns[: self.width], batch.num_rows)
            for key, number in zip(gone, batch.column(self.width).to_pylist()):
                if found[key] is not ABSENT and not found[key][0]:
                    found[key][1][number] = ABSENT
        for key, number, row in self._told(numbers[fresh]):
            found[key][1][number] = row
        self._removed = []
        self._fresh[:] = False
        return found

    def _told(self, numbers: Ids) -> Iterable[tuple[Key, int, Row]]:
        """(key, number, row) of these rows, in the form of ``ObjectRows``."""
        batch = self.rows_of(numbers)
        keys = key_tuples(batch.columns[: self.width], batch.num_rows)
        rows = self._codec.rows(batch.columns[self.width + 1 :], batch.num_rows)
        return zip(keys, batch.column(self.width).to_pylist(), rows)

    def apply(self, changes: dict[Any, Any]) -> None:
        found = list(changes)
        owners, numbers = self.find(key_columns(found, self._key_types), len(found))
        of_row = self._store.take(numbers, [self.width])[0].to_pylist()
        gone = []
        for owner, number in zip(owners.tolist(), of_row):
            change = changes[found[owner]]
            gone.append(change is ABSENT or change[0] or number in change[1])
        self._kill(numbers[np.array(gone, bool)])
        come = [
            (key, number, row)
            for key, change in changes.items()
            if change is not ABSENT
            for number, row in change[1].items()
            if row is not ABSENT
        ]
        if come:
            keys = key_columns([key for key, _, _ in come], self._key_types)
            rows = self._codec.columns([row for _, _, row in come])
            batch = record_batch([*keys, pa.array([number for _, number, _ in come], pa.int64()), *rows], len(come))
            self._keep(batch, np.zeros(len(come), bool))

    def entries(self) -> dict[Any, Any]:
        found: dict[Key, dict[int, Row]] = {}
        for key, number, row in self._told(self.all()):
            found.setdefault(key, {})[number] = row
        return {key: (True, rows, []) for key, rows in found.items()}

    def wipe(self) -> None:
        super().wipe()
        self._removed = []

    def row(self, at: Any) -> Any:
        entry = super().row(at)
        return None if entry is None else entry[1]


class ColumnRows(KeptRows):
    """Stores rows in columns, with no Python per row or partition. Where idle partitions are removed, the mark of a row
    is the time of the last row in its partition."""

    def __init__(self, need: Need, table: KeptTable) -> None:
        super().__init__(need)
        self._table = table

    def restored(self) -> None:
        numbers = self._table.all()
        if self.need.only_times and len(numbers):
            columns, width = self._table.take(numbers), self._table.width
            ids, first = group_ids(columns[:width], len(numbers))
            self._mark(numbers, ids, columns[width + 1].to_numpy(), len(first))

    def _mark(self, numbers: Ids, owners: Ids, times: Ids, count: int) -> None:
        """Set the marks of rows.

        :param owners: the partition of each row, of ``count`` partitions, whose rows must all be included.
        """
        newest = np.full(count, np.iinfo(np.int64).min)
        np.maximum.at(newest, owners, times)
        self._table.mark(numbers, newest[owners])

    def find(self, keys: Partitions) -> History:
        owners, numbers = self._table.find(keys.columns, keys.count)
        number, *columns = self._table.take(numbers)[self._table.width :]
        return History(owners, columns, (numbers, number.to_numpy()))

    def change(self, keys: Partitions, history: History, gone: Any, owners: Ids, columns: list[pa.Array]) -> None:
        numbers, known = history.places
        following = np.zeros(keys.count, np.int64)
        following[history.owners] = known + 1  # what is assigned last stays
        where = pa.array(owners)
        number = following[owners] + np.arange(len(owners)) - np.searchsorted(owners, owners, "left")
        own_keys = [each.take(where) for each in keys.columns]
        come = self._table.add(record_batch([*own_keys, pa.array(number), *columns], len(owners)))
        if self.need.only_times:
            both = np.concatenate([history.owners, owners])
            times = np.concatenate([history.columns[0].to_numpy(), columns[0].to_numpy()])
            self._mark(np.concatenate([numbers, come]), both, times, keys.count)
        self._table.remove(numbers[gone])

    def plan_to_forget(self, keys: Partitions, new: Line) -> None:
        """Does nothing: idle partitions are found by their marks."""

    def forget_idle(self, following: int) -> None:
        if self.need.only_times:
            self._table.remove(self._table.marked(following - self.need.idle - 1))
