"""One row per key: the first or the last, by a time column or by arrival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig, TableOperator
from millrace.runtime.tables.batch_buffer import WaitingRows
from millrace.runtime.tables.columns.keys import Ids, Key, group
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.event_time import millis
from millrace.runtime.tables.ordering.key_set import SeenKeys
from millrace.runtime.tables.ordering.latest_rows import LatestRows, RowOfKey, best_rows
from millrace.runtime.tables.row_per_key import RowPerKeyOperator
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
        config = self.config
        self._columns: SeenKeys | None = None
        if self.backend.in_memory and not config.state_ttl:
            self._columns = self.backend.use(SEEN, SeenKeys([arrow_type(config.types[place]) for place in config.keys]))
        else:
            self._seen = self.keyed_value(SEEN)

    def receive(self, rows: Rows, input: int) -> None:
        keys = [rows.batch.column(index) for index in self.config.keys]
        new = self._new(keys, len(rows)) if self._columns is None else self._columns.new(keys, len(rows))
        first = self.received(rows, new)
        self.emit_rows(with_number(first) if self.config.number else first)

    def received(self, rows: Rows, new: Ids) -> Rows:
        """The rows to emit.

        :param new: numbers of the rows with new keys.
        """
        return rows if len(new) == len(rows) else rows.take(new)

    def _new(self, columns: Sequence[pa.Array], length: int) -> Ids:
        """The numbers of the first rows of new keys; the keys are stored."""
        grouped = group(columns, length)
        get, put = self._seen.get, self._seen.put
        new = [place for place, key in enumerate(grouped.keys) if get(key) is None]
        for place in new:
            put(grouped.keys[place], True)
        return grouped.first[np.array(new, np.int64)]


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


class DeduplicateOperator(RowPerKeyOperator[Deduplicate]):
    """Stores rows in columns if state is in memory and never expires, else as state entries."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        types = [arrow_type(each) for each in config.types]
        self.before = config.before
        self._columns: LatestRows | None = None
        self._waiting = WaitingRows()
        if self.backend.in_memory and not config.state_ttl:
            table = self.backend.use(ROW, RowOfKey(types, config.keys, config.time))
            self._columns = LatestRows(table, config.keys, config.time, config.last)
        else:
            self._state = self.keyed_value(ROW)
            self.codec = RowCodec(types)

    def row_of(self, key: Key) -> Row | None:
        found = self._state.get(key)
        return None if found is None else found[1]

    def receive(self, rows: Rows, input: int) -> None:
        if self._columns is None:
            self._receive(rows)
            return
        if not rows.adds().all():
            raise ValueError("the input of a deduplication was planned to have insertions only, but takes rows back")
        self._update(self._waiting.add(rows))
        if self._columns.table.crowded:
            self.flush()

    def _update(self, rows: Rows | None) -> None:
        if rows is not None and self._columns is not None:
            self._columns.update(rows)

    def _receive(self, rows: Rows) -> None:
        config, columns = self.config, rows.columns
        grouped = group([columns[index] for index in config.keys], len(rows))
        times = np.arange(len(rows)) if config.time is None else millis(columns[config.time])
        best = best_rows(grouped.ids, len(grouped.keys), times, config.last)
        where = pa.array(best)
        values = self.codec.rows([column.take(where) for column in columns], len(best))
        get, put = self._state.get, self._state.put
        for key, time, row in zip(grouped.keys, times[best].tolist(), values):
            known = get(key)
            if known is None or config.time is None or (time >= known[0] if config.last else time < known[0]):
                self.touch(key, None if known is None else known[1])
                put(key, (time, row))

    def flush(self) -> None:
        if self._columns is None:
            super().flush()
            return
        self._update(self._waiting.take())
        for changed in self._columns.changes(self.before):
            self.emit_rows(changed)

    def emit_rows(self, rows: Rows) -> None:
        super().emit_rows(with_number(rows) if self.config.number else rows)


def with_number(rows: Rows) -> Rows:
    """The rows with their rank 1 as a last column."""
    return rows.with_columns([*rows.columns, pa.array(np.ones(len(rows), np.int64))])
