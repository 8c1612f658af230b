"""Exactly once by prepared transactions: PREPARE TRANSACTION of PostgreSQL, XA of MySQL and MariaDB.

Rows go from the tasks straight into the database, not through the driver. Each transaction writes its name into a
table, so that a restart can tell a committed one from a lost one.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import closing, suppress
from typing import Any, Generic, TypeVar

from millrace.common.functions import SinkFunction, TwoPhaseCommitSinkFunction
from millrace.common.sink import Sink
from millrace.connectors.dbapi import Change, CommitTable, Connection, param_style
from millrace.connectors.jdbc.dialect import Dialect
from millrace.connectors.jdbc.jdbc_database import Database
from millrace.connectors.jdbc.mysql import MySqlDialect, pymysql
from millrace.connectors.jdbc.postgresql import PostgreSqlDialect, psycopg
from millrace.connectors.sink_function import TwoPhaseCommitSink

RELEASE_SECONDS = 15.0
"""Seconds within which a server notices that the client that prepared a transaction has gone."""
_UNKNOWN = 1397


class Preparing(ABC):
    """What the statements are called. Names have letters, digits and hyphens."""

    @abstractmethod
    def check(self, connection: Connection) -> None:
        """:raises RuntimeError: the server is not set up for it."""

    @abstractmethod
    def begin(self, connection: Connection, name: str) -> None: ...

    @abstractmethod
    def prepare(self, connection: Connection, name: str) -> None:
        """The transaction at hand; the connection must not be used afterwards."""

    @abstractmethod
    def end(self, connection: Connection, name: str, how: str) -> bool:
        """COMMIT or ROLLBACK; False: no such transaction is prepared."""

    @abstractmethod
    def names(self, connection: Connection, prefix: str) -> list[str]:
        """Of all that are prepared and begin so."""


class PostgreSqlPreparing(Preparing):
    def check(self, connection: Any) -> None:
        connection.autocommit = True
        (most,) = connection.execute("SELECT current_setting('max_prepared_transactions')::int").fetchone()
        if not most:
            raise RuntimeError(
                "max_prepared_transactions = 0: PostgreSQL prepares no transactions. Set it to twice the number of "
                "subtasks or more and restart the server, or use 'sink.exactly-once' = 'marks'"
            )

    def begin(self, connection: Any, name: str) -> None:
        connection.execute("BEGIN")

    def prepare(self, connection: Any, name: str) -> None:
        connection.execute(f"PREPARE TRANSACTION '{name}'")

    def end(self, connection: Any, name: str, how: str) -> bool:
        try:
            connection.execute(f"{how} PREPARED '{name}'")
        except psycopg().errors.UndefinedObject:
            return False
        return True

    def names(self, connection: Any, prefix: str) -> list[str]:
        query = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND starts_with(gid, %s)"
        return [name for (name,) in connection.execute(query, [prefix])]


class XaPreparing(Preparing):
    def check(self, connection: Any) -> None:
        connection.autocommit(True)

    def begin(self, connection: Connection, name: str) -> None:
        _execute(connection, f"XA START '{name}'")

    def prepare(self, connection: Connection, name: str) -> None:
        _execute(connection, f"XA END '{name}'")
        _execute(connection, f"XA PREPARE '{name}'")

    def end(self, connection: Connection, name: str, how: str) -> bool:
        until = time.monotonic() + RELEASE_SECONDS
        while True:
            try:
                _execute(connection, f"XA {how} '{name}'")
                return True
            except pymysql().err.MySQLError as error:
                if error.args[0] != _UNKNOWN:
                    raise
                # It is unknown, too, as long as the server takes its client for alive.
                if name not in self.names(connection, name):
                    return False
                if time.monotonic() > until:
                    raise
            time.sleep(0.02)

    def names(self, connection: Connection, prefix: str) -> list[str]:
        found = [row[3] for row in _execute(connection, "XA RECOVER")]
        return [name for name in (_text(each) for each in found) if name.startswith(prefix)]


def _execute(connection: Connection, statement: str) -> list[Any]:
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def preparing(dialect: Dialect) -> Preparing:
    """:raises ValueError: the database has no such transactions."""
    if isinstance(dialect, PostgreSqlDialect):
        return PostgreSqlPreparing()
    if isinstance(dialect, MySqlDialect):
        return XaPreparing()
    raise ValueError(f"{dialect.title} prepares no transactions: use 'sink.exactly-once' = 'marks'")


T = TypeVar("T")
WAITING = 500
"""elements that are written together"""


def two_phase_sink(database: Database, change: Change[T], commit_table: str) -> Sink[T]:
    """:raises ValueError: the database has no such transactions."""
    return TwoPhaseCommitSink(PreparedTransactions(database, change, commit_table))


class PreparedTransactions(TwoPhaseCommitSinkFunction[T, str], Generic[T]):
    """Each transaction writes its name into a table as well. So when none is prepared that should be, it is known
    whether it was committed before or is lost."""

    def __init__(self, database: Database, change: Change[T], commit_table: str) -> None:
        self._database = database
        self._change = change
        self._commit_table = commit_table
        self._preparing = preparing(database.dialect)
        self._connection: Any = None
        self._marks: CommitTable | None = None
        self._begun: str | None = None
        self._waiting: list[T] = []

    # -- in the task

    def begin_transaction(self) -> str:
        name = self.transaction_name()
        self._connect()
        self._preparing.begin(self._connection, name)
        self._begun = name
        assert self._marks is not None
        self._marks.add(name)
        return name

    def invoke(self, transaction: str, value: T, context: SinkFunction.Context) -> None:  # type: ignore[override]
        self._waiting.append(value)
        if len(self._waiting) >= WAITING:
            self._apply()

    def _apply(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._change.apply(self._connection, waiting)

    def pre_commit(self, transaction: str) -> None:
        self._apply()
        self._preparing.prepare(self._connection, transaction)
        self._begun = None
        self._disconnect()

    def close(self) -> None:
        self._disconnect()

    # -- on the driver

    def open_committer(self) -> None:
        self._connect()

    def close_committer(self) -> None:
        self._disconnect()

    def commit(self, transaction: str) -> None:
        """:raises RuntimeError: the transaction was prepared, and has been rolled back since."""
        if not self._end(transaction, "COMMIT") and not self._is_marked(transaction):
            raise RuntimeError(
                f"{self._database.dialect.title} at {self._database.target.place} no longer has the prepared "
                f"transaction '{transaction}', and it was not committed: its rows are lost"
            )

    def abort(self, transaction: str) -> None:
        if self._begun == transaction:  # in the task, before it was prepared
            self._waiting = []
            self._begun = None
            self._disconnect()
        else:
            self._end(transaction, "ROLLBACK")

    def list_open_transactions(self, name_prefix: str) -> Iterable[str]:
        return self._again(lambda: self._preparing.names(self._connection, name_prefix))  # type: ignore[no-any-return]

    def _end(self, transaction: str, how: str) -> bool:
        return bool(self._again(lambda: self._preparing.end(self._connection, transaction, how)))

    def _is_marked(self, transaction: str) -> bool:
        return self._marks is not None and self._marks.has(transaction)

    # -- both

    def _again(self, work: Any) -> Any:
        """On a new connection if the one at hand is lost, which is idle for long times."""
        aged = self._connection is not None
        self._connect()
        try:
            return work()
        except Exception as error:
            if not aged or not self._database.dialect.is_passing(error):
                raise
        self._disconnect()
        self._connect()
        return work()

    def _connect(self) -> None:
        if self._connection is None:
            connection = self._database()
            try:
                self._preparing.check(connection)
                table = self._database.dialect.table(self._commit_table)
                self._marks = CommitTable(connection, table, param_style(connection))
            except BaseException:
                connection.close()
                raise
            self._connection = connection

    def _disconnect(self) -> None:
        connection, self._connection, self._marks = self._connection, None, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connection": None, "_marks": None, "_begun": None, "_waiting": []}

    def __repr__(self) -> str:
        return f"PreparedTransactions({self._database.target.place})"
