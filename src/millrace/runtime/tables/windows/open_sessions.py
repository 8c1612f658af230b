"""State with the open sessions of keys in columns: found by the key, and searched for those that have ended.

Its deltas and full content are a tuple of ``Session`` for each key, as in ``ObjectSessions``, so that state can be
restored by a task that has it on disk, or be divided by keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.state.tables import ABSENT, ValueTable
from millrace.runtime.tables.aggregates.partials import PartialColumns
from millrace.runtime.tables.changing_rows import ChangingRows
from millrace.runtime.tables.columns.keys import Ids, key_columns, key_tuples
from millrace.runtime.tables.columns.window_times import WallClock
from millrace.runtime.tables.windows.sessions import Session


class OpenSessions(ChangingRows):
    """Rows: the key, the slots of the accumulator, start and end of the session in local time (ms). The mark of a row
    is the last ms of the session, as an instant."""

    kind = ValueTable.kind

    def __init__(self, partials: PartialColumns, clock: WallClock) -> None:
        slots = [slot.type for slot in partials.slots]
        self.partials = partials
        self._clock = clock
        super().__init__([*partials.keys, *slots, pa.int64(), pa.int64()], partials.width)

    def marks(self, batch: pa.RecordBatch) -> Ids:
        return self._clock.instants(batch.column(batch.num_columns - 1).to_numpy()) - 1

    def due(self, time: int) -> Ids:
        """The sessions that have ended at a time (ms), ordered by their ends."""
        found = self.marked(time)
        return found[np.argsort(self._marks[found], kind="stable")]

    def next_due(self) -> int | None:
        """The last ms of the session that ends next; None: there is none."""
        return int(self._marks[self._alive].min()) if self._alive.any() else None

    # -- as a table -----------------------------------------------------------------------------------------------

    def delta(self) -> dict[Any, Any]:
        keys, length = self.touched_keys()
        if not length:
            return {}
        gone = dict.fromkeys(key_tuples(keys, length), ABSENT)
        return {**gone, **self._sessions(self.find(keys, length)[1])}

    def apply(self, changes: dict[Any, Any]) -> None:
        keys = key_columns(list(changes), self.partials.keys)
        self._kill(self.find(keys, len(changes))[1])
        entries = [(key, each) for key, sessions in changes.items() if sessions is not ABSENT for each in sessions]
        if entries:
            # A key may have several sessions, so each session counts as a key of its own here.
            columns = self.partials.of_entries([(key, each.content) for key, each in entries]).columns
            times = [pa.array([getattr(each, name) for _, each in entries], pa.int64()) for name in ("start", "end")]
            self._keep(record_batch([*columns, *times], len(entries)), np.zeros(len(entries), bool))

    def entries(self) -> dict[Any, Any]:
        return self._sessions(self.all())

    def _sessions(self, numbers: Ids) -> dict[Any, Any]:
        batch = self.rows_of(numbers)
        found: dict[Any, list[Session]] = {}
        starts, ends = (batch.column(batch.num_columns - place).to_pylist() for place in (2, 1))
        for (key, content), start, end in zip(self.partials.entries(batch), starts, ends):
            found.setdefault(key, []).append(Session(start, start, end, content))
        return {key: tuple(sorted(each, key=lambda session: session.start)) for key, each in found.items()}
