"""``'connector' = 'mongodb'``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.mongodb.changes import MongoChanges
from millrace.connectors.mongodb.connection import Collection
from millrace.connectors.mongodb.lookup import MongoLookup
from millrace.connectors.mongodb.pushed import conditions
from millrace.connectors.mongodb.scan import MongoRowsSource, Reading
from millrace.connectors.mongodb.splitting import MEGABYTE, STRATEGIES, Splitting
from millrace.connectors.mongodb.values import problem
from millrace.connectors.stores.buffered import BufferedSink, Buffering
from millrace.connectors.tables.stores.options import LOOKUP, SINK, StoreOptions
from millrace.connectors.tables.stores.tables import looked_up, no_metadata
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import (
    INSERT_ONLY,
    UPSERT,
    LookupTableSource,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.util.exceptions import TableException

SCAN = (
    "scan.fetch-size",
    "scan.cursor.no-timeout",
    "scan.partition.strategy",
    "scan.partition.size",
    "scan.partition.samples",
    "scan.partition.record-size",
    "scan.parallelism",
    "filter.handling.policy",
)
WRITING = (
    "sink.retry.interval",
    "sink.delivery-guarantee",
    "sink.ordered-writes",
    "ordered-writes",
    "sink.bypass-document-validation",
)
BUFFERING = Buffering(max_rows=1000)


class MongoFactory(TableFactory):
    identifier = "mongodb"
    required = ("uri", "database", "collection")
    optional = (*SCAN, *LOOKUP, "lookup.retry.interval", *SINK, *WRITING)

    def source(self, table: TableContext) -> TableSource:
        return MongoTableSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        collection, options = _opened(table)
        return looked_up(
            self,
            table,
            key,
            lambda: MongoLookup(collection, table.columns, key, table.options, options.asking),
        )

    def sink(self, table: TableContext) -> TableSink:
        return MongoTableSink(table)


class MongoTableSource(TableSource):
    """Reads the fields that are wanted of the documents that pass those filters that MongoDB understands."""

    def __init__(self, table: TableContext) -> None:
        self._columns = table.columns
        self._collection, options = _opened(table)
        strategy = options.given.get("scan.partition.strategy", "default").lower().replace("_", "-")
        if strategy not in STRATEGIES:
            raise options.problem("scan.partition.strategy", f"is one of {', '.join(STRATEGIES)}")
        self._splitting = Splitting(
            strategy,
            max(1, options.size("scan.partition.size", 64 * MEGABYTE)),
            max(1, options.not_negative("scan.partition.samples", 10)),
            options.size("scan.partition.record-size", 0) or None,
        )
        self._fetch = options.not_negative("scan.fetch-size", 2048) or 2048
        self._no_timeout = "scan.cursor.no-timeout" not in options.given or options.flag("scan.cursor.no-timeout")
        self.uses_filters = options.one_of("filter.handling.policy", "always", ("always", "never")) == "always"

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        wanted = tuple(self._columns[place] for place in columns)
        passed = conditions(filters, self._columns) if self.uses_filters else []
        names = tuple(column.name for column in wanted)
        reading = Reading(names, passed, self._fetch, self._no_timeout, splitting=self._splitting)
        return MongoRowsSource(self._collection, wanted, reading)


class MongoTableSink(TableSink):
    """Inserts documents, or keeps one for each key of a table with PRIMARY KEY."""

    def __init__(self, table: TableContext) -> None:
        self._collection, options = _opened(table)
        self.keys = table.primary_key
        self.kinds = UPSERT if table.primary_key else INSERT_ONLY
        self.parallelism = options.parallelism
        if table.primary_key and "_id" not in table.primary_key and any(each.name == "_id" for each in table.columns):
            raise TableException(
                f"table {table.summary}: the PRIMARY KEY becomes the _id of documents, so a column '_id' must be the "
                f"PRIMARY KEY, or have another name"
            )
        options.one_of("sink.delivery-guarantee", "at-least-once", ("at-least-once", "none"))
        ordered = next((name for name in ("sink.ordered-writes", "ordered-writes") if name in options.given), None)
        self._changes = MongoChanges(
            self._collection,
            table.columns,
            table.primary_key,
            table.partition_keys,
            ordered is None or options.flag(ordered),
            options.flag("sink.bypass-document-validation"),
        )
        self._buffering = options.buffering(BUFFERING)

    def stream(self) -> Sink[Rows]:
        return BufferedSink(self._collection, self._changes, self._buffering, len)


def _opened(table: TableContext) -> tuple[Collection, StoreOptions]:
    no_metadata(table)
    wrong = problem(table.columns)
    if wrong is not None:
        raise TableException(f"table {table.summary}, {wrong}")
    options = StoreOptions(table)
    given = options.given
    if not given["uri"].startswith(("mongodb://", "mongodb+srv://")):
        raise TableException(f"table {table.summary}: 'uri' begins with mongodb:// or mongodb+srv://")
    return Collection(given["uri"], given["database"], given["collection"]), options
