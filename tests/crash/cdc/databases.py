"""The databases whose table is captured and copied: how each is asked, changed and described to the job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import psycopg
import pymysql

from millrace.testing.services import MariaDB, PostgreSQL
from millrace.testing.services.databases import Database


class Copied(ABC):
    """A server with the table ``t``, which is changed, and ``copied``, which the job writes.

    :cvar errors: what a client raises of which the server is away.
    :cvar taken: what it raises of a key that is there.
    :cvar changes: statements, with the share of all up to each. ``{ids}`` are numbers with commas between.
    :cvar lag: seconds since the last change that the copy has.
    :cvar differences: how many rows only the table has, how many only the copy, and how many the table has.
    """

    errors: ClassVar[type[Exception]]
    taken: ClassVar[type[Exception]]
    changes: ClassVar[Mapping[float, str]]
    table: ClassVar[str]
    filled: ClassVar[str]
    lag: ClassVar[str]
    differences: ClassVar[str]

    def __init__(self, server: Database) -> None:
        self.server = server

    @abstractmethod
    def connected(self) -> AbstractContextManager[Any]:
        """A connection, which is closed at the end; ``commit`` is its user's."""

    @abstractmethod
    def captured(self) -> Mapping[str, str]:
        """The options of the captured table."""

    def copy(self) -> Mapping[str, str]:
        """Those of the copy."""
        server: Any = self.server
        return {
            "connector": "jdbc", "url": server.jdbc_url, "username": server.user, "password": server.password,
            "table-name": "copied",
        }  # fmt: skip

    def change(self, kind: float, ids: list[int]) -> str:
        """:param kind: drawn between 0 and 1."""
        return next(each for share, each in self.changes.items() if kind < share).format(ids=", ".join(map(str, ids)))

    def fill(self, rows: int) -> None:
        with self.connected() as connection:
            cursor = connection.cursor()
            for name in ("t", "copied"):
                cursor.execute(f"CREATE TABLE {name} {self.table}")
            cursor.execute(self.filled.format(rows=rows))
            connection.commit()

    def asked(self, query: str) -> Any:
        """The first row, None while the server is away."""
        try:
            with self.connected() as connection:
                cursor = connection.cursor()
                cursor.execute(query)
                return cursor.fetchone()
        except self.errors:
            return None


class OfPostgres(Copied):
    errors = psycopg.Error
    taken = psycopg.errors.UniqueViolation
    table = "(id INT PRIMARY KEY, v TEXT, n NUMERIC(12, 2), changed TIMESTAMPTZ)"
    filled = "INSERT INTO t SELECT i, 'v' || i, i / 100.0, clock_timestamp() FROM generate_series(1, {rows}) AS i"
    changes: ClassVar[Mapping[float, str]] = {
        0.6: "UPDATE t SET v = v || '.', n = n + 1, changed = clock_timestamp() WHERE id IN ({ids})",
        0.8: "INSERT INTO t SELECT i, 'new', i, clock_timestamp() FROM unnest(ARRAY[{ids}]) AS i "
        "ON CONFLICT (id) DO UPDATE SET v = 'again', changed = excluded.changed",
        0.95: "DELETE FROM t WHERE id IN ({ids})",
        1.0: "UPDATE t SET id = -id, changed = clock_timestamp() WHERE id IN ({ids})",
    }
    lag = "SELECT extract(epoch FROM clock_timestamp() - max(changed)) FROM copied"
    differences = (
        "SELECT (SELECT count(*) FROM (SELECT * FROM t EXCEPT SELECT * FROM copied) AS missing), "
        "(SELECT count(*) FROM (SELECT * FROM copied EXCEPT SELECT * FROM t) AS more), (SELECT count(*) FROM t)"
    )

    def __init__(self) -> None:
        super().__init__(PostgreSQL())

    def connected(self) -> AbstractContextManager[Any]:
        server: Any = self.server
        return psycopg.connect(server.url)

    def captured(self) -> Mapping[str, str]:
        server: Any = self.server
        return {
            "connector": "postgres-cdc", "hostname": "127.0.0.1", "port": str(server.port), "username": server.user,
            "password": server.password, "database-name": server.database, "schema-name": "public", "table-name": "t",
            "slot.name": "crashes", "changelog-mode": "upsert", "heartbeat.interval.ms": "1 s",
        }  # fmt: skip


class OfMariaDB(Copied):
    errors = pymysql.Error
    taken = pymysql.err.IntegrityError
    table = (
        "(id INT PRIMARY KEY, v TEXT, n NUMERIC(12, 2), changed TIMESTAMP(6) NULL) CHARACTER SET utf8mb4 "
        "COLLATE utf8mb4_bin"
    )
    filled = "INSERT INTO t SELECT seq, CONCAT('v', seq), seq / 100.0, NOW(6) FROM seq_1_to_{rows}"
    changes: ClassVar[Mapping[float, str]] = {
        0.6: "UPDATE t SET v = CONCAT(v, '.'), n = n + 1, changed = SYSDATE(6) WHERE id IN ({ids})",
        0.8: "INSERT INTO t SELECT seq, 'new', seq, SYSDATE(6) FROM seq_1_to_2000000 WHERE seq IN ({ids}) "
        "ON DUPLICATE KEY UPDATE v = 'again', changed = SYSDATE(6)",
        0.95: "DELETE FROM t WHERE id IN ({ids})",
        1.0: "UPDATE t SET id = -id, changed = SYSDATE(6) WHERE id IN ({ids})",
    }
    lag = "SELECT TIMESTAMPDIFF(MICROSECOND, max(changed), SYSDATE(6)) / 1e6 FROM copied"
    # Its EXCEPT takes minutes for a million rows.
    _other = (
        "(SELECT count(*) FROM {} AS a LEFT JOIN {} AS b USING (id) WHERE b.id IS NULL OR NOT "
        "(a.v <=> b.v AND a.n <=> b.n AND a.changed <=> b.changed))"
    )
    differences = f"SELECT {_other.format('t', 'copied')}, {_other.format('copied', 't')}, (SELECT count(*) FROM t)"

    def __init__(self) -> None:
        super().__init__(MariaDB({"default-time-zone": "+00:00"}))

    def connected(self) -> AbstractContextManager[Any]:
        server: Any = self.server
        where = {"host": "127.0.0.1", "port": server.port, "database": server.database}
        # Without locks on what lies between rows writers rarely stand in each other's way.
        level = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
        made: AbstractContextManager[Any] = pymysql.connect(
            user=server.user, password=server.password, init_command=level, **where
        )
        return made

    def captured(self) -> Mapping[str, str]:
        server: Any = self.server
        return {
            "connector": "mysql-cdc", "hostname": "127.0.0.1", "port": str(server.port), "username": server.user,
            "password": server.password, "database-name": server.database, "table-name": "t",
            "changelog-mode": "upsert", "heartbeat.interval": "1 s",
        }  # fmt: skip


DATABASES: Mapping[str, type[OfPostgres] | type[OfMariaDB]] = {"postgres": OfPostgres, "mariadb": OfMariaDB}
