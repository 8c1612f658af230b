"""``'connector' = 'hbase-2.2'`` and its like, for all versions the same: HBase's Thrift server is what they talk to.

A table is read region by region, looked up by one request for many row keys, and written with puts and deletes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.dbapi import Change
from millrace.connectors.hbase.hbase_layout import Layout
from millrace.connectors.stores import (
    BufferedSink,
    Buffering,
    ConnectionFailed,
    Found,
    PartsSource,
    Reachable,
    StoreLookup,
    last_rows,
)
from millrace.connectors.tables.store_table import LOOKUP, SINK, StoreOptions, lookup_source, no_metadata
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, concat, record_batch
from millrace.relational.sources import UPSERT, LookupTableSource, TableContext, TableFactory, TableSink, TableSource
from millrace.relational.values import to_arrow, to_python
from millrace.util.exceptions import TableException

PORT = 9090
TRANSPORTS = ("buffered", "framed")
PROTOCOLS = ("binary", "compact")
_SOON = (
    "NotServingRegion", "RegionTooBusy", "ServerNotRunning", "PleaseHold", "MasterNotRunning", "RegionServerStopped",
    "ConnectionClosing", "NotAllMetaRegionsOnline", "CallTimeout", "ConnectException",
)  # fmt: skip
"""what HBase says while regions move and servers start"""


@dataclass(frozen=True)
class Gateway(Reachable):
    """A table, reached through a Thrift server."""

    host: str
    port: int
    table: str
    """``table`` or ``namespace:table``"""
    transport: str = "buffered"
    protocol: str = "binary"
    timeout: float = 60.0
    """seconds for each answer"""

    def __call__(self) -> Connected:
        """:raises ConnectionFailed: no server is there."""
        return Connected(self)

    @property
    def place(self) -> str:
        """For messages."""
        return f"HBase by Thrift at {self.host}:{self.port}, table {self.table}"

    def is_passing(self, error: BaseException) -> bool:
        from thriftpy2.transport import TTransportException

        if isinstance(error, (TTransportException, OSError, EOFError)):
            return True
        return any(word in error_line(error) for word in _SOON)

    def failed(self, error: BaseException) -> Exception:
        """The error for the user: ``ConnectionFailed`` if a retry may help."""
        text = f"{self.place}: {error_line(error)}"
        return ConnectionFailed(text, True) if self.is_passing(error) else RuntimeError(text)


class Connected:
    """A connection of happybase, and the table in it."""

    def __init__(self, gateway: Gateway) -> None:
        try:
            import happybase
        except ImportError:
            raise ImportError("HBase needs happybase: pip install 'millrace-streaming[hbase]'") from None
        try:
            self.connection: Any = happybase.Connection(
                gateway.host,
                gateway.port,
                timeout=int(gateway.timeout * 1000),
                transport=gateway.transport,
                protocol=gateway.protocol,
            )
        except Exception as error:
            raise ConnectionFailed(f"{gateway.place}: {error_line(error)}", True) from None
        self.table: Any = self.connection.table(gateway.table)

    def close(self) -> None:
        self.connection.close()


def error_line(error: BaseException) -> str:
    """What an error says: of a stack of Java, its first line."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    return re.split(r"\n\s*at |\n", text, maxsplit=1)[0].strip()


def refused(error: BaseException) -> bool:
    """Whether an error comes from the server or the way to it."""
    from thriftpy2.thrift import TException

    return isinstance(error, (TException, OSError, EOFError))


_AT_ONCE = 1_000
"""rows of one request"""
_NEXT_TIME = 0.002
"""seconds. What is put in the millisecond of a deletion, HBase takes for deleted, too"""


