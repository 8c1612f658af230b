"""``'connector' = 'jdbc'``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.jdbc.changes import RowChanges
from millrace.connectors.jdbc.dialects.target import TableShape
from millrace.connectors.jdbc.lookup import JdbcLookup
from millrace.connectors.jdbc.pushed import conditions
from millrace.connectors.jdbc.scan import JdbcRowsSource, Query
from millrace.connectors.jdbc.sink import JdbcExactlyOnceSink
from millrace.connectors.jdbc.two_phase import two_phase_sink
from millrace.connectors.stores.buffered import BufferedSink
from millrace.connectors.tables.jdbc.changer import JdbcChanger
from millrace.connectors.tables.jdbc.options import COMMON, SCAN, SINK, JdbcOptions
from millrace.connectors.tables.stores.options import LOOKUP
from millrace.connectors.tables.stores.tables import looked_up, no_metadata
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import (
    INSERT_ONLY,
    UPSERT,
    LookupTableSource,
    TableChanger,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.util.exceptions import TableException


class JdbcFactory(TableFactory):
    identifier = "jdbc"
    required = ("url", "table-name")
    optional = (*COMMON, *SCAN, *LOOKUP, *SINK)

    def source(self, table: TableContext) -> TableSource:
        return JdbcTableSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        options = JdbcOptions(table)
        return looked_up(
            self,
            table,
            key,
            lambda: JdbcLookup(options.database, options.name, table.columns, key, table.options, options.asking),
        )

    def sink(self, table: TableContext) -> TableSink:
        return JdbcTableSink(table)

    def changer(self, table: TableContext) -> TableChanger:
        return JdbcChanger(table)


class JdbcTableSource(TableSource):
    """Reads of the columns that are wanted the rows that pass those filters that the database understands."""

    def __init__(self, table: TableContext) -> None:
        no_metadata(table)
        self._columns = table.columns
        self._options = JdbcOptions(table)
        self._partitions = self._options.partitions
        self.uses_filters = self._options.pushes

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        options = self._options
        wanted = tuple(self._columns[place] for place in columns)
        passed = conditions(filters, self._columns, options.database.dialect) if self.uses_filters else ()
        return JdbcRowsSource(options.database, Query(options.name, wanted, passed, options.fetch), self._partitions)


class JdbcTableSink(TableSink):
    """Appends to a table without PRIMARY KEY, and keeps one row per key of one that has it."""

    def __init__(self, table: TableContext) -> None:
        no_metadata(table)
        options = JdbcOptions(table)
        self._options = options
        self.keys = table.primary_key
        self.kinds = UPSERT if table.primary_key else INSERT_ONLY
        self.parallelism = options.parallelism
        shape = TableShape(options.name, tuple(column.name for column in table.columns), table.primary_key)
        self._changes = RowChanges(options.database.dialect, shape, tuple(column.type for column in table.columns))
        self._way, self._buffering = options.exactly_once, options.buffering
        if self._way == "two-phase" and table.primary_key:
            raise TableException(
                f"table {table.summary}: 'sink.exactly-once' = 'two-phase' is for tables without PRIMARY KEY: a "
                f"prepared transaction locks its rows, and the next one that changes the same key would wait for it. "
                f"'marks' is exactly once for these"
            )

    def stream(self) -> Sink[Rows]:
        options = self._options
        if self._way == "marks":
            return JdbcExactlyOnceSink(options.database, self._changes, options.log_directory, options.commit_table)
        if self._way == "two-phase":
            return two_phase_sink(options.database, self._changes, options.commit_table)
        return BufferedSink(options.database, self._changes, self._buffering, len)
