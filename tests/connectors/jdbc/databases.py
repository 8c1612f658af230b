"""The databases of these tests, asked without the code that is tested, and table programs that use them."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
import pymysql
from tests.connectors.tables.message_tables import MessageTables

from millrace.connectors.jdbc.duckdb import FileConnection
from millrace.testing.services import MariaDB, PostgreSQL


class Place:
    """A database. Tables have names of their own."""

    def __init__(
        self, url: str, connect: Callable[[], Any], user: str | None = None, password: str | None = None
    ) -> None:
        self.url, self.user, self.password = url, user, password
        self._connect = connect

    @property
    def options(self) -> dict[str, str]:
        found = {"url": self.url}
        return found if self.user is None else {**found, "username": self.user, "password": self.password or ""}

    def run(self, statement: str) -> list[Any]:
        with closing(self._connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(statement)
            found = list(cursor.fetchall()) if cursor.description else []
            connection.commit()
            return found

    def create(self, columns: str) -> str:
        """A new table; its name."""
        name = f"t_{uuid.uuid4().hex[:10]}"
        self.run(f"CREATE TABLE {name} ({columns})")
        return name


def of_postgresql(server: PostgreSQL) -> Place:
    return Place(server.jdbc_url, lambda: psycopg.connect(server.url), server.user, server.password)


def of_mariadb(server: MariaDB) -> Place:
    def connect() -> Any:
        where = {"host": "127.0.0.1", "port": server.port, "database": server.database}
        return pymysql.connect(user=server.user, password=server.password, **where)

    return Place(server.jdbc_url, connect, server.user, server.password)


def of_duckdb(path: str) -> Place:
    return Place(f"jdbc:duckdb:{path}", lambda: FileConnection(path, 30.0))


def of_sqlite(path: str) -> Place:
    return Place(f"jdbc:sqlite:{path}", lambda: sqlite3.connect(path))


class JdbcTables(MessageTables):
    """Table programs that run without Spark."""

    def over(self, place: Place, table: str, columns: str, **more: str) -> str:
        """A table of Millrace over one of a database; its name."""
        options = {"connector": "jdbc", "table-name": table, **place.options}
        options |= {name.replace("_", "-"): value for name, value in more.items() if "." not in name}
        options |= {name: value for name, value in more.items() if "." in name}
        given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        name = f"m_{uuid.uuid4().hex[:10]}"
        self.environment.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({given})")
        return name
