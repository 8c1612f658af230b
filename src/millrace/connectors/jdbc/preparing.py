"""Transactions that outlive their client: PREPARE TRANSACTION of PostgreSQL, XA of MySQL and MariaDB."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import closing
from typing import Any

from millrace.connectors.jdbc.dialects.base import Dialect
from millrace.connectors.jdbc.dialects.mysql import MySqlDialect, pymysql
from millrace.connectors.jdbc.dialects.postgresql import PostgreSqlDialect, psycopg

RELEASE_SECONDS = 15.0
"""in which a server notices that the client is gone that has prepared a transaction"""
_UNKNOWN = 1397


class Preparing(ABC):
    """What the statements are called. Names have letters, digits and hyphens."""

    @abstractmethod
    def check(self, connection: Any) -> None:
        """:raises RuntimeError: the server is not set up for it."""

    @abstractmethod
    def begin(self, connection: Any, name: str) -> None: ...

    @abstractmethod
    def prepare(self, connection: Any, name: str) -> None:
        """The transaction at hand; the connection must not be used afterwards."""

    @abstractmethod
    def end(self, connection: Any, name: str, how: str) -> bool:
        """COMMIT or ROLLBACK; False: no such transaction is prepared."""

    @abstractmethod
    def names(self, connection: Any, prefix: str) -> list[str]:
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

    def begin(self, connection: Any, name: str) -> None:
        _execute(connection, f"XA START '{name}'")

    def prepare(self, connection: Any, name: str) -> None:
        _execute(connection, f"XA END '{name}'")
        _execute(connection, f"XA PREPARE '{name}'")

    def end(self, connection: Any, name: str, how: str) -> bool:
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

    def names(self, connection: Any, prefix: str) -> list[str]:
        found = [row[3] for row in _execute(connection, "XA RECOVER")]
        return [name for name in (_text(each) for each in found) if name.startswith(prefix)]


def _execute(connection: Any, statement: str) -> list[Any]:
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
