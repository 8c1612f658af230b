"""Databases as sinks, through any driver that follows PEP 249 (DB-API 2.0).

``DbApiInsert`` and ``DbApiUpsert`` say which statements the elements of a stream become. ``DbApiSink`` executes them in
the task, one transaction for 100 ms or an epoch, at least once. ``DbApiExactlyOnceSink`` lets batches wait for their
checkpoint; the driver then writes each in one transaction, with the batch's name in a table. What PEP 249 leaves open
(marks of parameters, who begins a transaction, quotes around names) is settled here for all connectors of databases.
"""

from __future__ import annotations

import re
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.types import Row
from millrace.connectors.sink_base import WAIT_MS, Patience, PersistentConnection, is_deletion, last_per_key
from millrace.connectors.write_ahead import WEEK_MS, Batch, BatchSender, WriteAheadSink

__all__ = [
    "Change",
    "Connect",
    "Connection",
    "DbApiExactlyOnceSink",
    "DbApiInsert",
    "DbApiSink",
    "DbApiUpsert",
    "MYSQL",
    "TableName",
    "UpsertNames",
    "UpsertStatements",
    "bind",
    "driver_of",
    "escaped",
    "open_connection",
    "param_style",
    "placeholders",
    "quote_mark",
    "quoted",
    "quoted_table",
]


# Connections and parameters of drivers


class Cursor(Protocol):
    """What the connectors use of a cursor of PEP 249."""

    @property
    def rowcount(self) -> int: ...

    @property
    def description(self) -> Sequence[Any] | None: ...

    def execute(self, operation: str, parameters: Any = ..., /) -> object: ...

    def executemany(self, operation: str, parameters: Sequence[Any], /) -> object: ...

    def fetchone(self) -> tuple[Any, ...] | None: ...

    def fetchmany(self, size: int = ..., /) -> Sequence[tuple[Any, ...]]: ...

    def fetchall(self) -> Sequence[tuple[Any, ...]]: ...

    def close(self) -> None: ...


class Connection(Protocol):
    """What the connectors use of a connection of PEP 249."""

    def cursor(self) -> Cursor: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


Connect = Callable[[], Any]
"""Opens a connection. Pickled into the tasks; called in tasks and on the driver."""

_MARKS = {"qmark": "?", "format": "%s", "numeric": ":{}", "named": ":p{}", "pyformat": "%(p{})s"}


def open_connection(connect: Connect) -> Any:
    """A connection whose transactions end with ``commit()``.

    :raises ValueError: it commits each statement by itself.
    """
    connection = connect()
    if getattr(connection, "autocommit", False) is True or _is_sqlite_in_autocommit(connection):
        connection.close()
        raise ValueError(
            f"connect() opens a {type(connection).__name__} in autocommit mode: a batch could be written by half. "
            f"Turn autocommit off, which is the default of PEP 249"
        )
    return connection


def _is_sqlite_in_autocommit(connection: Any) -> bool:
    # Here None stands for autocommit, unless the new attribute ``autocommit`` (Python 3.12) says False.
    missing = object()
    level = getattr(connection, "isolation_level", missing)
    return driver_of(connection) == "sqlite3" and level is None and getattr(connection, "autocommit", True) is not False


def driver_of(connection: Connection) -> str:
    """The name of the driver's top module, such as ``sqlite3`` or ``psycopg``."""
    for kind in type(connection).__mro__:
        name = kind.__module__.partition(".")[0]
        if hasattr(sys.modules.get(name), "paramstyle"):
            return name
    return ""


def param_style(connection: Connection) -> str:
    """How the driver wants parameters marked: one of PEP 249's five.

    :raises ValueError: the driver does not say.
    """
    style = getattr(sys.modules.get(driver_of(connection)), "paramstyle", None)
    if style not in _MARKS:
        kind = type(connection)
        raise ValueError(
            f"{kind.__module__}.{kind.__name__} belongs to no module with a paramstyle (PEP 249): give param_style="
        )
    return str(style)


