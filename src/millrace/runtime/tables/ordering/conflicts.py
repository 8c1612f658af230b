"""ON CONFLICT DO ERROR and DO NOTHING over changing rows: which row of a primary key a sink gets.

Changes come from several tasks, so for a moment two rows may have the same key although the table has only one. This is
not judged between two watermarks: each change carries the watermark of the task that made it, and all changes up to one
watermark are combined when it has arrived from all tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.state.restoring.saved import KeyedPieces
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig, TableOperator
from millrace.runtime.tables.columns.changes import row_changes
from millrace.runtime.tables.columns.keys import Key, key_tuples
from millrace.runtime.tables.columns.row_codec import Row, RowCodec

ROW, WAITING = "row", "waiting changes"
_Change = tuple[bool, Row]
"""(whether the change adds the row, the row)"""


@dataclass(frozen=True, kw_only=True)
class Stamp(TableConfig):
    """Adds the watermark of the task (ms) to rows as a last column."""

    passes_rows = True

    def operator(self) -> StampOperator:
        return StampOperator(self)


class StampOperator(TableOperator[Stamp]):
    def receive(self, rows: Rows, input: int) -> None:
        self.emit_rows(rows.with_columns([*rows.columns, pa.array(np.full(len(rows), self.watermark, np.int64))]))


@dataclass(frozen=True, kw_only=True)
class Conflicts(TableConfig):
    """The input is the output of ``Stamp``; the result is upserts without the added column."""

    keys: tuple[int, ...]
    """the primary key of the sink"""
    types: tuple[DataType, ...]
    """types of all columns but the last"""
    unique: tuple[int, ...] | None
    """columns by which the changes identify rows; None: by all columns"""
    compared: tuple[int, ...] | None = None
    """columns in which equal rows agree; None: all"""
    problem: str | None = None
    """the beginning of the error for two rows with one key, which follows; None: no error, the first row stays"""

    def operator(self) -> ConflictsOperator:
        return ConflictsOperator(self)


class ConflictsOperator(KeyedTableOperator[Conflicts]):
    """State: primary key -> the row that the sink has; watermark (ms) -> primary key -> changes that wait for a later
    watermark."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.codec = RowCodec([arrow_type(each) for each in self.config.types])
        self._touched: dict[Key, Row | None] = {}
        """keys changed in this slice -> their rows before it"""
        self._row = self.keyed_value(ROW)
        self._waiting: Any = self.backend.table_of(WAITING, WindowTable.kind)
        self._least: dict[Key, int] = {}
        """key -> watermark (ms) of its restored waiting changes: new changes of the key are later, whatever their own
        watermark says"""

    def open(self) -> None:
        super().open()
        self._restored()

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(pieces)
        self._restored()

    def _restored(self) -> None:
        self._least = {key: stamp for stamp in self._stamps(MAX_WATERMARK) for key in self._waiting.rows[stamp]}

    def _stamps(self, until: int) -> list[int]:
        return sorted(stamp for stamp in self._waiting.rows if stamp <= until)

    def row_of(self, key: Key) -> Row | None:
        """The present row of a key; None: it has none."""
        found: Row | None = self._row.get(key)
        return found

    def flush(self) -> None:
        """Emit one change for each key that has changed in this slice."""
        if self._touched:
            touched, self._touched = self._touched, {}
            now = [self.row_of(key) for key in touched]
            alive = self.config.state_ttl > 0
            self.emit_rows(row_changes(self.codec, list(touched.values()), now, False, alive))

    # -- changes come in ------------------------------------------------------------------------------------------

    def receive(self, rows: Rows, input: int) -> None:
        columns = rows.columns
        keys = key_tuples([columns[place] for place in self.config.keys], len(rows))
        came: dict[tuple[int, Key], list[_Change]] = {}
        values = self.codec.rows(columns[:-1], len(rows))
        for key, stamp, adds, row in zip(keys, columns[-1].to_pylist(), rows.adds().tolist(), values):
            came.setdefault((max(stamp, self._least.get(key, stamp)), key), []).append((adds, row))
        for (stamp, key), changes in came.items():
            waiting = list(self._waiting.rows.get(stamp, {}).get(key, ()))
            for change in changes:
                self._add(waiting, change)
            self._waiting.put(stamp, key, tuple(waiting))

    def _add(self, waiting: list[_Change], change: _Change) -> None:
        """Add a change, unless it cancels a change that waits for the same watermark; then both are dropped."""
        adds, row = change
        for place, (added, known) in enumerate(waiting):
            if added != adds and self._compared(known) == self._compared(row):
                del waiting[place]
                return
        waiting.append(change)

    # -- a watermark comes ----------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        self._settle(watermark - 1)

    def end_input(self) -> None:
        self._settle(MAX_WATERMARK)  # what has come behind the last watermark
        super().end_input()

    def _settle(self, until: int) -> None:
        for stamp in self._stamps(until):
            for key, changes in list(self._waiting.rows[stamp].items()):
                self._settle_key(key, changes)
                if self._least.get(key) == stamp:
                    del self._least[key]
            self._waiting.drop(stamp)

    def _settle_key(self, key: Key, changes: Sequence[_Change]) -> None:
        known = self.row_of(key)
        self._touched.setdefault(key, known)
        rows = [] if known is None else [known]
        for adds, row in changes:
            self._apply(rows, adds, row)
        if len(rows) > 1:
            if self.config.problem is not None:
                raise ValueError(f"{self.config.problem} {', '.join(map(repr, key))}")
            del rows[1:]
        if rows:
            self._row.put(key, rows[0])
        elif known is not None:
            self._row.remove(key)

    def _apply(self, rows: list[Row], adds: bool, row: Row) -> None:
        name = self._name(row)
        place = next((at for at, each in enumerate(rows) if self._name(each) == name), None)
        if not adds:
            if place is not None:
                del rows[place]
        elif place is not None and self.config.unique is not None:
            rows[place] = row
        else:
            rows.append(row)

    def _name(self, row: Row) -> Row:
        unique = self.config.unique
        return self._compared(row) if unique is None else tuple(row[place] for place in unique)

    def _compared(self, row: Row) -> Row:
        compared = self.config.compared
        return row if compared is None else tuple(row[place] for place in compared)
