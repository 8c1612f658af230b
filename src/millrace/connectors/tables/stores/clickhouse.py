"""``'connector' = 'clickhouse'``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.clickhouse.changes import ClickHouseChanges, Updates
from millrace.connectors.clickhouse.connection import ClickHouseTable, address
from millrace.connectors.clickhouse.keys import can_be_key
from millrace.connectors.clickhouse.lookup import ClickHouseLookup
from millrace.connectors.clickhouse.scan import ClickHouseRowsSource
from millrace.connectors.clickhouse.types import problem
from millrace.connectors.stores.buffered import BufferedSink, Buffering
from millrace.connectors.tables.stores.options import LOOKUP, PARTITION, StoreOptions
from millrace.connectors.tables.stores.tables import looked_up, no_metadata
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
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
from millrace.util.exceptions import TableException

SINK = (
    "sink.batch-size",
    "sink.flush-interval",
    "sink.max-retries",
    "sink.update-strategy",
    "sink.ignore-delete",
    "sink.parallelism",
)
_ONE_SERVER = ("use-local", "sink.sharding.use-table-definition", "sink.partition-strategy", "sink.partition-key")
BUFFERING = Buffering(max_rows=1_000)
_PREFIX = "properties."


class ClickHouseFactory(TableFactory):
    identifier = "clickhouse"
    required = ("url", "table-name")
    optional = (
        "database-name",
        "username",
        "password",
        "connection.timeout",
        _PREFIX,
        *PARTITION,
        *LOOKUP,
        *SINK,
        *_ONE_SERVER,
    )

    def source(self, table: TableContext) -> TableSource:
        return ClickHouseTableSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        there, options = _opened(table)
        _check_keys(table, [table.columns[place].name for place in key], "look-up by")
        return looked_up(
            self,
            table,
            key,
            lambda: ClickHouseLookup(there, table.columns, key, table.options, options.asking),
        )

    def sink(self, table: TableContext) -> TableSink:
        return ClickHouseTableSink(table)


class ClickHouseTableSource(TableSource):
    """Reads the columns that are wanted."""

    uses_filters = True

    def __init__(self, table: TableContext) -> None:
        self._columns = table.columns
        self._table, options = _opened(table)
        self._partitions = options.partitions

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return ClickHouseRowsSource(self._table, self._columns, columns, filters, self._partitions)


class ClickHouseTableSink(TableSink):
    """Inserts rows; with a PRIMARY KEY it replaces and deletes them as well."""

    def __init__(self, table: TableContext) -> None:
        self._table, options = _opened(table)
        self.keys = table.primary_key
        self.parallelism = options.parallelism
        updates = Updates(
            options.one_of("sink.update-strategy", Updates.UPDATE.value, tuple(each.value for each in Updates))
        )
        # Which rows are new must be told apart from which replace others, to drop these.
        keyed = ALL_KINDS if updates is Updates.DISCARD else UPSERT
        self.kinds = keyed if table.primary_key else INSERT_ONLY
        _check_keys(table, table.primary_key, "PRIMARY KEY")
        self._changes = ClickHouseChanges(
            self._table, table.columns, table.primary_key, updates, options.flag("sink.ignore-delete")
        )
        self._buffering = Buffering(
            options.not_negative("sink.batch-size", BUFFERING.max_rows),
            options.seconds("sink.flush-interval", BUFFERING.interval),
            options.not_negative("sink.max-retries", BUFFERING.retries),
        )

    def stream(self) -> Sink[Rows]:
        return BufferedSink(self._table, self._changes, self._buffering, len)


def _opened(table: TableContext) -> tuple[ClickHouseTable, StoreOptions]:
    no_metadata(table)
    options = StoreOptions(table)
    given = options.given
    for name in _ONE_SERVER:
        if given.get(name, "false").lower() not in ("false", "balanced"):
            raise TableException(
                f"table {table.summary}: '{name}' is not possible: Millrace writes to the one server of 'url', where a "
                f"Distributed table sends rows to their shards itself"
            )
    if "password" in given and "username" not in given:
        raise TableException(f"table {table.summary}: 'password' needs 'username'")
    for column in table.columns:
        wrong = problem(column)
        if wrong is not None:
            raise TableException(f"table {table.summary}, {wrong}")
    try:
        where = address(given["url"])
    except ValueError as error:
        raise TableException(f"table {table.summary}: {error}") from None
    there = ClickHouseTable(
        where,
        given.get("database-name", "default"),
        given["table-name"],
        given.get("username", "default"),
        given.get("password", ""),
        {name[len(_PREFIX) :]: value for name, value in given.items() if name.startswith(_PREFIX)},
        options.seconds("connection.timeout", 60.0),
    )
    return there, options


def _check_keys(table: TableContext, names: Sequence[str], what: str) -> None:
    kinds = {column.name: column.type for column in table.columns}
    wrong = next((name for name in names if not can_be_key(kinds[name])), None)
    if wrong is not None:
        raise TableException(
            f"table {table.summary}: {what} '{wrong}': keys of ClickHouse are whole numbers, texts, dates or BOOLEAN "
            f"here, not {kinds[wrong]}"
        )
