"""ORDER BY any columns at the end of bounded input: the final table, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.relational.nodes import Schema
from millrace.relational.rex import SortKey
from millrace.relational.rows import Rows, record_batch
from millrace.relational.type_table import arrow_type
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.ranking import sort_rows
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.ordering.temporal_sort import ONLY_KEY


@dataclass(frozen=True, kw_only=True)
class BoundedSort(TableConfig):
    """A ``Sort`` node over a stream that ends. Nothing is emitted before the end."""

    input: Schema
    keys: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None

    def operator(self) -> BoundedSortOperator:
        return BoundedSortOperator(self)


class BoundedSortOperator(KeyedTableOperator[BoundedSort]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._rows = self.keyed_map("rows")
        """row -> number of its copies"""
        self._codec = RowCodec([arrow_type(column.type) for column in self.config.input])

    def receive(self, rows: Rows, input: int) -> None:
        get, put, remove = self._rows.get, self._rows.put, self._rows.remove
        for row, add in zip(self._codec.rows(rows.columns, len(rows)), rows.adds().tolist()):
            count = (get(ONLY_KEY, row) or 0) + (1 if add else -1)
            if count:
                put(ONLY_KEY, row, count)
            else:
                remove(ONLY_KEY, row)

    def end_input(self) -> None:
        config = self.config
        entries = [(row, count) for row, count in self._rows.items(ONLY_KEY) if count > 0]
        columns = self._codec.columns([row for row, _ in entries])
        repeated = np.repeat(np.arange(len(entries)), [count for _, count in entries])
        rows = Rows(record_batch(columns, len(entries))).take(repeated)
        evaluator = self.evaluator(rows.columns, len(rows))
        values = [evaluator.column(key.expression) for key in config.keys]
        order = sort_rows(np.zeros(len(rows), np.int64), values, config.keys)
        end = None if config.fetch is None else config.offset + config.fetch
        self.emit_rows(rows.take(order[config.offset : end]))
        self._rows.clear(ONLY_KEY)
        super().end_input()
