"""Aggregates over SESSION windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.runtime.state.address import Scoped
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.aggregates.partials import PartialColumns
from millrace.runtime.tables.columns.keys import Ids, key_columns
from millrace.runtime.tables.windows.open_sessions import OpenSessions
from millrace.runtime.tables.windows.session_columns import ColumnSessions
from millrace.runtime.tables.windows.session_objects import Fired, ObjectSessionOperator, ObjectSessions
from millrace.runtime.tables.windows.sessions import SESSIONS, Sessions
from millrace.runtime.tables.windows.window_config import WindowAggregate, window_rows


class SessionAggregateOperator(ObjectSessionOperator[WindowAggregate], AggregatingOperator[WindowAggregate]):
    """Aggregates over session windows. The content of a session is its accumulator: in columns where accumulators can
    be merged."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.keys = self.config.keys
        self.aggregate(self.config.calls, self.config.retracts, ttl=0)
        self.sessions = self._columns() if self.accumulators.mergeable else ObjectSessions(self)

    def _columns(self) -> Sessions:
        partials = PartialColumns(self.config.arrow_key_types, self.accumulators.slots)
        table = self.backend.use(SESSIONS, OpenSessions(partials))
        gap = self.config.window.size
        return ColumnSessions(table, self.accumulators, self.keys, gap, self._clock, self.evaluator, self._emit)

    def empty(self) -> Any:
        return self.accumulators.zero

    def add(self, rows: Rows, ids: Ids, contents: Sequence[Any], ats: Sequence[Scoped]) -> Sequence[Any]:
        batch = Batch(self.evaluator(rows.columns, len(rows)), ids, signs_of(rows))
        return self.accumulators.update(batch, contents, ats)

    def join(self, at: Scoped, content: Any, other: Scoped, other_content: Any) -> Any:
        return self.accumulators.absorb(at, content, other, other_content)

    def fire(self, fired: Sequence[Fired]) -> None:
        alive = [each for each in fired if each.session.content[0] > 0]
        if alive:
            values = self.accumulators.results([each.session.content for each in alive], [each.at for each in alive])
            keys = key_columns([each.key for each in alive], self.config.arrow_key_types)
            starts, ends = zip(*((each.session.start, each.session.end) for each in alive))
            self._emit(keys, values, np.array(starts, np.int64), np.array(ends, np.int64))
        for each in fired:
            self.accumulators.clear(each.at)

    def _emit(self, keys: list[pa.Array], values: list[pa.Array], starts: Ids, ends: Ids) -> None:
        columns = window_rows(self.config, keys, values, starts, ends, self.context.clock())
        self.emit_columns(columns, len(starts))
