"""Converts between a DataStream of single elements and batches of rows."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.time import Instant
from millrace.common.types import Row, RowKind
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, python_rows, record_batch
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType, LocalZonedTimestampType
from millrace.relational.values import to_arrow
from millrace.runtime.elements import Chunk
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.event_time import millis

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


@dataclass(frozen=True, kw_only=True)
class FromElements(TableConfig):
    """The description of a ``StreamScan`` node: elements become rows. Watermarks pass unchanged."""

    columns: Schema
    """the elements' fields, or one column for elements without fields"""
    single: bool = False
    """whether an element is the value of the only column"""
    changelog: bool = False
    """whether the kinds of ``Row`` elements are used; else all rows are insertions"""
    timestamps: bool = False
    """whether there is a last column with the timestamp of each element, TIMESTAMP_LTZ(3), NULL if it has none"""

    def operator(self) -> FromElementsOperator:
        return FromElementsOperator(self)


class FromElementsOperator(TableOperator[FromElements]):
    def process(self, chunk: Chunk, input: int) -> None:
        try:
            self.emit_rows(self._rows(chunk))
        except Exception as error:
            raise self.context.error(error, during=" to make rows of the elements of a stream") from error

    def _rows(self, chunk: Chunk) -> Rows:
        config, values = self.config, chunk.values
        columns = columns_of(values, config.columns, config.single)
        if config.timestamps:
            times = chunk.timestamps or [None] * len(values)
            micros = pa.array([None if time is None else time * 1000 for time in times], pa.int64())
            columns.append(micros.view(arrow_type(LocalZonedTimestampType(3))))
        kinds = None
        if config.changelog:
            kinds = np.array([row.get_row_kind().value if isinstance(row, Row) else 0 for row in values], np.uint8)
        return Rows(record_batch(columns, len(values)), kinds if kinds is not None and kinds.any() else None)


def columns_of(values: Sequence[Any], columns: Schema, single: bool) -> list[pa.Array]:
    """Elements of a stream, at least one, as columns. ``single``: each element is the value of the only column."""
    if single:
        return [_column(values, columns[0].type)]
    fields = _fields_of([column.name for column in columns])
    cells = zip(*map(fields, values), strict=True)
    return [_column(each, column.type) for each, column in zip(cells, columns, strict=True)]


def some_columns_of(values: Sequence[Any], columns: Schema, single: bool, wanted: Sequence[int]) -> list[Any]:
    """As ``columns_of``, but only the columns with the indexes ``wanted``; None takes the place of the others."""
    found: list[Any] = [None] * len(columns)
    cells = None if single else _plain_cells(values, [column.name for column in columns])
    if cells is None:
        arrays = columns_of(values, columns, single)
        for place in wanted:
            found[place] = arrays[place]
        return found
    for place in wanted:
        found[place] = _column([each[place] for each in cells], columns[place].type)
    return found


def _plain_cells(values: Sequence[Any], names: list[str]) -> Sequence[Any] | None:
    """The fields of all elements by index, if all are rows with exactly these names, or tuples; else None."""
    first = values[0]
    if first.__class__ is Row:
        return [row._values for row in values] if all(_is_row_of(names, row) for row in values) else None
    if first.__class__ is tuple and all(row.__class__ is tuple and len(row) == len(names) for row in values):
        return values
    return None


def _is_row_of(names: list[str], row: Any) -> bool:
    return row.__class__ is Row and row._fields == names


def _fields_of(names: list[str]) -> Callable[[Any], Sequence[Any]]:
    """A function that gives the fields of an element of any form."""

    def fields(element: Any) -> Sequence[Any]:
        if isinstance(element, Row):
            return element.get_fields_by_names(names)
        if isinstance(element, dict):
            return [element.get(name) for name in names]
        if isinstance(element, (tuple, list)):
            return element
        if dataclasses.is_dataclass(element):
            return [getattr(element, name) for name in names]
        raise TypeError(f"a row with the columns {', '.join(names)} cannot be made of {element!r}")

    return fields


def _column(values: Sequence[Any], data_type: DataType) -> pa.Array:
    if isinstance(data_type, LocalZonedTimestampType):
        values = [_moment(value) if isinstance(value, Instant) else value for value in values]
    return to_arrow(list(values), data_type)


def _moment(instant: Instant) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=instant.seconds, microseconds=instant.nanos // 1000)


@dataclass(frozen=True, kw_only=True)
class ToElements(TableConfig):
    """Converts a table to a DataStream: rows become ``Row`` elements, with their kinds."""

    columns: Schema
    time: int | None = None
    """index of the event-time column, which becomes the timestamp of the elements; None: no timestamps"""
    append_only: bool = False
    """whether changes other than insertions are an error"""
    pairs: bool = False
    """whether elements are (True, row) for an added row and (False, row) for a retracted one"""

    def operator(self) -> ToElementsOperator:
        return ToElementsOperator(self)


class ToElementsOperator(TableOperator[ToElements]):
    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        if config.append_only and rows.kinds is not None and rows.kinds.any():
            raise ValueError("the table has changes, not only insertions: use to_changelog_stream()")
        elements: list[Any] = python_rows(rows, config.columns)
        if config.pairs:
            for row in elements:
                row.set_row_kind(RowKind.INSERT)
            elements = list(zip(rows.adds().tolist(), elements))
        times = None if config.time is None else millis(rows.batch.column(config.time)).tolist()
        self.emit(elements, times)
