"""Top-N and deduplication within windows: the rows of a window are emitted when it has ended, and never change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.relational.types import BigIntType, DataType
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.keys import Ids, group, group_ids
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.columns.window_times import WallClock, clock_times, has_passed, passed
from millrace.runtime.tables.ordering.latest_rows import best_rows
from millrace.runtime.tables.ordering.rank import TopRows, TopRowsOperator
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import RANKED, ROW

C = TypeVar("C", bound=TableConfig)
KEPT = "window rows"
_NUMBER = arrow_type(BigIntType())


@dataclass(frozen=True, kw_only=True)
class WindowRank(TopRows):
    """Top-N of each window. ``partition`` may also contain the window columns; the input has insertions only."""

    window_end: int
    """index of window_end"""
    zoned: bool
    """whether the time attribute of the windows is a TIMESTAMP_LTZ"""

    def operator(self) -> WindowRankOperator:
        return WindowRankOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        return self.only_rows(self.rows_in(KEPT, RANKED, 0, self.types))


@dataclass(frozen=True, kw_only=True)
class WindowDeduplicate(TableConfig):
    """The first or last row of each key and window by a time column; of rows with equal times the first or last to
    arrive. The input has insertions only."""

    keys: tuple[int, ...]
    types: tuple[DataType, ...]
    """types of all columns of the input"""
    last: bool
    time: int
    window_end: int
    """index of window_end"""
    zoned: bool
    """whether the time attribute of the windows is a TIMESTAMP_LTZ"""
    number: bool = False
    """whether the rank, always 1, is a column of the result (BIGINT)"""

    def operator(self) -> WindowDeduplicateOperator:
        return WindowDeduplicateOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        return self.only_rows(self.rows_in(KEPT, ROW, 0, self.types))


class WindowRowsOperator(KeyedTableOperator[C]):
    """The base of both operators. State: end of a window (local time, ms) -> key -> the stored rows or row."""

    keys: tuple[int, ...]
    """indexes of the key columns; ``setup`` sets this, ``window_end`` and the codecs"""
    window_end: int
    codec: RowCodec
    result_codec: RowCodec

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config: Any = self.config
        self.window_end = config.window_end
        self._clock = WallClock(config.environment.zone if config.zoned else None)
        self._table: WindowTable = self.backend.table_of(KEPT, WindowTable.kind)
        self._late = context.runtime.get_metrics_group().counter("numLateRecordsDropped")

    def combine(self, known: Sequence[Any], new: Sequence[list[Row]]) -> Sequence[Any]:
        """Combine the stored contents of keys (None: there are none) with their new rows; returns the new contents."""
        raise NotImplementedError

    def result(self, kept: Any) -> list[Row]:
        """The rows that a window emits for a key, given its stored content."""
        raise NotImplementedError

    def candidates(self, rows: Rows) -> Rows:
        """The rows without those that can't be in the result because of other rows of the batch."""
        raise NotImplementedError

    def receive(self, rows: Rows, input: int) -> None:
        ends = clock_times(rows.batch.column(self.window_end))
        late = passed(ends, self._clock, self.watermark)
        if late.any():
            self._late.inc(int(late.sum()))
            rows = rows.where(~late)
        rows = self.candidates(rows)
        columns = rows.columns
        by = (self.window_end, *self.keys)
        grouped = group([columns[index] for index in by], len(rows))
        new: list[list[Row]] = [[] for _ in grouped.keys]
        for id, row in zip(grouped.ids.tolist(), self.codec.rows(columns, len(rows))):
            new[id].append(row)
        buckets = clock_times(rows.batch.column(self.window_end).take(grouped.first)).tolist()
        keys = [key[1:] for key in grouped.keys]
        contents = self._table.rows
        known = [contents.get(bucket, {}).get(key) for bucket, key in zip(buckets, keys)]
        for bucket, key, kept in zip(buckets, keys, self.combine(known, new)):
            self._table.put(bucket, key, kept)

    def advance(self, watermark: int) -> None:
        due = sorted(end for end in self._table.rows if has_passed(end, self._clock, watermark))
        found: list[Row] = []
        for end in due:
            for kept in self._table.rows[end].values():
                found += self.result(kept)
            self._table.drop(end)
        if found:
            self.emit_columns(self.result_codec.columns(found), len(found))


class WindowRankOperator(WindowRowsOperator[WindowRank], TopRowsOperator):
    """Stores the first-ranked rows, in order."""

    config: WindowRank

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.keys = self.config.partition

    def candidates(self, rows: Rows) -> Rows:
        return self.promising(rows)

    def owners(self, rows: Rows) -> Ids:
        columns = rows.columns
        return group_ids([columns[index] for index in (self.window_end, *self.keys)], len(rows))[0]

    def combine(self, known: Sequence[Any], new: Sequence[list[Row]]) -> Sequence[Any]:
        tops = self.top([[*(row for row, _ in old or ()), *rows] for old, rows in zip(known, new)])
        return list(map(tuple, tops))

    def result(self, kept: Any) -> list[Row]:
        return self.results(kept)


class WindowDeduplicateOperator(WindowRowsOperator[WindowDeduplicate]):
    """Stores the best row so far."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.keys = self.config.keys
        types = [arrow_type(each) for each in self.config.types]
        self.codec = RowCodec(types)
        self.result_codec = RowCodec([*types, _NUMBER] if self.config.number else types)

    def candidates(self, rows: Rows) -> Rows:
        config, columns = self.config, rows.columns
        ids, first = group_ids([columns[index] for index in (self.window_end, *self.keys)], len(rows))
        if len(first) == len(rows):
            return rows
        times = columns[config.time].view("int64").to_numpy()
        return rows.take(np.sort(best_rows(ids, len(first), times, config.last)))

    def combine(self, known: Sequence[Any], new: Sequence[list[Row]]) -> Sequence[Any]:
        time, last = self.config.time, self.config.last
        found = []
        for old, rows in zip(known, new):
            best = old
            for row in rows:
                if best is None or (row[time] >= best[time] if last else row[time] < best[time]):
                    best = row
            found.append(best)
        return found

    def result(self, kept: Any) -> list[Row]:
        return [(*kept, 1)] if self.config.number else [kept]
