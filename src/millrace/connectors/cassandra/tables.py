"""A table of Cassandra in CQL: what is written, read and looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from millrace.connectors.cassandra.connection import CassandraCluster, Connected
from millrace.connectors.cassandra.values import read_columns, writer
from millrace.connectors.dbapi.changes import Change
from millrace.connectors.dbapi.names import quoted
from millrace.connectors.ranges import split_range
from millrace.connectors.stores.buffered import Buffering
from millrace.connectors.stores.last_rows import last_rows
from millrace.connectors.stores.lookup import Found, StoreLookup
from millrace.connectors.stores.parts import PartsSource
from millrace.relational.fields import Schema
from millrace.relational.rows import Rows, concat, record_batch
from millrace.relational.values import to_arrow, to_python

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
        with self.table.cluster.told(self.table.label):
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
        with self._table.cluster.told(self._table.label), closing(self._table.cluster()) as connection:
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
        with self._table.cluster.told(self._table.label):
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
