"""``'connector' = 'jdbc'``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.jdbc.aggregates import JdbcAggregatesSource, computed, exact, typed_alike, used
from millrace.connectors.jdbc.changes import RowChanges
from millrace.connectors.jdbc.dialects.target import TableShape
from millrace.connectors.jdbc.lookup import JdbcLookup
from millrace.connectors.jdbc.pushed import conditions
from millrace.connectors.jdbc.scan import JdbcRowsSource, Query
from millrace.connectors.jdbc.sink import JdbcExactlyOnceSink
from millrace.connectors.jdbc.two_phase import two_phase_sink
from millrace.connectors.jdbc.url import is_known
from millrace.connectors.stores.buffered import BufferedSink
from millrace.connectors.tables.jdbc.changer import JdbcChanger
from millrace.connectors.tables.jdbc.options import COMMON, SCAN, SINK, JdbcOptions
from millrace.connectors.tables.stores.options import LOOKUP
from millrace.connectors.tables.stores.tables import looked_up, no_metadata
from millrace.relational.rex import Rex, refs
from millrace.relational.rows import Rows
from millrace.relational.sources import (
    INSERT_ONLY,
    UPSERT,
    Aggregation,
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

    def stands_in(self, options: Mapping[str, str]) -> str | None:
        url = options.get("url", "")
        return "jdbc-by-spark" if url.lower().startswith("jdbc:") and not is_known(url) else None

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

    def __init__(self, table: TableContext, limit: int | None = None) -> None:
        no_metadata(table)
        self._context, self._limit = table, limit
        self._columns = table.columns
        self._options = JdbcOptions(table)
        self._partitions = self._options.partitions
        self.uses_filters = self._options.pushes

    @property
    def pushed(self) -> tuple[str, ...]:
        return () if self._limit is None else (f"limit={self._limit}",)

    def limited(self, count: int, filters: Sequence[Rex]) -> TableSource | None:
        read = [self._columns[each] for condition in filters for each in refs(condition)]
        database, name = self._options.database, self._options.name
        if not self._options.pushes_more or exact(filters, self._columns, database) is None:
            return None
        # No table: a scan with a limit is not the one of somebody who reads everything.
        return JdbcTableSource(self._context, count) if typed_alike(database, name, read) else None

    def aggregated(self, asked: Aggregation) -> TableSource | None:
        options, columns = self._options, self._columns
        if not options.pushes_more or self._partitions is not None or self._limit is not None:
            return None
        passed = exact(asked.filters, columns, options.database)
        made = computed(asked, columns, options.database)
        if passed is None or made is None or not typed_alike(options.database, options.name, used(asked, columns)):
            return None
        texts = tuple(text for column in made for text, _ in column.asked)
        source = JdbcAggregatesSource(options.database, options.name, made, len(asked.keys), passed)
        return JdbcAggregates(source, texts)

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        options = self._options
        wanted = tuple(self._columns[place] for place in columns)
        passed = conditions(filters, self._columns, options.database.dialect) if self.uses_filters else ()
        query = Query(options.name, wanted, passed, options.fetch, self._limit)
        return JdbcRowsSource(options.database, query, self._partitions)


class JdbcAggregates(TableSource):
    """Reads groups that the database has made."""

    def __init__(self, source: JdbcAggregatesSource, texts: tuple[str, ...]) -> None:
        self._source, self._texts = source, texts

    @property
    def pushed(self) -> tuple[str, ...]:
        return (f"aggregates=[{', '.join(self._texts)}]",)

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return self._source


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
