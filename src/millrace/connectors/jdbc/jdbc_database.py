"""``Database``: a database that a ``jdbc:`` URL names, and rows written to its tables.

``parse_url`` finds the dialect. ``RowChanges`` makes statements of rows: appended to a table without a key, the last
row of each key in a table with one. They are written in buffers, or exactly once by a write-ahead log on the driver.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.sink import SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.dbapi import Change, Connection, DbApiExactlyOnceSink
from millrace.connectors.jdbc.dialect import CONNECT_SECONDS, Dialect, Metadata, TableShape, Target
from millrace.connectors.jdbc.duckdb import DuckDbDialect, DuckDbMetadata
from millrace.connectors.jdbc.mysql import MariaDbDialect, MySqlDialect, MySqlMetadata
from millrace.connectors.jdbc.postgresql import PostgreSqlDialect, PostgreSqlMetadata
from millrace.connectors.jdbc.sqlite import SqliteDialect, SqliteMetadata
from millrace.connectors.stores import Reachable, last_rows
from millrace.relational.rows import Rows, concat
from millrace.relational.types import DataType
from millrace.util.secrets import mask_text

_KINDS: Mapping[str, tuple[Dialect, int]] = {
    "postgresql": (PostgreSqlDialect(), 5432),
    "mysql": (MySqlDialect(), 3306),
    "mariadb": (MariaDbDialect(), 3306),
    "sqlite": (SqliteDialect(), 0),
    "duckdb": (DuckDbDialect(), 0),
}
_FILES = ("sqlite", "duckdb")
"""databases that are a file"""
_KNOWN = ", ".join(f"jdbc:{kind}:" for kind in _KINDS)


def parse_url(
    url: str,
    user: str | None = None,
    password: str | None = None,
    properties: Mapping[str, str] | None = None,
    timeout: float = CONNECT_SECONDS,
) -> tuple[Dialect, Target]:
    """The dialect and the place that a URL names. User and password beside it go before those in it.

    :raises ValueError: it is no such URL, or of a database that Millrace has no driver for.
    """
    match = re.match(r"jdbc:([a-z0-9]+):(.*)$", url, re.IGNORECASE | re.DOTALL)
    if match is None:
        raise ValueError(f"'{mask_text(url)}' is no JDBC URL: it begins with one of {_KNOWN}")
    kind, rest = match[1].lower(), match[2]
    if kind not in _KINDS:
        raise ValueError(f"'jdbc:{kind}:' is a database that Millrace has no driver for; it has {_KNOWN}")
    dialect, port = _KINDS[kind]
    given = dict(properties or {})
    if kind in _FILES:
        return dialect, Target((), rest, properties=given, timeout=timeout)
    rest, _, query = rest.partition("?")
    found = {**dict(urllib.parse.parse_qsl(query, keep_blank_values=True)), **given}
    hosts, database = _hosts(url, rest, port)
    return dialect, Target(
        hosts,
        database,
        user if user is not None else found.pop("user", None),
        password if password is not None else found.pop("password", None),
        {name: value for name, value in found.items() if name not in ("user", "password")},
        timeout,
    )


def is_known_url(url: str) -> bool:
    """Whether a URL is of a database that Millrace has a driver for."""
    return url.lower().startswith(tuple(f"jdbc:{kind}:" for kind in _KINDS))


def with_database(url: str, database: str) -> str:
    """The URL of a database at the place of another one. :param url: may end with the slash before the database."""
    if url.lower().startswith(tuple(f"jdbc:{kind}:" for kind in _FILES)):
        return url
    before, mark, query = url.partition("?")
    head, slashes, rest = before.partition("//")
    hosts = rest.partition("/")[0]
    return f"{head}{slashes}{hosts}/{urllib.parse.quote(database, safe='')}{mark}{query}"


def _hosts(url: str, rest: str, port: int) -> tuple[tuple[tuple[str, int], ...], str]:
    if not rest.startswith("//"):
        raise ValueError(f"'{mask_text(url)}' names no host: jdbc:kind://host:port/database")
    hosts, _, database = rest[2:].partition("/")
    if "@" in hosts:
        raise ValueError("user and password are options of their own ('username', 'password'), not before the host")
    return tuple(_host(each, port) for each in hosts.split(",")), urllib.parse.unquote(database)


def _host(text: str, port: int) -> tuple[str, int]:
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(?::(\d+))?", text)
    if match is None:
        raise ValueError(f"'{mask_text(text)}' is no host with a port")
    return match[1].strip("[]") or "localhost", int(match[2] or port)


def metadata_of(dialect: Dialect) -> Metadata:
    if isinstance(dialect, PostgreSqlDialect):
        return PostgreSqlMetadata()
    if isinstance(dialect, DuckDbDialect):
        return DuckDbMetadata()
    return MySqlMetadata() if isinstance(dialect, MySqlDialect) else SqliteMetadata()


@dataclass(frozen=True)
class RowChanges(Change[Rows]):
    """Appends rows to a table without a key; keeps one row per key in a table with one."""

    dialect: Dialect
    shape: TableShape
    kinds: tuple[DataType, ...]
    """the types of the columns"""

    def apply(self, connection: Connection, elements: Sequence[Rows]) -> None:
        """:raises RuntimeError: the database refuses; with the table's name."""
        rows = self.reduced(concat(elements))
        if not len(rows):
            return
        try:
            self._write(connection, rows)
        except (ValueError, LookupError):
            raise
        except Exception as error:
            if self.dialect.is_passing(error):
                raise
            said = mask_text(str(error).strip())
            raise RuntimeError(f"{self.dialect.title}, table {self.shape.table}: {said}") from error

    def _write(self, connection: Connection, rows: Rows) -> None:
        if not self.shape.keys:
            self.dialect.append(connection, self.shape, rows.columns, self.kinds)
            return
        adds = rows.adds()
        places = self.shape.key_places
        gone, here = rows.where(~adds), rows.where(adds)
        if len(gone):
            keys = [gone.columns[place] for place in places]
            self.dialect.delete(connection, self.shape, keys, [self.kinds[place] for place in places])
        if len(here):
            self.dialect.upsert(connection, self.shape, here.columns, self.kinds)

    def reduced(self, rows: Rows) -> Rows:
        """The last row of each key, in the order of the keys: so two tasks never wait for each other.

        :raises ValueError: a key is NULL.
        """
        return last_rows(rows, self.shape.keys, self.shape.key_places, self.shape.table)