def placeholders(style: str, count: int) -> list[str]:
    """The marks of the parameters of a statement, in their order."""
    return [_MARKS[style].format(number) for number in range(1, count + 1)]


def escaped(text: str, style: str) -> str:
    """A piece of a statement that is no mark, whatever it looks like."""
    return text.replace("%", "%%") if style in ("format", "pyformat") else text


def bind(style: str, values: Sequence[Any]) -> Any:
    """Parameters for a statement that was made with ``placeholders``."""
    if style in ("named", "pyformat"):
        return {f"p{number}": value for number, value in enumerate(values, start=1)}
    return tuple(values)


# Quoted names

MYSQL = ("pymysql", "MySQLdb", "mysql", "mariadb")
"""drivers of databases that quote with backticks"""
TableName = str | Sequence[str]
"""``schema.table``, or the parts one by one for names that have dots"""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


def quote_mark(connection: Connection) -> str:
    """What the connection's database quotes names with."""
    return "`" if driver_of(connection) in MYSQL else '"'


def quoted(name: str, mark: str) -> str:
    """A name in a statement.

    :param mark: "" for a name that is to be folded as the database folds names: then it has to be a plain one.
    :raises ValueError: no database has such a name.
    """
    if not name or "\0" in name:
        raise ValueError(f"the name of a table or column is not empty and has no NUL, got {name!r}")
    if not mark:
        if not _PLAIN.fullmatch(name):
            raise ValueError(f"without quotes a name has letters, digits, _ and $ only, got {name!r}")
        return name
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def quoted_table(table: TableName, mark: str) -> str:
    """The name of a table, perhaps with its schema and catalog."""
    parts = table.split(".") if isinstance(table, str) else table
    return ".".join(quoted(part, mark) for part in parts)


# Statements of an upsert


@dataclass(frozen=True)
class UpsertStatements:
    """What is executed for the keys that go, and for the rows that come."""

    delete: str
    upsert: str
    delete_first: bool = False
    """whether the row that has the key must go before"""


@dataclass(frozen=True)
class UpsertNames:
    """A table and its columns, quoted."""

    table: str
    columns: Sequence[str]
    keys: Sequence[str]

    def delete(self, marks: Sequence[str]) -> str:
        return f"DELETE FROM {self.table} WHERE {_equal(self.keys, marks)}"

    def insert(self, marks: Sequence[str]) -> str:
        return f"INSERT INTO {self.table} ({', '.join(self.columns)}) VALUES ({', '.join(marks)})"

    def on_conflict(self, marks: Sequence[str]) -> str:
        """SQLite, PostgreSQL, DuckDB."""
        return f"{self.insert(marks)} {self.conflict_clause()}"

    def conflict_clause(self) -> str:
        """What is behind the rows there."""
        updated = self._updated()
        action = f"DO UPDATE SET {_set(updated, 'excluded.{}')}" if updated else "DO NOTHING"
        return f"ON CONFLICT ({', '.join(self.keys)}) {action}"

    def on_duplicate_key(self, marks: Sequence[str]) -> str:
        """MySQL, MariaDB."""
        return f"{self.insert(marks)} {self.duplicate_clause()}"

    def duplicate_clause(self) -> str:
        """What is behind the rows there."""
        return f"ON DUPLICATE KEY UPDATE {_set(self._updated() or self.keys, 'VALUES({})')}"

    def _updated(self) -> list[str]:
        return [column for column in self.columns if column not in self.keys]


def _equal(columns: Sequence[str], marks: Sequence[str]) -> str:
    return " AND ".join(f"{column} = {mark}" for column, mark in zip(columns, marks))


def _set(columns: Sequence[str], source: str) -> str:
    # Not str.format: a name may have braces.
    return ", ".join(f"{column} = {source.replace('{}', column)}" for column in columns)


# From elements to statements

T = TypeVar("T")

_ON_CONFLICT = ("sqlite3", "psycopg", "psycopg2", "pg8000", "duckdb")


