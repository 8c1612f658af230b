"""ORDER BY a time attribute: rows wait for the watermark and are emitted in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.relational.nodes import Schema
from millrace.relational.rex import Ref, SortKey
from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.ranking import sort_rows
from millrace.runtime.tables.event_time import drop_late, millis, row_buffer, take_due
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import WAITING

ONLY_KEY = ()
"""the key of an operator with all rows of the stream, which runs in one subtask"""

ROWS = "rows"
"""name of the state with waiting rows"""


@dataclass(frozen=True, kw_only=True)
class TemporalSort(TableConfig):
    """A ``Sort`` node whose first key is a time attribute, ascending.

    A row is late, and dropped, when a row of the same or a later time was emitted; being behind the watermark alone
    does not make it late.
    """

    input: Schema
    keys: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None
    event_time: bool = True
    """False: a processing-time attribute; rows of the same millisecond are sorted by the other keys"""

    @property
    def time(self) -> int:
        """The column of the time attribute.

        :raises NotImplementedError: the first key is none, or it is descending.
        """
        first = self.keys[0] if self.keys else None
        if first is None or first.descending or not isinstance(first.expression, Ref):
            raise NotImplementedError(
                "a stream that does not end can be sorted by a time attribute, ascending, and then by more; other "
                "orders need a LIMIT, or batch mode"
            )
        return first.expression.index

    def operator(self) -> TemporalSortOperator:
        return TemporalSortOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        return self.only_rows(self.rows_in(ROWS, WAITING, 0, [column.type for column in self.input]))


class TemporalSortOperator(KeyedTableOperator[TemporalSort]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._time = config.time
        # The values of a processing-time attribute are not the times of arrival.
        self._order = config.keys if config.event_time else config.keys[1:]
        self._waiting = row_buffer(self.backend, ROWS, [arrow_type(column.type) for column in config.input], ())
        self._passed = self.keyed_value("passed", 0)
        """number of rows that were emitted or skipped"""
        self._last = self.keyed_value("last", 0)
        """the time of the last emitted row (ms)"""

    def open(self) -> None:
        super().open()
        self.late = self.context.runtime.get_metrics_group().counter("numLateRecordsDropped")

    def receive(self, rows: Rows, input: int) -> None:
        if self.config.event_time:
            times = millis(rows.batch.column(self._time))
            last = self._last.get(ONLY_KEY)
            self._waiting.add(*drop_late(self, rows, times, MIN_TIMESTAMP if last is None else last))
        elif self._order:
            self._waiting.add(rows, np.full(len(rows), self.context.clock(), np.int64))
        else:
            self._pass(rows)

    def advance(self, watermark: int) -> None:
        if self.config.event_time:
            self._release(watermark)

    def advance_processing_time(self, now: int) -> None:
        if not self.config.event_time:
            self._release(now - 1)

    def end_input(self) -> None:
        if not self.config.event_time:
            self._release(self.context.clock())
        super().end_input()

    def _release(self, until: int) -> None:
        due = take_due(self._waiting, until)
        if due is None:
            return
        rows, times = due
        if self.config.event_time:
            self._last.put(ONLY_KEY, int(times[-1]))
        evaluator = self.evaluator(rows.columns, len(rows))
        values = [evaluator.column(key.expression) for key in self._order]
        self._pass(rows.take(sort_rows(times, values, self._order)))

    def _pass(self, rows: Rows) -> None:
        config = self.config
        if config.offset or config.fetch is not None:
            passed = self._passed.get(ONLY_KEY) or 0
            self._passed.put(ONLY_KEY, passed + len(rows))
            end = None if config.fetch is None else max(0, config.offset + config.fetch - passed)
            rows = rows.take(np.arange(len(rows))[max(0, config.offset - passed) : end])
        self.emit_rows(rows)
