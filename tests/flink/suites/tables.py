"""Tables of the programs of Flink's tests as a connector: ``WITH ('connector' = 'flink-values', 'id' = ...)``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.flink.suites.reading import python_value

from millrace.common.types import Row, RowKind
from millrace.connectors.tables.values import ValuesSink, ValuesSource, rows_of
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
from millrace.table.sessions.factories import register_factory

KINDS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
DECLARED: dict[str, list[list[Any]]] = {}
"""changes by the id of a table: kinds and recorded values"""


def kinds_of(text: str) -> frozenset[RowKind]:
    """The kinds of a ``changelog-mode``."""
    given = {each.strip() for each in text.split(",")}
    return ALL_KINDS if "UB" in given or given == {"I", "D"} else UPSERT if given - {"I"} else INSERT_ONLY


class LookedUp(LookupTableSource):
    """The rows of a table that others look into."""

    def __init__(self, rows: Sequence[Row], key: Sequence[int]) -> None:
        self._rows = rows
        self._key = key

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        for key in keys:
            yield [tuple(row) for row in self._rows if tuple(row[at] for at in self._key) == tuple(key)]


class FlinkValuesFactory(TableFactory):
    """Each row is a batch of its own."""

    identifier = "flink-values"
    required = ("id",)
    optional = ("changelog-mode", "sink-changelog-mode-enforced", "sink-insert-only")

    def source(self, table: TableContext) -> TableSource:
        rows = _rows(table)
        parts = [rows_of([row], table.columns) for row in rows]
        return ValuesSource(parts, kinds_of(table.options.get("changelog-mode", "I")))

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        return LookedUp(_left(table), key)

    def sink(self, table: TableContext) -> TableSink:
        return ValuesSink(table, kinds_of(table.options.get("sink-changelog-mode-enforced", "I,UB,UA,D")))


def _rows(table: TableContext) -> list[Row]:
    found = []
    for kind, cells in DECLARED.get(table.options["id"], []):
        row = Row(*(python_value(cell, column.type) for cell, column in zip(cells, table.columns)))
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