class Change(ABC, Generic[T]):
    """Turns elements into statements, within the transaction that the sink ends."""

    @abstractmethod
    def apply(self, connection: Any, elements: Sequence[T]) -> None: ...


def fields_of(element: Any) -> Any:
    """The element as parameters: a dict as it is, a tuple, list or Row as a tuple, all else as the only one."""
    if isinstance(element, dict):
        return element
    return tuple(element) if isinstance(element, (tuple, list, Row)) else (element,)


@dataclass(frozen=True)
class DbApiInsert(Change[T]):
    """Execute a statement with the values of each element; mostly an INSERT."""

    statement: str
    """SQL with parameters in the driver's notation: ``INSERT INTO words VALUES (?, ?)``"""
    values_of: Callable[[T], Any] = fields_of
    """element -> the statement's parameters; by default the element's own fields"""

    def apply(self, connection: Connection, elements: Sequence[T]) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.executemany(self.statement, [self.values_of(element) for element in elements])


@dataclass(frozen=True)
class DbApiUpsert(Change[T]):
    """Keep one row per key: insert, update or delete it. Of several changes of a key the last one wins.

    Names of table and columns are quoted as the database does: they are written as it stores them (PostgreSQL: in small
    letters, unless the table was made with quotes).
    """

    table: TableName
    """``table`` or ``schema.table``; a tuple of the parts if they have dots themselves"""
    columns: Sequence[str]
    key_columns: Sequence[str]
    """some of the columns; the table has a unique index on them"""
    values_of: Callable[[T], Sequence[Any]] | None = None
    """element -> the values of all columns; by default by name (a dict, a Row with names) or in their order"""
    is_deletion: Callable[[T], bool] = is_deletion
    """tells whether an element deletes its row; by default those of the kinds DELETE and UPDATE_BEFORE; a deletion
    needs only the values of the key"""
    upsert_statement: Callable[[Sequence[str]], str] | None = None
    """marks of the parameters, one for each column -> the statement; by default what the driver's database knows"""
    param_style: str | None = None
    """one of PEP 249; by default what the driver's module says"""
    quote: str | None = None
    """what names are quoted with; by default what the driver's database takes; "": not at all, as for databases that
    would not find them in small letters"""
    _keys: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        columns = list(self.columns)
        unknown = [column for column in self.key_columns if column not in columns]
        if unknown or not self.key_columns:
            raise ValueError(f"key_columns must be some of the columns {columns}, got {list(self.key_columns)}")
        for mark in ('"',) if self.quote is None else (self.quote,):
            quoted_table(self.table, mark)  # what is no name shows here
            for column in columns:
                quoted(column, mark)
        object.__setattr__(self, "_keys", tuple(columns.index(column) for column in self.key_columns))

    def apply(self, connection: Connection, elements: Sequence[T]) -> None:
        style = self.param_style or param_style(connection)
        statements = self._statements(connection, style)
        changes = last_per_key(elements, self._key)
        upserts = [self._values(element) for element in changes.values() if not self.is_deletion(element)]
        deletes: list[Any] = [key for key, element in changes.items() if self.is_deletion(element)]
        if statements.delete_first:  # in one transaction the gap is invisible
            deletes += [[row[place] for place in self._keys] for row in upserts]
        with closing(connection.cursor()) as cursor:
            if deletes:
                cursor.executemany(statements.delete, [bind(style, key) for key in deletes])
            if upserts:
                cursor.executemany(statements.upsert, [bind(style, row) for row in upserts])

    def _statements(self, connection: Connection, style: str) -> UpsertStatements:
        mark = quote_mark(connection) if self.quote is None else self.quote
        marks = placeholders(style, len(self.columns))
        names = UpsertNames(
            escaped(quoted_table(self.table, mark), style),
            [escaped(quoted(column, mark), style) for column in self.columns],
            [escaped(quoted(column, mark), style) for column in self.key_columns],
        )
        delete = names.delete(placeholders(style, len(self._keys)))
        if self.upsert_statement is not None:
            return UpsertStatements(delete, self.upsert_statement(marks))
        driver = driver_of(connection)
        if driver in _ON_CONFLICT:
            return UpsertStatements(delete, names.on_conflict(marks))
        if driver in MYSQL:
            return UpsertStatements(delete, names.on_duplicate_key(marks))
        return UpsertStatements(delete, names.insert(marks), delete_first=True)  # any SQL database

    def _key(self, element: T) -> tuple[Any, ...]:
        if self.values_of is None and _has_names(element):
            key = tuple(element[column] for column in self.key_columns)  # type: ignore[index]
        else:
            values = self._values(element)
            key = tuple(values[place] for place in self._keys)
        if None in key:
            raise ValueError(f"{self.table}: a key must not be None, got {dict(zip(self.key_columns, key))}")
        return key

    def _values(self, element: T) -> Sequence[Any]:
        if self.values_of is not None:
            values = self.values_of(element)
        elif _has_names(element):
            return [element[column] for column in self.columns]  # type: ignore[index]
        else:
            values = fields_of(element)
        if len(values) != len(self.columns):
            raise ValueError(f"{self.table} has the columns {list(self.columns)}, but there are the values {values!r}")
        return values


