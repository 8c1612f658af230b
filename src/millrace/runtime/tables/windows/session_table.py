"""The windowing table function SESSION: rows wait until their session has ended, since only then its end is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.relational.rows import Rows, record_batch
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.state.address import Scoped
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.stored_calls import Accumulator, StoredCalls
from millrace.runtime.tables.stored_rows import CHANGES
from millrace.runtime.tables.windows.session_objects import Fired, ObjectSessionOperator, ObjectSessions
from millrace.runtime.tables.windows.window_config import TimedWindows
from millrace.runtime.tables.windows.window_table import with_windows

ROWS = "rows"
"""name of the state with the rows of the open sessions"""


@dataclass(frozen=True, kw_only=True)
class SessionTable(TimedWindows):
    """The output is the columns of the input, then window_start, window_end and window_time. Rows keep their kinds."""

    partition: tuple[int, ...]
    types: tuple[DataType, ...]
    """types of all columns of the input"""

    def operator(self) -> SessionTableOperator:
        return SessionTableOperator(self)

    def stored(self) -> tuple[StoredCalls, Accumulator] | None:
        return self.only_rows(self.rows_in(ROWS, CHANGES, 0, self.types))


class SessionTableOperator(ObjectSessionOperator[SessionTable]):
    """The content of a session is its number of rows; the rows are at its address, as index -> (kind, row)."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.keys = self.config.partition
        self.sessions = ObjectSessions(self)
        self._codec = RowCodec([arrow_type(each) for each in self.config.types])
        self._rows = self.keyed_map(ROWS, ttl=0)

    def empty(self) -> int:
        return 0

    def add(self, rows: Rows, ids: Ids, contents: Sequence[Any], ats: Sequence[Scoped]) -> Sequence[Any]:
        counts = list(contents)
        values = self._codec.rows(rows.columns, len(rows))
        for id, kind, row in zip(ids.tolist(), rows.kind_values().tolist(), values):
            self._rows.put(ats[id], counts[id], (kind, row))
            counts[id] += 1
        return counts

    def join(self, at: Scoped, content: Any, other: Scoped, other_content: Any) -> Any:
        for place, entry in self._rows.items(other):
            self._rows.put(at, content + place, entry)
        self._rows.clear(other)
        return content + other_content

    def fire(self, fired: Sequence[Fired]) -> None:
        found = [(each.session, [entry for _, entry in self._rows.items(each.at)]) for each in fired]
        for each in fired:
            self._rows.clear(each.at)
        entries = [entry for _, group in found for entry in group]
        counts = [len(group) for _, group in found]
        kinds = np.array([kind for kind, _ in entries], np.uint8)
        columns = self._codec.columns([row for _, row in entries])
        rows = Rows(record_batch(columns, len(entries)), kinds if kinds.any() else None)
        starts = np.repeat(np.array([session.start for session, _ in found], np.int64), counts)
        ends = np.repeat(np.array([session.end for session, _ in found], np.int64), counts)
        self.emit_rows(with_windows(rows, starts, ends, self.config.clock))