@dataclass(frozen=True)
class Database(Reachable):
    """A way to a database, which travels into tasks."""

    dialect: Dialect
    target: Target

    def __call__(self) -> Any:
        """A new connection."""
        return self.dialect.connect(self.target)

    def is_passing(self, error: BaseException) -> bool:
        return self.dialect.is_passing(error)

    def commit(self, connection: Connection) -> None:
        connection.commit()


class JdbcExactlyOnceSink(DbApiExactlyOnceSink[Rows]):
    """**Exactly once**: what an epoch wrote, reduced to the last row of each key, waits for its checkpoint; the driver
    then writes it together with its name in one transaction."""

    def __init__(self, database: Database, changes: RowChanges, log_directory: str | None, commit_table: str) -> None:
        super().__init__(
            database, changes, log_directory, commit_table=commit_table, param_style=database.dialect.style
        )
        self._rows = changes

    def create_writer(self, context: WriterInitContext) -> Any:
        return _Reducing(super().create_writer(context), self._rows)


class _Reducing(SinkWriter[Rows]):
    """Hands on what is left of an epoch at its end."""

    def __init__(self, below: SinkWriter[Rows], changes: RowChanges) -> None:
        self._below = below
        self._changes = changes
        self._waiting: list[Rows] = []
        self._context: SinkWriterContext | None = None

    def write(self, element: Rows, context: SinkWriterContext) -> None:
        self._waiting.append(element)
        self._context = context

    def flush(self, end_of_input: bool) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and self._context is not None:
            self._below.write(self._changes.reduced(concat(waiting)), self._context)
        self._below.flush(end_of_input)

    def prepare_commit(self) -> list[Any]:
        return self._below.prepare_commit()

    def close(self) -> None:
        self._below.close()
