"""Operators that change what a changelog says, not the table: normalize, drop old rows, materialize for a sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.relational.rows import DELETE, UPDATE_BEFORE, Rows
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.columns.changes import row_changes
from millrace.runtime.tables.columns.keys import Key, group, key_tuples
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.ordered_rows import PlacedRows
from millrace.runtime.tables.row_per_key import RowPerKeyOperator


@dataclass(frozen=True, kw_only=True)
class DropUpdateBefore(TableConfig):
    """Without the old rows of updates, for a consumer that knows rows by their key."""

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
    """From changes that say which row a key has now, or that it has none, to a changelog with old rows. A deletion
    needs no more than its key; what repeats or deletes nothing is left out."""

    keys: tuple[int, ...]
    types: tuple[DataType, ...]
    """of all columns"""
    before: bool = True
    """whether the consumer needs the old row of an update (-U)"""
    every: bool = False
    """whether the consumer needs every version of a row, instead of one a batch"""
    repeated: bool = False
    """whether deletions of rows that are not known go on: see ``TableSource.repeats_deletions``"""

    def operator(self) -> ChangelogNormalizeOperator:
        return ChangelogNormalizeOperator(self)


class ChangelogNormalizeOperator(RowPerKeyOperator[ChangelogNormalize]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._state = self.keyed_value("row")
        self.codec = RowCodec([arrow_type(each) for each in self.config.types])
        self.before = self.config.before
        self._unknown: dict[Key, Row] = {}
        """deletions of this slice, of rows that were not known before it"""

    def row_of(self, key: Key) -> Row | None:
        found: Row | None = self._state.get(key)
        return found

    def flush(self) -> None:
        super().flush()
        unknown, self._unknown = self._unknown, {}
        gone = [row for key, row in unknown.items() if self.row_of(key) is None]
        if gone:
            self.emit_rows(row_changes(self.codec, gone, [None] * len(gone), self.before))

    def receive(self, rows: Rows, input: int) -> None:
        if rows.kinds is not None:
            rows = rows.where(rows.kinds != UPDATE_BEFORE)
        columns = rows.columns
        if self.config.every:
            self._emit_every(key_tuples([columns[index] for index in self.config.keys], len(rows)), rows)
            return
        grouped = group([columns[index] for index in self.config.keys], len(rows))
        last = np.empty(len(grouped.keys), np.int64)
        last[grouped.ids] = np.arange(len(rows))
        latest = rows.take(last)
        values = self.codec.rows(latest.columns, len(latest))
        for key, kind, row in zip(grouped.keys, latest.kind_values().tolist(), values):
            self.touch(key, self._state.get(key))
            if kind == DELETE:
                if self.config.repeated and self.touched[key] is None:
                    self._unknown[key] = row
                self._state.remove(key)
            else:
                self._state.put(key, row)

    def _emit_every(self, keys: Sequence[Key], rows: Rows) -> None:
        """Each change by itself. A deletion that says more than its key says when it was: it goes on as it is."""
        before: list[Row | None] = []
        after: list[Row | None] = []
        for key, kind, row in zip(keys, rows.kind_values().tolist(), self.codec.rows(rows.columns, len(rows))):
            known = self._state.get(key)
            if kind == DELETE:
                self._state.remove(key)
                before.append(row if known is not None and self._says_more(row) else known)
                after.append(None)
            else:
                self._state.put(key, row)
                before.append(known)
                after.append(row)
        self.emit_rows(row_changes(self.codec, before, after, self.before, self.config.state_ttl > 0))

    def _says_more(self, row: Row) -> bool:
        return any(value is not None for place, value in enumerate(row) if place not in self.config.keys)


@dataclass(frozen=True, kw_only=True)
class UpsertMaterialize(TableConfig):
    """Before a sink whose primary key is not what the changes are by: rows of one primary key may come in any order, so
    all that are there are kept, and the latest one of them is the row of the key."""

    keys: tuple[int, ...]
    """the primary key of the sink"""
    types: tuple[DataType, ...]
    """of all columns"""
    unique: tuple[int, ...] | None = None
    """columns by which the changes know their rows; None: by all columns"""
    compared: tuple[int, ...] | None = None
    """the columns by which rows are equal, where ``unique`` is None; None: all"""
    before: bool = False
    """whether the sink wants the old row of an update (-U)"""

    def operator(self) -> UpsertMaterializeOperator:
        return UpsertMaterializeOperator(self)


class UpsertMaterializeOperator(RowPerKeyOperator[UpsertMaterialize]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.codec = RowCodec([arrow_type(each) for each in self.config.types])
        self.before = self.config.before
        self._rows = PlacedRows(self, self.codec, self.config.unique, self.config.compared)

    def row_of(self, key: Key) -> Row | None:
        return self._rows.latest(key)

    def receive(self, rows: Rows, input: int) -> None:
        keys = key_tuples([rows.batch.column(index) for index in self.config.keys], len(rows))
        for key in dict.fromkeys(keys):
            if key not in self.touched:
                self.touch(key, self.row_of(key))
        self._rows.update(keys, rows)

    def flush(self) -> None:
        for key in self.touched:
            self._rows.forget_empty(key)
        super().flush()
