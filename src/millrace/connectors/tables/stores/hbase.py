"""``'connector' = 'hbase-2.2'`` and its like, for all versions the same: HBase's Thrift server is what they talk to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.hbase.changes import HBaseChanges
from millrace.connectors.hbase.connection import PORT, PROTOCOLS, TRANSPORTS, Gateway
from millrace.connectors.hbase.layout import Layout
from millrace.connectors.hbase.lookup import HBaseLookup
from millrace.connectors.hbase.scan import HBaseRowsSource
from millrace.connectors.stores.buffered import BufferedSink, Buffering
from millrace.connectors.tables.stores.options import LOOKUP, SINK, StoreOptions
from millrace.connectors.tables.stores.tables import looked_up, no_metadata
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import (
    UPSERT,
    LookupTableSource,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.util.exceptions import TableException

THRIFT = ("thrift.address", "thrift.transport", "thrift.protocol", "thrift.timeout")
COMMON = (*THRIFT, "zookeeper.znode.parent", "null-string-literal", "properties.")
BUFFERING = Buffering(max_rows=1_000, max_bytes=2 << 20)


class HBaseFactory(TableFactory):
    identifier = "hbase-2.2"
    required = ("table-name", "zookeeper.quorum")
    optional = (*COMMON, *LOOKUP, "lookup.async", *SINK, "sink.buffer-flush.max-size", "sink.ignore-null-value")

    def source(self, table: TableContext) -> TableSource:
        return HBaseTableSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        gateway, layout, options = _opened(table)
        if list(key) != [layout.key]:
            names = ", ".join(table.columns[place].name for place in key)
            raise TableException(
                f"table {table.summary}: HBase is looked up by its row key '{table.columns[layout.key].name}', not by "
                f"{names}"
            )
        return looked_up(self, table, key, lambda: HBaseLookup(gateway, layout, table.options, options.asking))

    def sink(self, table: TableContext) -> TableSink:
        return HBaseTableSink(table)


class HBaseTableSource(TableSource):
    """Reads the families that are wanted."""

    def __init__(self, table: TableContext) -> None:
        self._gateway, self._layout, _ = _opened(table)

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return HBaseRowsSource(self._gateway, self._layout, columns)


class HBaseTableSink(TableSink):
    """Puts rows by their key, whether it is declared as PRIMARY KEY or not, and deletes them."""

    kinds = UPSERT

    def __init__(self, table: TableContext) -> None:
        self._gateway, layout, options = _opened(table)
        if not layout.cells:
            raise TableException(f"table {table.summary}: HBase has no rows without cells: declare a family as ROW")
        self.keys = (table.columns[layout.key].name,)
        self.parallelism = options.parallelism
        self._changes = HBaseChanges(self._gateway, layout, options.flag("sink.ignore-null-value"))
        self._buffering = options.buffering(BUFFERING)

    def stream(self) -> Sink[Rows]:
        return BufferedSink(self._gateway, self._changes, self._buffering, len, _bytes)


def _bytes(rows: Rows) -> int:
    return int(rows.batch.nbytes)


def _opened(table: TableContext) -> tuple[Gateway, Layout, StoreOptions]:
    no_metadata(table)
    options = StoreOptions(table)
    given = options.given
    _no_security(table)
    try:
        layout = Layout.of(table.columns, given.get("null-string-literal", "null"))
    except ValueError as error:
        raise TableException(f"table {table.summary}: {error}") from None
    key = table.columns[layout.key].name
    if table.primary_key not in ((), (key,)):
        raise TableException(f"table {table.summary}: the PRIMARY KEY of a table of HBase is its row key, '{key}'")
    host, port = _address(options)
    gateway = Gateway(
        host,
        port,
        given["table-name"],
        options.one_of("thrift.transport", "buffered", TRANSPORTS),
        options.one_of("thrift.protocol", "binary", PROTOCOLS),
        options.seconds("thrift.timeout", 60.0),
    )
    return gateway, layout, options


def _address(options: StoreOptions) -> tuple[str, int]:
    """Of the Thrift server: as said, else the usual port of the first host of the quorum."""
    given = options.given.get("thrift.address")
    if given is None:
        return options.given["zookeeper.quorum"].split(",")[0].partition(":")[0].strip() or "localhost", PORT
    host, _, port = given.rpartition(":")
    if not host or not port.isdigit():
        raise options.problem("thrift.address", "is 'host:port'")
    return host, int(port)


def _no_security(table: TableContext) -> None:
    name = "properties.hbase.security.authentication"
    if table.options.get(name, "simple").lower() != "simple":
        raise TableException(
            f"table {table.summary}: '{name}' = '{table.options[name]}' is not possible: Millrace reaches HBase "
            f"through its Thrift server, without Kerberos. Let the Thrift server log in, and guard its port"
        )
