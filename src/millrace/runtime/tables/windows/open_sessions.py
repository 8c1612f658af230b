"""State with the open sessions of keys in columns: found by the key, looked through for what is over.

To other copies of its task it tells all open sessions of the keys that were touched. Its full content is a tuple of
``Session`` for each key, as ``ObjectSessions`` has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.state.tables import ABSENT, Table, ValueTable
from millrace.runtime.tables.aggregates.partials import PartialColumns, joined
from millrace.runtime.tables.columns.batch_bytes import from_bytes, to_bytes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.columns.row_index import HashIndex, RowStore
from millrace.runtime.tables.columns.window_times import WallClock
from millrace.runtime.tables.indexed_rows import equal_rows
from millrace.runtime.tables.windows.sessions import Session

SINCE = 0
"""The address of changes in a delta: not a key, since these are tuples."""
FEW = 4_096
"""Closed sessions that stay in the columns until there are more of them than open ones."""


class OpenSessions(Table):
    """Rows: the key, the slots of the accumulator, start and end of the session on the wall (ms)."""

    kind = ValueTable.kind

    def __init__(self, partials: PartialColumns, clock: WallClock) -> None:
        super().__init__()
        self.partials = partials
        self._clock = clock
        self._types = [*partials.keys, *(slot.type for slot in partials.slots), pa.int64(), pa.int64()]
        self._touched: list[pa.RecordBatch] = []
        """keys, since the last delta"""
        self._clear()

    def _clear(self) -> None:
        self._index = HashIndex()
        self._store = RowStore(self._types)
        self._alive = np.zeros(0, bool)
        self._due = np.zeros(0, np.int64)
        """the last ms of each session, as an instant"""
        self._closed = 0

    # -- sessions open and close ----------------------------------------------------------------------------------

    def add(self, batch: pa.RecordBatch) -> None:
        """New sessions."""
        self._touch(batch)
        self._keep(batch)

    def close(self, numbers: Ids) -> None:
        """These are no sessions any more; numbers that others have got may be other ones afterwards."""
        if len(numbers):
            self._touch(record_batch(self._store.take(numbers, range(self.partials.width)), len(numbers)))
            self._kill(numbers)

    def _touch(self, batch: pa.RecordBatch) -> None:
        self._touched.append(record_batch(batch.columns[: self.partials.width], batch.num_rows))

    def _keep(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        self._index.add(key_hashes(batch.columns[: self.partials.width], batch.num_rows), self._store.length)
        self._store.add(batch)
        self._alive = np.append(self._alive, np.ones(batch.num_rows, bool))
        self._due = np.append(self._due, self._clock.instants(batch.column(batch.num_columns - 1).to_numpy()) - 1)

    def _kill(self, numbers: Ids) -> None:
        self._alive[numbers] = False
        self._closed += len(numbers)
        if self._closed > max(FEW, len(self._alive) - self._closed):
            left = self._rows(self.all())
            self._clear()
            self._keep(left)

    # -- and are found --------------------------------------------------------------------------------------------

    def find(self, keys: Sequence[pa.Array], length: int) -> tuple[Ids, Ids]:
        """(position in ``keys``, number of an open session that has this key)"""
        owners, numbers = self._index.find(key_hashes(keys, length))
        alive = self._alive[numbers]
        owners, numbers = owners[alive], numbers[alive]
        if not len(owners):
            return owners, numbers
        where = pa.array(owners)
        wanted = [column.take(where) for column in keys]
        same = equal_rows(wanted, self._store.take(numbers, range(self.partials.width)), len(owners))
        return (owners, numbers) if same.all() else (owners[same], numbers[same])

    def due(self, time: int) -> Ids:
        """The sessions that are over at a time (ms); they are in order of their ends."""
        found = np.flatnonzero(self._alive & (self._due <= time))
        return found[np.argsort(self._due[found], kind="stable")]

    def next_due(self) -> int | None:
        """The last ms of the session that is over next."""
        return int(self._due[self._alive].min()) if self._alive.any() else None

    def all(self) -> Ids:
        """All open sessions."""
        return np.flatnonzero(self._alive)

    def take(self, numbers: Ids) -> list[pa.Array]:
        return self._store.take(numbers)

    def _rows(self, numbers: Ids) -> pa.RecordBatch:
        return record_batch(self._store.take(numbers), len(numbers))

    # -- as a table -----------------------------------------------------------------------------------------------

    def wipe(self) -> None:
        self._clear()
        self._touched = []

    def delta(self) -> dict[Any, Any]:
        if not self._touched:
            return {}
        columns, length = joined(self._touched)
        self._touched = []
        _, first = group_ids(columns, length)
        where = pa.array(first)
        keys = [column.take(where) for column in columns]
        _, numbers = self.find(keys, len(first))
        return {SINCE: (to_bytes(record_batch(keys, len(first))), len(first), to_bytes(self._rows(numbers)))}

    def apply(self, changes: dict[Any, Any]) -> None:
        whole = dict(changes)
        if SINCE in whole:
            data, length, content = whole.pop(SINCE)
            keys = from_bytes(data)
            self._kill(self.find(keys.columns, length)[1])
            self._keep(from_bytes(content))
        entries = [(key, each) for key, sessions in whole.items() if sessions is not ABSENT for each in sessions]
        if entries:
            # Several sessions may have one key, so each is a key by itself here.
            keys = self.partials.of_entries([(key, each.content) for key, each in entries])
            times = [pa.array([getattr(each, name) for _, each in entries], pa.int64()) for name in ("start", "end")]
            self._keep(record_batch([*keys.columns, *times], len(entries)))

    def entries(self) -> dict[Any, Any]:
        batch = self._rows(self.all())
        found: dict[Any, list[Session]] = {}
        starts, ends = (batch.column(batch.num_columns - place).to_pylist() for place in (2, 1))
        for (key, content), start, end in zip(self.partials.entries(batch), starts, ends):
            found.setdefault(key, []).append(Session(start, start, end, content))
        return {key: tuple(sorted(each, key=lambda session: session.start)) for key, each in found.items()}

    def row(self, at: Any) -> Any:
        return self.entries().get(at)

    def addresses(self) -> Iterator[Any]:
        return iter(self.entries())
