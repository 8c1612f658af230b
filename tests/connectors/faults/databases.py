"""Databases that fail."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import uuid
from typing import Any

from tests.connectors.faults.place import Place
from tests.connectors.jdbc.databases import of_mariadb, of_postgresql

from millrace.testing.connectors.faults import Fault

FILE = {
    Fault.HANGS_UP: "a file, no server",
    Fault.PASSWORD: "a file has none",
    Fault.OUTAGE: "a file, no server",
    Fault.OTHER_WAY: "a file, no server",
}


class _Jdbc(Place):
    connector = "jdbc"
    columns = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
    quick = {"sink.max-retries": "0", "connection.max-retry-timeout": "1 s"}
    waiting = "`connection.max-retry-timeout` (60 s)"
    scheme: str

    def place(self) -> Any:
        raise NotImplementedError

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        given = {"url": f"jdbc:{self.scheme}://127.0.0.1:{port}/d", "table-name": name, "username": "u"}
        if self.running is not None:
            given |= {"url": f"jdbc:{self.scheme}://127.0.0.1:{port}/{self.running.database}"}
            given |= {"username": self.running.user}
        return given | {"password": password or self.running.password}

    def make(self, wrong: bool = False) -> str:
        place = self.place()
        name = str(place.create("id INT PRIMARY KEY, name VARCHAR(30)"))
        if wrong:
            place.run(f"INSERT INTO {name} VALUES (1, 'no number')")
        return name

    def written(self, name: str) -> list[Any]:
        return list(self.place().run(f"SELECT id, name FROM {name}"))


class PostgreSqlTables(_Jdbc):
    name, scheme, server = "jdbc: PostgreSQL", "postgresql", "strict_postgres"

    def place(self) -> Any:
        return of_postgresql(self.running)


class MariaDbTables(_Jdbc):
    name, scheme, server = "jdbc: MySQL, MariaDB", "mariadb", "mariadb"

    def place(self) -> Any:
        return of_mariadb(self.running)


class _File(Place):
    """A database in a file."""

    connector = "jdbc"
    wrong_columns = "id INT, name INT"
    quick = {"sink.max-retries": "0", "connection.max-retry-timeout": "1 s"}
    waiting = "`connection.max-retry-timeout` (60 s): another process has locked it"
    reasons = FILE
    kind: str

    @property
    def port(self) -> int:
        return 0

    def run(self, *statements: str) -> None:
        raise NotImplementedError

    def path(self, port: int) -> str:
        return "/nowhere/at/all.db" if port else self.file

    def __init__(self, running: Any) -> None:
        super().__init__(running)
        self._folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self._folder.name, "x.db")
        self.run("CREATE TABLE others (id INT)")

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        return {"url": f"jdbc:{self.kind}:{self.path(port)}", "table-name": name}

    def make(self, wrong: bool = False) -> str:
        name = f"t_{uuid.uuid4().hex[:10]}"
        made = [f"CREATE TABLE {name} (id INT, name VARCHAR(30))"]
        self.run(*made, *[f"INSERT INTO {name} VALUES (1, 'no number')"] * wrong)
        return name


class SqliteTables(_File):
    name, kind = "jdbc: SQLite", "sqlite"

    def run(self, *statements: str) -> None:
        connection = sqlite3.connect(self.file)
        for each in statements:
            connection.execute(each)
        connection.commit()
        connection.close()

    def meet_it(self, fault: Fault) -> None:
        if fault is not Fault.SILENT:
            return super().meet_it(fault)
        name = self.made()
        other = sqlite3.connect(self.file)
        try:
            other.execute("BEGIN EXCLUSIVE")
            self.use(self.table(0, name, None, **self.quick))
        finally:
            other.close()


class DuckDbTables(_File):
    name, kind = "jdbc: DuckDB", "duckdb"
    reasons = {**FILE, Fault.SILENT: "a file that another process holds: tests/connectors/jdbc/test_duckdb.py"}

    def run(self, *statements: str) -> None:
        import duckdb

        with duckdb.connect(self.file) as connection:
            for each in statements:
                connection.execute(each)


PLACES: list[type[Place]] = [PostgreSqlTables, MariaDbTables, SqliteTables, DuckDbTables]
