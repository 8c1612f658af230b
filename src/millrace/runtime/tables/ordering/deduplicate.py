"""One row per key: the first or the last, by a time column or by arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig, TableOperator
from millrace.runtime.tables.batch_buffer import WaitingRows
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.ordering.latest_rows import LatestRows, RowOfKey, SeenKeys
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import TIMED

ROW, SEEN = "row", "seen"


@dataclass(frozen=True, kw_only=True)
class Deduplicate(TableConfig):
    """The input has insertions only. The first row by arrival never changes; in all other cases a better row may
    replace it. Of rows with the same time the later one is better if the last row is wanted."""

    keys: tuple[int, ...]
    types: tuple[DataType, ...]
    """types of all columns of the input"""
    last: bool
    time: int | None = None
    """index of the time column that decides; None: the order of arrival"""
    number: bool = False
    """whether the rank, always 1, is a column of the result (BIGINT)"""
    before: bool = True
    """whether the consumer needs the old row of an update (-U)"""

    def operator(self) -> TableOperator[Any]:
        return FirstRowOperator(self) if self.keeps_no_rows else DeduplicateOperator(self)

    @property
    def keeps_no_rows(self) -> bool:
        """Whether only keys are stored, without rows."""
        return self.time is None and not self.last

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        return self.only_rows(*([] if self.keeps_no_rows else [self.rows_in(ROW, TIMED, 0, self.types)]))


class FirstRowOperator(KeyedTableOperator[Deduplicate]):
    """Emits the first row of each key, and stores only the key."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        types = [arrow_type(self.config.types[place]) for place in self.config.keys]
        self._seen = self.backend.use(SEEN, SeenKeys(types, self.expiry()))

    def receive(self, rows: Rows, input: int) -> None:
        keys = [rows.batch.column(index) for index in self.config.keys]
        first = self.received(rows, self._seen.new(keys, len(rows)))
        self.emit_rows(with_number(first) if self.config.number else first)

    def received(self, rows: Rows, new: Ids) -> Rows:
        """The rows to emit.

        :param new: numbers of the rows with new keys.
        """
        return rows if len(new) == len(rows) else rows.take(new)


@dataclass(frozen=True, kw_only=True)
class OneRow(Deduplicate):
    """Stands before a sink with ON CONFLICT DO ERROR: the input has insertions only, and a second row of a key is an
    error."""

    problem: str
    """the beginning of the error, before the key"""

    def operator(self) -> TableOperator[Any]:
        return OneRowOperator(self)


class OneRowOperator(FirstRowOperator):
    config: OneRow

    def received(self, rows: Rows, new: Ids) -> Rows:
        if len(new) == len(rows):
            return rows
        second = np.setdiff1d(np.arange(len(rows)), new)[0]
        key = [rows.batch.column(place)[int(second)].as_py() for place in self.config.keys]
        raise ValueError(f"{self.config.problem} {', '.join(map(repr, key))}")


class DeduplicateOperator(KeyedTableOperator[Deduplicate]):
    """State: the present row of each key. A slice emits one change per key."""

    gathers_changes = True

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        types = [arrow_type(each) for each in config.types]
        self._waiting = WaitingRows()
        table = self.backend.use(ROW, RowOfKey(types, config.keys, config.time, self.expiry()))
        # With time to live, later operators with state must see that a key is still alive.
        self._rows = LatestRows(table, config.keys, config.time, config.last, alive=config.state_ttl > 0)

    def receive(self, rows: Rows, input: int) -> None:
        if not rows.adds().all():
            raise ValueError("the input of a deduplication was planned to have insertions only, but takes rows back")
        self._update(self._waiting.add(rows))
        if self._rows.table.crowded:
            self.flush()

    def _update(self, rows: Rows | None) -> None:
        if rows is not None:
            self._rows.update(rows)

    def flush(self) -> None:
        self._update(self._waiting.take())
        for changed in self._rows.changes(self.config.before):
            self.emit_rows(changed)

    def emit_rows(self, rows: Rows) -> None:
        super().emit_rows(with_number(rows) if self.config.number else rows)


def with_number(rows: Rows) -> Rows:
    """The rows with their rank 1 as a last column."""
    return rows.with_columns([*rows.columns, pa.array(np.ones(len(rows), np.int64))])