def _has_names(element: Any) -> bool:
    return isinstance(element, dict) or (isinstance(element, Row) and element._fields is not None)


# The sink that writes in the task


class DbApiSink(Sink[T], Generic[T]):
    """Writes in the task, at the end of each epoch and when an element has waited long enough. **At least once**: an
    epoch that fails after a subtask has written is written again. With ``DbApiUpsert`` that changes nothing once the
    repetition is through, as long as the changes of a key stay in order: let the stream be keyed the same way, or have
    parallelism 1.

    :param connect: opens a connection, called in the tasks. It stays open from epoch to epoch; one that fails at the
        first statement of a transaction, because the database has closed it meanwhile, is replaced once.
    :param change: ``DbApiInsert`` or ``DbApiUpsert``.
    :param batch_size: elements that are handed to the driver together.
    :param wait_ms: how long an element waits within an epoch until what is there is committed; None: until the epoch
        ends, so that all of an epoch that a subtask has is one transaction.
    """

    def __init__(
        self, connect: Connect, change: Change[T], batch_size: int = 10_000, wait_ms: int | None = WAIT_MS
    ) -> None:
        self._connect = connect
        self._change = change
        self._batch_size = batch_size
        self._wait_ms = wait_ms

    def create_writer(self, context: WriterInitContext) -> _DbApiWriter[T]:
        patience = Patience(context.current_processing_time, self._wait_ms)
        return _DbApiWriter(self._connect, self._change, self._batch_size, patience)

    def __repr__(self) -> str:
        return f"DbApiSink({self._change!r})"


class _DbApiWriter(SinkWriter[T]):
    def __init__(self, connect: Connect, change: Change[T], batch_size: int, patience: Patience) -> None:
        self._kept = PersistentConnection(lambda: open_connection(connect))
        self._change = change
        self._batch_size = batch_size
        self._batch: list[T] = []
        self._patience = patience

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._batch.append(element)
        if len(self._batch) >= self._batch_size:
            self._apply()

    def _apply(self) -> None:
        batch, self._batch = self._batch, []
        self._kept.use(lambda connection: self._change.apply(connection, batch))

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._commit()

    def flush(self, end_of_input: bool) -> None:
        self._commit()

    def _commit(self) -> None:
        if self._batch:
            self._apply()
        self._patience.end()
        connection = self._kept.settled()
        if connection is not None:
            connection.commit()

    def close(self) -> None:
        self._kept.close()  # which takes back what was not committed


# The sink that writes once a checkpoint is recorded

_BATCH_SIZE = 10_000
_PRUNE_EVERY_S = 3600


