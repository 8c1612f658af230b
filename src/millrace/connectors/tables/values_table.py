"""``values``: rows in memory, for tests and for tables of a program's own values."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.source import Source
from millrace.common.types import Row, RowKind
from millrace.connectors.generated_sources import CollectionSource
from millrace.relational.nodes import Field, Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, python_rows, record_batch
from millrace.relational.sources import (
    ALL_KINDS,
    INSERT_ONLY,
    UPSERT,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.relational.values import to_arrow

_MODES = {"I": INSERT_ONLY, "I,UA,D": UPSERT, "I,UB,UA,D": ALL_KINDS}
_lock = threading.Lock()
_data: dict[str, list[Row]] = {}
_results: dict[str, list[Row]] = {}


def register_values(data_id: str, rows: Iterable[Sequence[Any]]) -> None:
    """Rows for tables WITH ('connector' = 'values', 'data-id' = ...): sequences in the order of the physical columns,
    then of the metadata columns, or ``Row`` with kinds."""
    made = [row if isinstance(row, Row) else Row(*row) for row in rows]
    with _lock:
        _data[data_id] = made


def results_of(table: str) -> list[Row]:
    """What was written into a table of this process, in order: ``catalog.database.table``. Metadata columns that are
    not VIRTUAL come last."""
    with _lock:
        return list(_results.get(table, ()))


def clear_values() -> None:
    """Forget all rows."""
    with _lock:
        _data.clear()
        _results.clear()


class ValuesSource(TableSource):
    """Batches in memory.

    :param parts: with columns c0, c1, ...; every one may have changes.
    """

    def __init__(self, parts: Sequence[pa.RecordBatch | Rows], kinds: frozenset[RowKind] = INSERT_ONLY) -> None:
        self._parts = tuple(part if isinstance(part, Rows) else Rows(part) for part in parts)
        self.kinds = kinds

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return CollectionSource([part.with_columns([part.columns[index] for index in columns]) for part in self._parts])


def rows_of(rows: Sequence[Row], columns: Schema) -> Rows:
    """Rows of Python values in columns."""
    arrays = [to_arrow([row[index] for row in rows], column.type) for index, column in enumerate(columns)]
    batch = record_batch(arrays, len(rows))
    if all(row.get_row_kind() is RowKind.INSERT for row in rows):
        return Rows(batch)
    import numpy as np

    return Rows(batch, np.array([row.get_row_kind().value for row in rows], np.uint8))


class _Writer(SinkWriter[Rows]):
    def __init__(self, columns: Schema) -> None:
        self._columns = columns
        self._rows: list[Row] = []

    def write(self, element: Rows, context: SinkWriterContext) -> None:
        self._rows += python_rows(element, self._columns)

    def prepare_commit(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return [rows] if rows else []


class _Keeper(Committer[list[Row]]):
    """Keeps the rows in the process of the program."""

    def __init__(self, table: str) -> None:
        self._table = table

    def commit(self, committables: Sequence[list[Row]]) -> None:
        with _lock:
            kept = _results.setdefault(self._table, [])
            for rows in committables:
                kept += rows


class _Sink(Sink[Rows]):
    def __init__(self, table: TableContext) -> None:
        self._table = table.summary
        self._columns = _all_columns(table)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Rows]:
        return _Writer(self._columns)

    def create_committer(self) -> Committer[Any]:
        return _Keeper(self._table)


class ValuesSink(TableSink):
    """Keeps rows for ``results_of``."""

    def __init__(self, table: TableContext, kinds: frozenset[RowKind]) -> None:
        self._table = table
        self.kinds = kinds
        self.keys = table.primary_key

    def stream(self) -> Sink[Rows]:
        return _Sink(self._table)


class ValuesFactory(TableFactory):
    """``'data-id'``: of ``register_values``; ``'changelog-mode'`` 'I', 'I,UA,D' or 'I,UB,UA,D': what the source gives;
    ``'sink-changelog-mode'``: what the sink takes (default: everything)."""

    identifier = "values"
    optional = ("data-id", "changelog-mode", "sink-changelog-mode", "bounded", "batch-size")

    def source(self, table: TableContext) -> TableSource:
        data_id = table.options.get("data-id", table.path[2])
        with _lock:
            rows = _data.get(data_id)
        if rows is None:
            raise ValueError(f"table {table.summary}: there are no values '{data_id}': register_values() comes first")
        size = int(table.options.get("batch-size", "8192"))
        columns = _all_columns(table)
        parts = [rows_of(rows[start : start + size], columns) for start in range(0, len(rows), size)]
        return ValuesSource(parts, _mode(table, "changelog-mode", "I"))

    def sink(self, table: TableContext) -> TableSink:
        return ValuesSink(table, _mode(table, "sink-changelog-mode", "I,UB,UA,D"))


def _all_columns(table: TableContext) -> Schema:
    """Physical columns, then those of metadata: rows have a value for each, whatever its key says."""
    return (*table.columns, *(Field(name, kind) for name, _, kind in table.metadata))


def _mode(table: TableContext, option: str, default: str) -> frozenset[RowKind]:
    given = table.options.get(option, default).replace(" ", "").upper()
    if given not in _MODES:
        raise ValueError(f"table {table.summary}: '{option}' is one of {', '.join(_MODES)}, not '{given}'")
    return _MODES[given]
