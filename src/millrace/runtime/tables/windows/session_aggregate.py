"""Aggregates over SESSION windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace.relational.rows import Rows
from millrace.runtime.state.address import Scoped
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.columns.keys import Ids, key_columns
from millrace.runtime.tables.windows.sessions import Fired, SessionOperator
from millrace.runtime.tables.windows.window_config import WindowAggregate, window_rows


class SessionAggregateOperator(SessionOperator[WindowAggregate], AggregatingOperator[WindowAggregate]):
    """The content of a session is its accumulator."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.keys = self.config.keys
        self.aggregate(self.config.calls, self.config.retracts, ttl=0)

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
            columns = window_rows(
                self.config,
                key_columns([each.key for each in alive], self.config.arrow_key_types),
                values,
                np.array([each.session.start for each in alive], np.int64),
                np.array([each.session.end for each in alive], np.int64),
                self.context.clock(),
            )
            self.emit_columns(columns, len(alive))
        for each in fired:
            self.accumulators.clear(each.at)
