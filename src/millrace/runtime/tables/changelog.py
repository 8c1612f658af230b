"""Operators that change the form of a changelog, not the table: normalize, drop old rows, materialize for a sink."""

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


class ChangelogNormalizeOperator(RowPerKeyOperator[ChangelogNormalize]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._state = self.keyed_value("row")
        self.codec = RowCodec([arrow_type(each) for each in self.config.types])
        self.before = self.config.before
        self._unknown: dict[Key, Row] = {}
        """deletions in this slice of rows that were not known before it"""

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
        """Emit each change separately. A deletion that contains more than its key has a time of its own, and is passed
        on unchanged."""
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