class DbApiExactlyOnceSink(WriteAheadSink[T]):
    """**Exactly once** for any database with transactions: what an epoch wrote waits until its checkpoint is recorded;
    the driver then writes each batch in one transaction, and the batch's name with it. A batch whose name is there is
    not written again. So the database always holds what some checkpoint covers, batch by batch.

    :param connect: opens a connection, called on the driver for each commit.
    :param change: ``DbApiInsert`` or ``DbApiUpsert``.
    :param log_directory: where large batches wait; it and ``trust_directory``: see ``WriteAheadSink``.
    :param commit_table: made if it is not there: ``batch VARCHAR(100) PRIMARY KEY, sent_at BIGINT``. Sinks may share
        one. Its name is quoted as ``DbApiUpsert`` does.
    :param keep_ms: how long names stay in the table. Going on from an older checkpoint or savepoint may write the
        batches that wait in it again.
    """

    def __init__(
        self,
        connect: Connect,
        change: Change[T],
        log_directory: str | None = None,
        *,
        commit_table: TableName = "millrace_commits",
        keep_ms: int = WEEK_MS,
        inline_bytes: int = 64 * 1024,
        param_style: str | None = None,
        trust_directory: bool = False,
    ) -> None:
        super().__init__(log_directory, inline_bytes=inline_bytes, trust_directory=trust_directory)
        self._connect = connect
        self._change = change
        self._commit_table = commit_table
        self._keep_ms = keep_ms
        self._param_style = param_style
        self._next_prune = 0.0

    def create_sender(self) -> BatchSender[T]:
        connection = open_connection(self._connect)
        try:
            name = quoted_table(self._commit_table, quote_mark(connection))
            table = CommitTable(connection, name, self._param_style or param_style(connection))
            if time.monotonic() >= self._next_prune:
                self._next_prune = time.monotonic() + _PRUNE_EVERY_S
                table.forget(int(time.time() * 1000) - self._keep_ms)
        except BaseException:
            connection.close()
            raise
        return _DbApiSender(connection, self._change, table)

    def __repr__(self) -> str:
        return f"DbApiExactlyOnceSink({self._change!r})"


class CommitTable:
    """The names of the batches that a database has.

    :param table: its name, quoted.
    """

    def __init__(self, connection: Connection, table: str, style: str) -> None:
        self._connection = connection
        self._table = table
        self._style = style
        if not self._is_there():
            self._execute(f"CREATE TABLE {table} (batch VARCHAR(100) NOT NULL PRIMARY KEY, sent_at BIGINT NOT NULL)")
            connection.commit()

    def _is_there(self) -> bool:
        # The only question that all databases understand.
        try:
            self._execute(f"SELECT sent_at FROM {self._table} WHERE 1 = 0")
        except Exception:
            return False
        finally:
            self._connection.rollback()
        return True

    def has(self, batch: str) -> bool:
        (mark,) = placeholders(self._style, 1)
        found = self._execute(f"SELECT sent_at FROM {self._table} WHERE batch = {mark}", batch)
        self._connection.rollback()
        return bool(found)

    def add(self, batch: str) -> None:
        """Part of the transaction at hand."""
        marks = ", ".join(placeholders(self._style, 2))
        self._execute(f"INSERT INTO {self._table} (batch, sent_at) VALUES ({marks})", batch, int(time.time() * 1000))

    def forget(self, before: int) -> None:
        """Delete what was sent before that time, ms."""
        (mark,) = placeholders(self._style, 1)
        self._execute(f"DELETE FROM {self._table} WHERE sent_at < {mark}", before)
        self._connection.commit()

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        with closing(self._connection.cursor()) as cursor:
            if values:
                cursor.execute(statement, bind(self._style, values))
            else:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description is not None else []


class _DbApiSender(BatchSender[T]):
    remembers = True

    def __init__(self, connection: Connection, change: Change[T], table: CommitTable) -> None:
        self._connection = connection
        self._change = change
        self._table = table

    def is_sent(self, batch: Batch) -> bool:
        return self._table.has(batch.name)

    def send(self, values: Iterator[T], batch: Batch) -> None:
        # First of all: should another driver send the same, this waits for it, and then fails.
        self._table.add(batch.name)
        while some := list(islice(values, _BATCH_SIZE)):
            self._change.apply(self._connection, some)
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()  # which takes back what was not committed
