"""The user's table aggregate functions: any number of rows for each key, updated as rows are added and retracted.

Like ``GroupAggregate`` it emits the changes of a slice: rows that a key does not have any more are deleted, new rows
are inserted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.relational.rex import AggCall
from millrace.relational.rows import DELETE, INSERT, Rows, record_batch
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.runtime.functions.aggregates import GroupFunction, UserAccumulators
from millrace.runtime.functions.runner import result_column
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.keys import Key, group, key_columns
from millrace.runtime.tables.columns.row_codec import Row, RowCodec


@dataclass(frozen=True, kw_only=True)
class TableAggregate(TableConfig):
    """The output is the keys, then the columns of the function's rows."""

    keys: tuple[int, ...]
    """key columns of the input"""
    key_types: tuple[DataType, ...]
    call: AggCall
    types: tuple[DataType, ...]
    """types of the columns of the function's rows"""

    def operator(self) -> TableAggregateOperator:
        return TableAggregateOperator(self)


class TableAggregateOperator(KeyedTableOperator[TableAggregate]):
    """State: key -> (number of its rows, the accumulator)."""

    gathers_changes = True

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        if config.call.distinct:
            raise NotImplementedError("a table aggregate function of DISTINCT rows: select them first, with distinct()")
        self._state = self.keyed_value("accumulators")
        self._function = GroupFunction(self.functions, config.call)
        self._accumulators = UserAccumulators(self._function)
        self._codec = RowCodec([arrow_type(each) for each in (*config.key_types, *config.types)])
        self._touched: dict[Key, list[Row]] = {}
        """the rows of changed keys before the slice"""

    def receive(self, rows: Rows, input: int) -> None:
        columns, call = rows.columns, self.config.call
        grouped = group([columns[index] for index in self.config.keys], len(rows))
        stored = [self._state.get(key) for key in grouped.keys]
        self._remember([(key, each) for key, each in zip(grouped.keys, stored) if key not in self._touched])
        batch = Batch(self.evaluator(columns, len(rows)), grouped.ids, signs_of(rows))
        signs = batch.signs_where(call.filter)
        slots = [None if each is None else each[1] for each in stored]
        self._accumulators.update(batch.ids, [batch.column(arg) for arg in call.args], signs, slots)
        counts = np.array([0 if each is None else each[0] for each in stored], np.int64)
        np.add.at(counts, grouped.ids, batch.signs.to_numpy())
        for key, count, slot in zip(grouped.keys, counts.tolist(), slots):
            self._state.put(key, (count, slot))

    def _remember(self, fresh: Sequence[tuple[Key, Any]]) -> None:
        for (key, _), rows in zip(fresh, self._rows_of(fresh)):
            self._touched[key] = rows

    def _rows_of(self, stored: Sequence[tuple[Key, Any]]) -> list[list[Row]]:
        """The present rows of these keys."""
        found: list[list[Row]] = [[] for _ in stored]
        owners: list[int] = []
        emitted: list[Sequence[Any]] = []
        for place, (_, each) in enumerate(stored):
            if each is None or each[0] <= 0:
                continue
            accumulator = self._function.new() if each[1] is None else each[1]
            rows = self._function.rows_of(accumulator, len(self.config.types))
            owners += [place] * len(rows)
            emitted += rows
        if emitted:
            name = self.config.call.udf.name
            typed = zip(zip(*emitted), self.config.types)
            columns = [result_column(self.functions, list(values), each, name) for values, each in typed]
            values = RowCodec([column.type for column in columns]).rows(columns, len(emitted))
            for owner, row in zip(owners, values):
                found[owner].append(row)
        return found

    def flush(self) -> None:
        if not self._touched:
            return
        touched, self._touched = self._touched, {}
        now = [(key, self._state.get(key)) for key in touched]
        gone: list[Row] = []
        come: list[Row] = []
        keys = self._key_rows(list(touched))
        for key, old, new in zip(keys, touched.values(), self._rows_of(now)):
            gone += ((*key, *row) for row in (Counter(old) - Counter(new)).elements())
            come += ((*key, *row) for row in (Counter(new) - Counter(old)).elements())
        for key, each in now:
            if each is not None and each[0] <= 0:
                self._state.remove(key)
        kinds = np.repeat(np.array([DELETE, INSERT], np.uint8), [len(gone), len(come)])
        self.emit_rows(Rows(record_batch(self._codec.columns([*gone, *come]), len(kinds)), kinds if gone else None))

    def _key_rows(self, keys: Sequence[Key]) -> Iterable[Row]:
        """Keys in the form of whole rows."""
        types = [arrow_type(each) for each in self.config.key_types]
        return RowCodec(types).rows(key_columns(keys, types), len(keys))
