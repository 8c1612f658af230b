"""``'connector' = 'cassandra'``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.cassandra.connection import PORT, CassandraCluster
from millrace.connectors.cassandra.tables import (
    CassandraChanges,
    CassandraLookup,
    CassandraRowsSource,
    CassandraTable,
)
from millrace.connectors.cassandra.values import problem
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

LEVELS = ("any", "one", "two", "three", "quorum", "all", "local_quorum", "each_quorum", "local_one")


class CassandraFactory(TableFactory):
    identifier = "cassandra"
    required = ("hosts", "keyspace", "table-name")
    optional = (
        "port",
        "username",
        "password",
        "datacenter",
        "consistency",
        "connection.timeout",
        "scan.partition.num",
        "scan.fetch-size",
        *LOOKUP,
        *SINK,
        "sink.ignore-null-value",
    )

    def source(self, table: TableContext) -> TableSource:
        return CassandraTableSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        there, options = _opened(table)
        return looked_up(
            self, table, key, lambda: CassandraLookup(there, table.columns, key, table.options, options.asking)
        )

    def sink(self, table: TableContext) -> TableSink:
        return CassandraTableSink(table)


class CassandraTableSource(TableSource):
    """Reads the columns that are wanted."""

    def __init__(self, table: TableContext) -> None:
        self._columns = table.columns
        self._table, options = _opened(table)
        self._number = options.not_negative("scan.partition.num", 1) or 1
        self._fetch = options.not_negative("scan.fetch-size", 5_000) or 5_000

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        wanted = tuple(self._columns[place] for place in columns)
        return CassandraRowsSource(self._table, wanted, self._number, self._fetch)


class CassandraTableSink(TableSink):
    """Writes rows; with a PRIMARY KEY, which is that of Cassandra's table, it deletes them as well."""

    def __init__(self, table: TableContext) -> None:
        there, options = _opened(table)
        self.keys = table.primary_key
        self.kinds = UPSERT if table.primary_key else INSERT_ONLY
        self.parallelism = options.parallelism
        self._cluster = there.cluster
        self._changes = CassandraChanges(
            there, table.columns, table.primary_key, options.flag("sink.ignore-null-value")
        )
        self._buffering = options.buffering(Buffering(max_rows=5_000))

    def stream(self) -> Sink[Rows]:
        return BufferedSink(self._cluster, self._changes, self._buffering, len)


def _opened(table: TableContext) -> tuple[CassandraTable, StoreOptions]:
    no_metadata(table)
    wrong = problem(table.columns)
    if wrong is not None:
        raise TableException(f"table {table.summary}, {wrong}")
    options = StoreOptions(table)
    given = options.given
    if "password" in given and "username" not in given:
        raise TableException(f"table {table.summary}: 'password' needs 'username'")
    hosts = tuple(host.strip() for host in given["hosts"].split(",") if host.strip())
    if not hosts or any(":" in host for host in hosts):
        raise options.problem("hosts", "is 'host1,host2'; the port is an option of its own")
    cluster = CassandraCluster(
        hosts,
        options.not_negative("port", PORT),
        given.get("username"),
        given.get("password"),
        given.get("datacenter"),
        options.one_of("consistency", "local_one", LEVELS).upper(),
        options.seconds("connection.timeout", 30.0),
    )
    return CassandraTable(cluster, given["keyspace"], given["table-name"]), options