@dataclass(frozen=True)
class HBaseChanges(Change[Rows]):
    """Puts the declared cells of each row, or deletes them."""

    gateway: Gateway
    layout: Layout
    ignore_nulls: bool = False

    def apply(self, connection: Connected, elements: Sequence[Rows]) -> None:
        """:raises RuntimeError: HBase refuses; with the table's name."""
        layout = self.layout
        key = layout.columns[layout.key]
        rows = last_rows(concat(elements), (key.name,), (layout.key,), self.gateway.table)
        values = [to_python(values, column.type) for column, values in zip(layout.columns, rows.columns)]
        changes = list(zip(map(layout.key_encoder, values[layout.key]), zip(*values), rows.adds().tolist()))
        try:
            self._write(connection, changes)
        except Exception as error:
            if not refused(error):
                raise
            raise self.gateway.failed(error) from None

    def _write(self, connection: Connected, changes: Sequence[tuple[bytes, Sequence[Any], bool]]) -> None:
        names = [cell.name for cell in self.layout.cells]
        gone = [key for key, _, adds in changes if not adds]
        for begin in range(0, len(gone), _AT_ONCE):
            with connection.table.batch() as batch:
                for key in gone[begin : begin + _AT_ONCE]:
                    batch.delete(key, names)
        here = [(key, row) for key, row, adds in changes if adds]
        for begin in range(0, len(here), _AT_ONCE):
            with connection.table.batch() as batch:
                for key, row in here[begin : begin + _AT_ONCE]:
                    cells = self.layout.cells_of(row, self.ignore_nulls)
                    if cells:
                        batch.put(key, cells)
        if gone:
            time.sleep(_NEXT_TIME)


@dataclass(frozen=True)
class Region:
    """A range of row keys that is still to be read."""

    split_id: str
    start: bytes
    stop: bytes


class HBaseRowsSource(PartsSource[Rows, Region]):
    """Reads the rows that have one of the declared cells, whichever of them are wanted."""

    def __init__(self, gateway: Gateway, layout: Layout, wanted: Sequence[int]) -> None:
        self._gateway = gateway
        self._layout = layout
        self._wanted = tuple(wanted)

    def parts(self) -> list[Region]:
        """:raises RuntimeError: there is no such table, or no server."""
        try:
            with closing(self._gateway()) as connection:
                found = connection.table.regions()
        except Exception as error:
            if not refused(error):
                raise
            raise self._gateway.failed(error) from None
        if not found:
            raise RuntimeError(f"{self._gateway.place}: there is no such table")
        return [Region(str(number), each["start_key"], each["end_key"]) for number, each in enumerate(found)]

    def elements(self, part: Region) -> Iterator[Rows]:
        try:
            with closing(self._gateway()) as connection:
                names = [cell.name for cell in self._layout.cells]
                without_values = all(place == self._layout.key for place in self._wanted)
                found = connection.table.scan(
                    row_start=part.start,
                    row_stop=part.stop,
                    columns=names or None,
                    filter=b"KeyOnlyFilter()" if without_values else None,
                    batch_size=_AT_ONCE,
                )
                while some := list(islice(found, _AT_ONCE)):
                    yield self._rows(some)
        except ValueError as error:
            raise ValueError(f"{self._gateway.place}: {error}") from None
        except Exception as error:
            if not refused(error):
                raise
            raise self._gateway.failed(error) from None

    def _rows(self, found: Sequence[tuple[bytes, Any]]) -> Rows:
        columns = []
        for place in self._wanted:
            read = self._layout.reader(place)
            columns.append(to_arrow([read(key, cells) for key, cells in found], self._layout.columns[place].type))
        return Rows(record_batch(columns, len(found)))


class HBaseLookup(StoreLookup):
    """Gets rows by their keys."""

    def __init__(self, gateway: Gateway, layout: Layout, options: Mapping[str, str], asking: Buffering) -> None:
        super().__init__(gateway, options, asking)
        self._gateway = gateway
        self._layout = layout

    def ask(self, connection: Connected, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        layout = self._layout
        asked = [layout.key_encoder(key) if key not in ("", b"") else b"" for (key,) in keys]
        names = [cell.name for cell in layout.cells]
        try:
            found = dict(connection.table.rows([key for key in asked if key], columns=names or None))
        except Exception as error:
            if not refused(error):
                raise
            raise self._gateway.failed(error) from None
        readers = [layout.reader(place) for place in range(len(layout.columns))]
        return [[tuple(read(key, found[key]) for read in readers)] if key in found else [] for key in asked]


THRIFT = ("thrift.address", "thrift.transport", "thrift.protocol", "thrift.timeout")
COMMON = (*THRIFT, "zookeeper.znode.parent", "null-string-literal", "properties.")
BUFFERING = Buffering(max_rows=1_000, max_bytes=2 << 20)


class HBaseFactory(TableFactory):
    identifier = "hbase-2.2"
    extra = "hbase"
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
        return lookup_source(self, table, key, lambda: HBaseLookup(gateway, layout, table.options, options.asking))

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
