"""``'connector' = 'cassandra'``: a table is read by ranges of tokens, written and looked up in CQL."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.cassandra.cassandra_streams import PORT, CassandraCluster, Connected
from millrace.connectors.dbapi import Change, quoted
from millrace.connectors.jdbc.driver_values import columns_of
from millrace.connectors.source_base import split_range
from millrace.connectors.stores import BufferedSink, Buffering, Found, PartsSource, StoreLookup, last_rows
from millrace.connectors.tables.store_table import LOOKUP, SINK, StoreOptions, lookup_source, no_metadata
from millrace.relational.rex import Rex, Schema
from millrace.relational.rows import Rows, concat, record_batch
from millrace.relational.sources import (
    INSERT_ONLY,
    UPSERT,
    LookupTableSource,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow, to_python
from millrace.util.exceptions import TableException

FAMILIES = frozenset(
    {
        Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL, Family.TEXT, Family.BYTES, Family.DATE,
        Family.TIME, Family.TIMESTAMP, Family.INSTANT, Family.ARRAY, Family.MAP,
    }
)  # fmt: skip

_WHOLE = (Family.INTEGER, Family.DECIMAL)
_TIMES = (Family.TIMESTAMP, Family.INSTANT)
_TAKES: Mapping[str, tuple[Family, ...]] = {
    **dict.fromkeys(("ascii", "text", "varchar", "inet", "uuid", "timeuuid"), (Family.TEXT,)),
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "counter"), (Family.INTEGER,)),
    "varint": _WHOLE,
    "decimal": _WHOLE,
    "float": (Family.APPROXIMATE,),
    "double": (Family.APPROXIMATE,),
    "boolean": (Family.BOOLEAN,),
    "blob": (Family.BYTES,),
    "date": (Family.DATE,),
    "time": (Family.TIME,),
    "timestamp": _TIMES,
    "list": (Family.ARRAY,),
    "set": (Family.ARRAY,),
    "map": (Family.MAP,),
}
"""type there -> what is written to it"""

Convert = Callable[[Any], Any]


def problem(columns: Schema) -> str | None:
    """What is wrong with columns of a table, None for nothing."""
    wrong = next((column for column in columns if not _has(column.type)), None)
    return (
        None if wrong is None else f"column '{wrong.name}': Cassandra is neither read nor written as {wrong.type} here"
    )


def _has(kind: DataType) -> bool:
    return family_of(kind) in FAMILIES and all(map(_has, parts_of(kind)))


def writer(kind: DataType, native: str) -> Convert:
    """From the Python form of a type to what the driver takes for a column.

    :param native: the column's type, in the driver's words.
    :raises ValueError: such a column has no such values.
    """
    name = native.partition("<")[0]
    if family_of(kind) not in _TAKES.get(name, ()):
        raise ValueError(f"a column is {native} there, which cannot be written from {kind}")
    convert = _writer(kind, name)
    return lambda value: None if value is None else convert(value)


def _writer(kind: DataType, native: str) -> Convert:
    family = family_of(kind)
    if family in (Family.TIMESTAMP, Family.INSTANT):
        return _milliseconds
    if native in ("uuid", "timeuuid"):
        return uuid.UUID
    if native == "set":
        return set
    if family is Family.DECIMAL and native == "varint":
        return _whole
    return lambda value: value


def _whole(value: Decimal) -> int:
    if value != int(value):
        raise ValueError(f"a column of varint has no {value}")
    return int(value)


def _milliseconds(value: dt.datetime) -> dt.datetime:
    if value.microsecond % 1000:
        raise ValueError(f"Cassandra keeps milliseconds, {value} has more: CAST it to TIMESTAMP(3) or TIMESTAMP_LTZ(3)")
    return value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo else value


def read_columns(rows: Sequence[Sequence[Any]], columns: Schema) -> list[list[Any]]:
    """Rows of the driver as columns in the Python form of their types.

    :raises ValueError: a value is not of the type that is declared.
    """
    plain = [[_plain(value, column.type) for value, column in zip(row, columns)] for row in rows]
    return columns_of(plain, [column.type for column in columns])


def _plain(value: Any, kind: DataType) -> Any:
    """A value without the driver's own classes."""
    from cassandra.util import Date, Time

    if isinstance(value, Date):
        return value.date()
    if isinstance(value, Time):
        return value.time()
    if value is None:
        return None
    family = family_of(kind)
    if family is Family.TEXT and not isinstance(value, str):
        return str(value)
    if family is Family.ARRAY:
        (inner,) = parts_of(kind)
        return _each(list(value), inner)
    if family is Family.MAP:
        key, item = parts_of(kind)
        return dict(zip(_each(list(value), key), _each(list(value.values()), item)))
    if isinstance(value, str) and family is not Family.TEXT:
        raise ValueError(f"it has {value!r}, which is no {kind}")
    return value


