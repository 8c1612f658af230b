"""State with the open sessions of keys in columns, found by the key.

A delta contains all sessions of the keys that have changed. In a savepoint a key has a tuple of ``Session``, as in
``ObjectSessions``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.state.column_deltas import SINCE, Changes, Form
from millrace.runtime.state.tables import ABSENT, ValueTable
from millrace.runtime.tables.aggregates.partials import PartialColumns, joined
from millrace.runtime.tables.changing_rows import ChangingRows
from millrace.runtime.tables.columns.batch_bytes import from_bytes
from millrace.runtime.tables.columns.keys import Ids, group_ids, key_columns, key_tuples, taken
from millrace.runtime.tables.windows.sessions import Session


class OpenSessions(ChangingRows):
    """Rows: the key, the slots of the accumulator, start and end of the session in local time (ms)."""

    kind = ValueTable.kind

    def __init__(self, partials: PartialColumns) -> None:
        slots = [slot.type for slot in partials.slots]
        self.partials = partials
        super().__init__([*partials.keys, *slots, pa.int64(), pa.int64()], partials.width)
        self._touched: list[pa.RecordBatch] = []
        """keys changed since the last delta"""

    def add(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        super().add(batch, hashes)
        self._touched.append(record_batch(batch.columns[: self.width], batch.num_rows))

    def remove(self, numbers: Ids) -> None:
        if len(numbers):
            self._touched.append(record_batch(self.take(numbers, range(self.width)), len(numbers)))
        super().remove(numbers)

    def wipe(self) -> None:
        super().wipe()
        self._touched = []

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        return "open sessions", self.partials.made_of()

    @classmethod
    def told(cls, *made_of: Any) -> OpenSessions:
        return cls(PartialColumns.made_from(*made_of))

    def delta(self) -> Changes:
        if not self._touched:
            return {}
        columns, length = joined(self._touched)
        self._touched = []
        _, first = group_ids(columns, length)
        keys = taken(columns, first, length)
        numbers = self.find_keys(keys, len(first))[1]
        self._note_growth(self.length - self._dead, len(numbers))
        return self._changes([record_batch(keys, len(first))], self.batches(numbers))

    @classmethod
    def by_address(cls, changes: Changes) -> Changes:
        """A delta in the form of a ``ValueTable``."""
        _, made_of, (gone, there) = changes[SINCE]
        table = cls.told(*made_of)
        keys = [key_tuples(batch.columns, batch.num_rows) for batch in map(from_bytes, gone)]
        found: Changes = {key: ABSENT for each in keys for key in each}
        for batch in map(from_bytes, there):
            found |= table.entries_of(batch)
        return found

    def _apply_entries(self, entries: Changes) -> None:
        self._drop_keys(key_columns(list(entries), self.partials.keys), len(entries))
        stored = self.batch_of(entries)
        if stored is not None:
            self._come(stored)

    def _forget(self, names: Sequence[pa.Array]) -> None:
        """:param names: keys."""
        self._drop_keys(names, len(names[0]) if names else 1)

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        items = [(key, each) for key, sessions in entries.items() if sessions is not ABSENT for each in sessions]
        if not items:
            return None
        # A key may have several sessions, so each session counts as a key of its own here.
        columns = self.partials.of_entries([(key, each.content) for key, each in items]).columns
        times = [pa.array([getattr(each, name) for _, each in items], pa.int64()) for name in ("start", "end")]
        return record_batch([*columns, *times], len(items))

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        found: dict[Any, list[Session]] = {}
        starts, ends = (batch.column(batch.num_columns - place).to_pylist() for place in (2, 1))
        for (key, content), start, end in zip(self.partials.entries(batch), starts, ends):
            found.setdefault(key, []).append(Session(start, start, end, content))
        return {key: tuple(sorted(each, key=lambda session: session.start)) for key, each in found.items()}
