"""Operators that change the form of a changelog, not the table: normalize, drop old rows, materialize for a sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import DELETE, UPDATE_BEFORE, Rows, record_batch
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig, TableOperator
from millrace.runtime.tables.columns.changes import changes
from millrace.runtime.tables.columns.keys import Ids, group_ids, rows_at, taken
from millrace.runtime.tables.columns.matching import take_or_null
from millrace.runtime.tables.counted_rows import PresentRows, Replaced
from millrace.runtime.tables.ordered_rows import PLACES, ArrivedRows, placed_rows
from millrace.runtime.tables.state_table import StateTable, tables_of
from millrace.runtime.tables.stored_calls import Accumulator, StoredCalls
from millrace.runtime.tables.stored_rows import ROW


@dataclass(frozen=True, kw_only=True)
class DropUpdateBefore(TableConfig):
    """Drops the old rows of updates (-U), for a consumer that identifies rows by their key."""

    passes_rows = True

    def operator(self) -> DropUpdateBeforeOperator:
        return DropUpdateBeforeOperator(self)


class DropUpdateBeforeOperator(TableOperator[DropUpdateBefore]):
    def receive(self, rows: Rows, input: int) -> None:
        if rows.kinds is not None:
            rows = rows.where(rows.kinds != UPDATE_BEFORE)
        self.emit_rows(rows)


@dataclass(frozen=True, kw_only=True)
class ChangelogNormalize(TableConfig):
    """Converts upserts, which give the present row of a key or that it has none, to a changelog with old rows. A
    deletion needs only its key; changes without effect are dropped."""

    keys: tuple[int, ...]
    types: tuple[DataType, ...]
    """types of all columns"""
    before: bool = True
    """whether the consumer needs the old row of an update (-U)"""
    every: bool = False
    """whether the consumer needs every version of a row, instead of one per batch"""
    repeated: bool = False
    """whether deletions of unknown rows are passed on: see ``TableSource.repeats_deletions``"""

    def operator(self) -> ChangelogNormalizeOperator:
        return ChangelogNormalizeOperator(self)

    def state_tables(self) -> tuple[StateTable, ...]:
        return tables_of(StoredCalls("", (), (), rows=(self.rows_in("row", ROW, 0, self.types),)))


class ChangelogNormalizeOperator(KeyedTableOperator[ChangelogNormalize]):
    """A slice emits one change for each key, from its row before the slice to its row after it."""

    gathers_changes = True

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        types = [arrow_type(each) for each in config.types]
        self._table = self.backend.use("row", PresentRows(types, config.keys, self.expiry()))
        self._touched: list[tuple[list[pa.Array], Ids]] = []
        """key columns of changed keys and the number of the row that each had before; the first one of a key counts"""
        self._deleted: list[pa.RecordBatch] = []
        """the last deletion of each key in a batch, where deletions of unknown rows are passed on"""

    def receive(self, rows: Rows, input: int) -> None:
        if rows.kinds is not None:
            rows = rows.where(rows.kinds != UPDATE_BEFORE)
        if not len(rows):
            return
        columns, adds = rows.columns, rows.adds()
        found = self._table.replace(columns, adds)
        if self.config.every:
            self._emit_every(rows, found)
            self._table.settle()
            return
        fresh = found.before < 0
        fresh[~fresh] = ~self._table.are_new(found.before[~fresh])
        keys = rows_at([columns[place] for place in self.config.keys], found.first[fresh])
        self._touched.append((keys, found.before[fresh]))
        if self.config.repeated:
            ends = found.last[~adds[found.last]]
            self._deleted.append(record_batch(rows_at(columns, ends), len(ends)))
        if self._table.crowded:
            self.flush()

    def flush(self) -> None:
        if not self._touched:
            return
        touched, self._touched = self._touched, []
        deleted, self._deleted = self._deleted, []
        table = self._table
        keys = [pa.concat_arrays(parts) for parts in zip(*(each for each, _ in touched))]
        old = np.concatenate([before for _, before in touched])
        first = group_ids(keys, len(old))[1]
        keys, old = taken(keys, first, len(old)), old[first]
        new = table.numbers_of(keys, len(old))
        for changed in table.key_changes(old, new, self.config.before, self.config.state_ttl > 0):
            self.emit_rows(changed)
        self._emit_unknown(deleted, rows_at(keys, np.flatnonzero((old < 0) & (new < 0))))
        table.settle()

    def _emit_unknown(self, deleted: Sequence[pa.RecordBatch], keys: Sequence[pa.Array]) -> None:
        """Emit the last deletion of each of these keys."""
        count = len(keys[0])
        if not count or not deleted:
            return
        columns = [pa.concat_arrays(parts) for parts in zip(*(batch.columns for batch in deleted))]
        both = [pa.concat_arrays([key, columns[place]]) for key, place in zip(keys, self.config.keys)]
        of_row, _ = group_ids(both, count + len(columns[0]))
        last = np.full(len(of_row), -1, np.int64)
        last[of_row[count:]] = np.arange(len(columns[0]))
        gone = last[of_row[:count]]
        gone = gone[gone >= 0]
        if len(gone):
            kinds = np.full(len(gone), DELETE, np.uint8)
            self.emit_columns(rows_at(columns, gone), len(gone), kinds)

    def _emit_every(self, rows: Rows, found: Replaced) -> None:
        """Emit each change separately. A deletion that contains more than its key has a time of its own, and is passed
        on unchanged."""
        length, adds, columns = len(rows), rows.adds(), rows.columns
        order = np.argsort(found.of_row, kind="stable")
        again = found.of_row[order[1:]] == found.of_row[order[:-1]]
        # The row before each one: an index of the batch, or behind them a stored row; -1: there is none.
        old = np.full(length, -1, np.int64)
        stored = np.flatnonzero(found.before >= 0)
        old[found.first[stored]] = length + np.arange(len(stored))
        one, other = order[1:][again], order[:-1][again]
        old[one] = np.where(adds[other], other, -1)
        had = old >= 0
        more = np.zeros(length, bool)
        for place in set(range(len(columns))) - set(self.config.keys):
            more |= columns[place].is_valid().to_numpy(zero_copy_only=False)
        old = np.where(more & ~adds & had, np.arange(length), old)
        there = self._table.take(found.before[stored])
        before = [take_or_null(pa.concat_arrays(pair), old) for pair in zip(columns, there)]
        self.emit_rows(changes(before, columns, had, adds, self.config.before, self.config.state_ttl > 0))


@dataclass(frozen=True, kw_only=True)
class UpsertMaterialize(TableConfig):
    """Stands before a sink whose primary key differs from the key of the changes: rows of one primary key may come in
    any order, so all present rows are stored, and the latest one is the row of the key."""

    keys: tuple[int, ...]
    """the primary key of the sink"""
    types: tuple[DataType, ...]
    """types of all columns"""
    unique: tuple[int, ...] | None = None
    """columns by which the changes identify rows; None: by all columns"""
    compared: tuple[int, ...] | None = None
    """columns in which equal rows agree, where ``unique`` is None; None: all columns"""
    before: bool = False
    """whether the sink needs the old row of an update (-U)"""

    def operator(self) -> UpsertMaterializeOperator:
        return UpsertMaterializeOperator(self)

    def stored(self) -> tuple[StoredCalls, Accumulator] | None:
        return self.only_rows(placed_rows(self, self.types, self.unique, self.compared))


class UpsertMaterializeOperator(KeyedTableOperator[UpsertMaterialize]):
    """A slice emits one change for each key: from its latest row before the slice to its latest row after it."""

    gathers_changes = True

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        types = [arrow_type(each) for each in config.types]
        rows = ArrivedRows(types, config.keys, config.unique, config.compared, self.expiry())
        self._rows = self.backend.use(PLACES, rows)

    def receive(self, rows: Rows, input: int) -> None:
        self._rows.change(rows.columns, rows.adds())
        if self._rows.crowded:
            self.flush()

    def flush(self) -> None:
        touched = self._rows.touched()
        if touched is not None and len(touched.owners):
            count = int(touched.owners[-1]) + 1
            old, new = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
            # The last assignment of a key remains.
            old[touched.owners[touched.was]] = touched.numbers[touched.was]
            new[touched.owners[touched.now]] = touched.numbers[touched.now]
            for changed in self._rows.key_changes(old, new, self.config.before, self.config.state_ttl > 0):
                self.emit_rows(changed)
        self._rows.settle()