def _each(values: list[Any], kind: DataType) -> list[Any]:
    (column,) = columns_of([(_plain(value, kind),) for value in values], [kind]) if values else [[]]
    return column


MARK = '"'
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class CassandraTable:
    """A table by its keyspace and name."""

    cluster: CassandraCluster
    keyspace: str
    name: str

    @property
    def label(self) -> str:
        """For messages."""
        return f"table {self.keyspace}.{self.name}"

    @property
    def quoted(self) -> str:
        return f"{quoted(self.keyspace, MARK)}.{quoted(self.name, MARK)}"

    def described(self, connection: Connected) -> Any:
        """What the driver knows of it. :raises ValueError: there is no such table."""
        keyspace = connection.cluster.metadata.keyspaces.get(self.keyspace)
        if keyspace is None:
            raise ValueError(f"there is no keyspace '{self.keyspace}'")
        if self.name not in keyspace.tables:
            raise ValueError(f"there is no table '{self.name}' in keyspace '{self.keyspace}'")
        return keyspace.tables[self.name]

    def types(self, connection: Connected, names: Sequence[str]) -> Mapping[str, str]:
        """Of columns. :raises ValueError: one is not there."""
        there = {
            name: each.cql_type.removeprefix("frozen<") for name, each in self.described(connection).columns.items()
        }
        missing = [name for name in names if name not in there]
        if missing:
            raise ValueError(f"there is no column '{missing[0]}', there are {', '.join(there)}")
        return there


@dataclass(frozen=True)
class CassandraChanges(Change[Rows]):
    """Writes rows, which replaces those with the same key, and deletes them."""

    table: CassandraTable
    columns: Schema
    keys: tuple[str, ...] = ()
    ignore_nulls: bool = False
    """whether NULL leaves a column as it is"""

    def apply(self, connection: Connected, elements: Sequence[Rows]) -> None:
        names = [column.name for column in self.columns]
        places = [names.index(key) for key in self.keys]
        rows = last_rows(concat(elements), self.keys, places, self.table.name)
        if not len(rows):
            return
        with self.table.cluster.explained(self.table.label):
            native = self.table.types(connection, names)
            values = [
                list(map(writer(column.type, native[column.name]), to_python(each, column.type)))
                for column, each in zip(self.columns, rows.columns)
            ]
            every, adds = list(zip(*values)), rows.adds().tolist()
            gone = [[row[place] for place in places] for row, here in zip(every, adds) if not here]
            where = " AND ".join(f"{quoted(key, MARK)} = ?" for key in self.keys)
            if gone:
                connection.all(connection.prepare(f"DELETE FROM {self.table.quoted} WHERE {where}"), gone)
            listed, marks = ", ".join(quoted(name, MARK) for name in names), ", ".join("?" * len(names))
            insert = connection.prepare(f"INSERT INTO {self.table.quoted} ({listed}) VALUES ({marks})")
            connection.all(insert, [self._bound(row) for row, here in zip(every, adds) if here])

    def _bound(self, row: Sequence[Any]) -> Sequence[Any]:
        if not self.ignore_nulls:
            return row
        from cassandra.query import UNSET_VALUE

        return [UNSET_VALUE if value is None else value for value in row]


