"""LIMIT without an order: the rows that arrived first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from millrace.relational.nodes import Schema
from millrace.relational.rows import DELETE, INSERT, Rows
from millrace.relational.type_table import arrow_type
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.ordering.temporal_sort import ONLY_KEY
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import ARRIVALS, NUMBERED

ROWS, NUMBERS = "rows", "numbers"


@dataclass(frozen=True, kw_only=True)
class Limit(TableConfig):
    """The description of a ``Sort`` node without sort keys."""

    input: Schema
    offset: int = 0
    fetch: int | None = None
    updating: bool = False
    """whether rows may be retracted: then all must be stored, since a later row moves up"""

    def operator(self) -> KeyedTableOperator[Limit]:
        return UpdatingLimitOperator(self) if self.updating else FirstRowsOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        if not self.updating:
            return self.only_rows()
        types = [column.type for column in self.input]
        return self.only_rows(self.rows_in(ROWS, NUMBERED, 0, types), self.rows_in(NUMBERS, ARRIVALS, 0, types))


class FirstRowsOperator(KeyedTableOperator[Limit]):
    """A limit over insertions only: the state is a count."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._passed = self.keyed_value("passed", 0)

    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        passed = self._passed.get(ONLY_KEY) or 0
        if config.fetch is not None and passed >= config.offset + config.fetch:
            return
        self._passed.put(ONLY_KEY, passed + len(rows))
        end = None if config.fetch is None else config.offset + config.fetch - passed
        self.emit_rows(rows.take(np.arange(len(rows))[max(0, config.offset - passed) : end]))


class UpdatingLimitOperator(KeyedTableOperator[Limit]):
    """A limit over rows that may be retracted: stores the rows in the order of arrival. After each batch the rows
    within the limit are compared with those before it."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._rows = self.keyed_map(ROWS)
        """arrival number -> row"""
        self._numbers = self.keyed_map(NUMBERS)
        """row -> arrival numbers"""
        self._next = self.keyed_value("next")
        self._codec = RowCodec([arrow_type(column.type) for column in self.config.input])

    def receive(self, rows: Rows, input: int) -> None:
        before = self._within()
        following = self._next.get(ONLY_KEY) or 0
        for row, add in zip(self._codec.rows(rows.columns, len(rows)), rows.adds().tolist()):
            numbers: tuple[int, ...] = self._numbers.get(ONLY_KEY, row) or ()
            if add:
                self._rows.put(ONLY_KEY, following, row)
                self._numbers.put(ONLY_KEY, row, (*numbers, following))
                following += 1
            elif numbers:
                self._rows.remove(ONLY_KEY, numbers[-1])
                if len(numbers) > 1:
                    self._numbers.put(ONLY_KEY, row, numbers[:-1])
                else:
                    self._numbers.remove(ONLY_KEY, row)
        self._next.put(ONLY_KEY, following)
        after = self._within()
        gone = [row for number, row in before.items() if number not in after]
        new = [row for number, row in after.items() if number not in before]
        kinds = np.array([DELETE] * len(gone) + [INSERT] * len(new), np.uint8)
        self.emit_columns(self._codec.columns([*gone, *new]), len(kinds), kinds if gone else None)

    def _within(self) -> dict[int, Row]:
        config = self.config
        end = None if config.fetch is None else config.offset + config.fetch
        return dict(islice(self._rows.items(ONLY_KEY), config.offset, end))
