"""A MariaDB copied into PostgreSQL while it is changed, with failures. The oracle is the source itself."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pymysql
import pytest
from tests.cdc.running import running

from millrace.testing.services import MariaDB, PostgreSQL

pytestmark = pytest.mark.services

PIPELINE = r"""
source:
  type: mysql
  hostname: 127.0.0.1
  port: {mariadb.port}
  username: {mariadb.user}
  password: {mariadb.password}
  tables: {name}.t[12]
  scan.incremental.snapshot.chunk.size: 30
sink:
  type: postgres
  hostname: 127.0.0.1
  port: {postgres.port}
  username: postgres
  password: millrace
  database-name: postgres
transform:
  - source-table: {name}.t2
    projection: \*, op_ts AS committed
route:
  - source-table: {name}.\.*
    sink-table: {name}.copy_<>
    replace-symbol: <>
pipeline:
  parallelism: 2
  schema.change.behavior: evolve
"""


class Servers:
    def __init__(self, mariadb: MariaDB, postgres: PostgreSQL) -> None:
        self.mariadb, self.postgres = mariadb, postgres
        self.name = f"db_{uuid.uuid4().hex[:10]}"

    def source(self, *statements: str) -> list[tuple[Any, ...]]:
        where = {"host": "127.0.0.1", "port": self.mariadb.port, "autocommit": True}
        with (
            closing(pymysql.connect(user=self.mariadb.user, password=self.mariadb.password, **where)) as connection,
            connection.cursor() as cursor,
        ):
            for each in statements:
                cursor.execute(each.replace("{db}", self.name))
            return list(cursor.fetchall())

    def same(self, number: int, columns: str) -> bool:
        query = f"SELECT {columns} FROM {self.name}.{{}} ORDER BY id"
        try:
            with closing(psycopg.connect(self.postgres.url)) as connection:
                copied = connection.execute(query.format(f"copy_t{number}")).fetchall()  # type: ignore[arg-type]
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.errors.InvalidSchemaName):
            return False
        return copied == self.source(query.format(f"t{number}"))


@pytest.fixture
def servers(mariadb: MariaDB, postgres: PostgreSQL) -> Iterator[Servers]:
    found = Servers(mariadb, postgres)
    found.source(
        "CREATE DATABASE {db}",
        "CREATE TABLE {db}.t1 (id int PRIMARY KEY, a decimal(10,2), b varchar(20), c datetime(3))",
        "CREATE TABLE {db}.t2 (id bigint unsigned PRIMARY KEY, d double)",
        "INSERT INTO {db}.t1 WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
        "SELECT i, i / 4, concat('b', i), '2024-05-06 07:08:09.123' FROM n",
        "INSERT INTO {db}.t2 VALUES (1, 1.5), (18446744073709551615, NULL)",
    )
    yield found
    found.source("DROP DATABASE {db}")


def test_a_database_is_copied_while_it_changes(servers: Servers) -> None:
    with running(PIPELINE.format(mariadb=servers.mariadb, postgres=servers.postgres, name=servers.name)) as job:
        job.until(lambda: servers.same(1, "id, a, b, c") and servers.same(2, "id, d"), "the snapshot")
        job.fail()
        servers.source(
            "UPDATE {db}.t1 SET a = a + 1, id = id + 1000 WHERE id % 4 = 0",
            "DELETE FROM {db}.t1 WHERE id % 9 = 0",
            "ALTER TABLE {db}.t1 ADD COLUMN e int AFTER id, CHANGE b title text",
            "UPDATE {db}.t1 SET e = id, title = concat(title, '!') WHERE id % 2 = 0",
            "UPDATE {db}.t2 SET d = -1 WHERE id = 1",
        )
        job.until(lambda: servers.same(1, "id, a, title, c, e") and servers.same(2, "id, d"), "changes")
        job.fail(2)
        servers.source(
            "ALTER TABLE {db}.t1 DROP COLUMN c, MODIFY a decimal(12,4)",
            "UPDATE {db}.t1 SET a = 0.1234 WHERE id < 50",
            "TRUNCATE TABLE {db}.t2",
            "INSERT INTO {db}.t2 VALUES (7, 7)",
        )
        job.until(lambda: servers.same(1, "id, a, title, e") and servers.same(2, "id, d"), "more changes")
    with closing(psycopg.connect(servers.postgres.url)) as connection:
        ((committed,),) = connection.execute(f"SELECT committed FROM {servers.name}.copy_t2").fetchall()  # type: ignore[arg-type]
    assert abs(committed / 1000 - time.time()) < 3600