@dataclass(frozen=True)
class TokenRange:
    """Rows whose partitions have tokens from one to another; still to be read."""

    split_id: str
    low: int
    high: int


class CassandraRowsSource(PartsSource[Rows, TokenRange]):
    """Reads a table in parts, by the tokens of its partitions."""

    def __init__(self, table: CassandraTable, columns: Schema, number: int, fetch: int) -> None:
        self._table = table
        self._columns = columns
        self._number = number
        self._fetch = fetch

    def parts(self) -> list[TokenRange]:
        ranges = split_range(_LOWEST, _HIGHEST + 1, self._number)
        return [TokenRange(str(number), each.start, each.stop - 1) for number, each in enumerate(ranges)]

    def elements(self, part: TokenRange) -> Iterator[Rows]:
        with self._table.cluster.explained(self._table.label), closing(self._table.cluster()) as connection:
            keys = self._table.described(connection).partition_key
            listed = ", ".join(quoted(key.name, MARK) for key in keys)
            wanted = ", ".join(quoted(column.name, MARK) for column in self._columns) or quoted(keys[0].name, MARK)
            statement = connection.prepare(
                f"SELECT {wanted} FROM {self._table.quoted} WHERE token({listed}) >= ? AND token({listed}) <= ?"
            )
            statement.fetch_size = self._fetch
            answer = connection.session.execute(statement, (part.low, part.high))
            while True:
                rows = list(answer.current_rows)
                if rows:
                    yield self._rows(rows)
                if not answer.has_more_pages:
                    return
                answer.fetch_next_page()

    def _rows(self, rows: Sequence[Any]) -> Rows:
        if not self._columns:
            return Rows(record_batch([], len(rows)))
        found = zip(read_columns(rows, self._columns), self._columns)
        return Rows(record_batch([to_arrow(values, column.type) for values, column in found], len(rows)))


class CassandraLookup(StoreLookup):
    """Asks for each key by a statement of its own, many at a time: Cassandra's way.

    :param key: which of the columns are the key.
    """

    def __init__(
        self,
        table: CassandraTable,
        columns: Schema,
        key: Sequence[int],
        options: Mapping[str, str],
        asking: Buffering,
    ) -> None:
        super().__init__(table.cluster, options, asking)
        self._table = table
        self._columns = columns
        self._key = [columns[place] for place in key]

    def ask(self, connection: Connected, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        with self._table.cluster.explained(self._table.label):
            described = self._table.described(connection)
            asked = [column.name for column in self._key]
            missing = [each.name for each in described.partition_key if each.name not in asked]
            if missing:
                raise ValueError(f"a look-up needs the whole partition key, and '{missing[0]}' is not compared")
            wanted = ", ".join(quoted(column.name, MARK) for column in self._columns)
            where = " AND ".join(f"{quoted(name, MARK)} = ?" for name in asked)
            statement = connection.prepare(f"SELECT {wanted} FROM {self._table.quoted} WHERE {where}")
            native = self._table.types(connection, asked)
            writers = [writer(column.type, native[column.name]) for column in self._key]
            bound = [[convert(value) for convert, value in zip(writers, key)] for key in keys]
            answers = [list(each) for each in connection.all(statement, bound)]
            return [list(zip(*read_columns(rows, self._columns))) if rows else [] for rows in answers]


LEVELS = ("any", "one", "two", "three", "quorum", "all", "local_quorum", "each_quorum", "local_one")


class CassandraFactory(TableFactory):
    identifier = "cassandra"
    extra = "cassandra"
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
        return lookup_source(
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
