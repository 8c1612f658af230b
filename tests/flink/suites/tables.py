"""Tables of the programs of Flink's tests as a connector: ``WITH ('connector' = 'flink-values', 'id' = ...)``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from tests.flink.suites.reading import python_value

from millrace.common.types import Row, RowKind
from millrace.connectors.tables.values_table import ValuesSink, ValuesSource, rows_of
from millrace.relational.nodes import Field, Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, python_rows, record_batch
from millrace.relational.sources import (
    ALL_KINDS,
    INSERT_ONLY,
    UPSERT,
    LookupTableSource,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.table.sessions.table_info import register_factory

KINDS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
DECLARED: dict[str, list[list[Any]]] = {}
"""changes by the id of a table: kinds and recorded values"""
GIVEN: dict[str, tuple[Any, list[list[Any]], TableSource]] = {}
"""the source of a table that was read last, with its rows: a query that names it asks for it more than once"""
WRITTEN: dict[str, list[Row]] = {}
"""in batch mode: rows by the name of a table"""


def kinds_of(text: str) -> frozenset[RowKind]:
    """The kinds of a ``changelog-mode``."""
    given = {each.strip() for each in text.split(",")}
    return ALL_KINDS if "UB" in given or given == {"I", "D"} else UPSERT if given - {"I"} else INSERT_ONLY


@dataclass
class Halves:
    """A program that stops for a while: its first half ends after so many rows of its source."""

    first: int = 0
    """0: it does not stop"""
    all: int = 0
    """how many rows its source has"""
    second: bool = False
    """whether it goes on"""
    waits: bool = False
    """whether its source stays open for a while after its last row: processing time goes on"""
    looked_up: dict[str, tuple[list[list[Any]], list[list[Any]]]] = field(default_factory=dict)
    """what tables that are looked into have in each half, by their ids"""

    def end(self) -> None:
        self.first, self.all, self.second, self.waits = 0, 0, False, False
        self.looked_up.clear()


HALVES = Halves()


class LookedUp(LookupTableSource):
    """The rows of a table that others look into: of a program that stops, those of a half."""

    def __init__(self, rows: Sequence[Row], halves: tuple[Sequence[Row], Sequence[Row]], key: Sequence[int]) -> None:
        self._rows = rows
        self._halves = halves
        self._key = key

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        rows = self._halves[HALVES.second] if HALVES.first else self._rows
        for key in keys:
            yield [tuple(row) for row in rows if tuple(row[at] for at in self._key) == tuple(key)]


class Given(ValuesSource):
    """The rows of a table; in batch mode they go to Spark as they are, without a process of Python."""

    def __init__(self, rows: Sequence[Row], columns: Schema, kinds: frozenset[RowKind], batches: int) -> None:
        parts = [*_parts(rows, batches or len(rows)), *([[]] if HALVES.waits else [])]
        super().__init__([rows_of(part, columns) for part in parts], kinds)
        self._all = rows_of(rows, columns)

    def frame(self, session: Any, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Any:
        found = record_batch([self._all.columns[at] for at in columns], len(self._all))
        return session.createDataFrame(pa.Table.from_batches([found])) if columns else None


def _parts(rows: Sequence[Row], count: int) -> list[Sequence[Row]]:
    """The rows in so many parts, or one for each where there are fewer."""
    size = max(1, -(-len(rows) // max(count, 1)))
    return [rows[at : at + size] for at in range(0, len(rows), size)]


class Written(ValuesSink):
    """Keeps the changes for ``results_of``; in batch mode the rows in ``WRITTEN``."""

    writes_frames = True

    def __init__(self, table: TableContext, kinds: frozenset[RowKind]) -> None:
        super().__init__(replace(table, columns=_all_columns(table)), kinds)
        self._summary, self._columns = table.summary, _all_columns(table)

    def write_frame(self, frame: Any, overwrite: bool, partition: Mapping[str, Any]) -> None:
        from millrace.spark.tables.child_session import fetched
        from millrace.spark.tables.steps.spark_types import as_internal

        found = fetched(frame)
        arrays = [column.combine_chunks() for column in found.columns]
        cells = [as_internal(array, column.type) for array, column in zip(arrays, self._columns)]
        if overwrite:
            WRITTEN.pop(self._summary, None)
        WRITTEN.setdefault(self._summary, []).extend(
            python_rows(Rows(record_batch(cells, found.num_rows)), self._columns)
        )


class FlinkValuesFactory(TableFactory):
    """Each row is a batch of its own, or there are as many batches as ``batches`` says."""

    identifier = "flink-values"
    required = ("id",)
    optional = ("changelog-mode", "sink-changelog-mode-enforced", "sink-insert-only", "batches")

    def source(self, table: TableContext) -> TableSource:
        place, columns = table.options["id"], _all_columns(table)
        kinds = kinds_of(table.options.get("changelog-mode", "I"))
        rows, batches = DECLARED.get(place, []), int(table.options.get("batches", 0))
        key = (id(rows), columns, kinds, batches, HALVES.waits)
        if place not in GIVEN or GIVEN[place][0] != key:
            GIVEN[place] = key, rows, Given(_made(rows, table), columns, kinds, batches)
        return GIVEN[place][2]

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        before, after = HALVES.looked_up.get(table.options["id"], ([], []))
        return LookedUp(_left(table), (_made(before, table), _made(after, table)), key)

    def sink(self, table: TableContext) -> TableSink:
        enforced = table.options.get("sink-changelog-mode-enforced")
        if table.options.get("sink-insert-only") == "true":
            return Written(table, INSERT_ONLY)
        return Written(table, kinds_of(enforced or ("I,UA,D" if table.primary_key else "I,UB,UA,D")))


def _all_columns(table: TableContext) -> Schema:
    """The columns of the rows, then those of metadata, as the tests write them."""
    return (*table.columns, *(Field(name, kind) for name, _, kind in table.metadata))


def _rows(table: TableContext) -> list[Row]:
    return _made(DECLARED.get(table.options["id"], []), table)


def _made(changes: Sequence[list[Any]], table: TableContext) -> list[Row]:
    found = []
    for kind, cells in changes:
        row = Row(*(python_value(cell, column.type) for cell, column in zip(cells, _all_columns(table))))
        row.set_row_kind(KINDS[kind])
        found.append(row)
    return found


def _left(table: TableContext) -> list[Row]:
    """The rows that changes leave: by the primary key, if there is one."""
    names = [column.name for column in table.columns]
    places = [names.index(each) for each in table.primary_key] or list(range(len(names)))
    found: list[Row] = []
    for row in _rows(table):
        if row.get_row_kind() is not RowKind.INSERT:
            found = [each for each in found if [each[at] for at in places] != [row[at] for at in places]]
        if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            found.append(row)
    return found


register_factory(FlinkValuesFactory)
