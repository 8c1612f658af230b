"""Values of all types and changes of tables in PostgreSQL and MariaDB, asked of their drivers."""

from __future__ import annotations

import datetime as dt
import uuid
from contextlib import closing
from decimal import Decimal
from typing import Any

import psycopg
import pymysql
import pytest
from tests.cdc.running import run

from millrace.testing.services import MariaDB, PostgreSQL

pytestmark = pytest.mark.services

PIPELINE = """
source:
  type: values
  events:
    - table: DB.t
      create:
        primary-key: [k, s]
        columns: {{k: INT, s: VARCHAR(9), b: BOOLEAN, l: BIGINT, d: DOUBLE, n: 'DECIMAL(12, 3)', x: STRING, y: BYTES,
                  dt: DATE, tm: TIME(0), ts: TIMESTAMP(6)}}
    - table: DB.t
      insert:
        - [1, "a'b", true, 9223372036854775807, 0.1, 123456789.125, "quo'te\\\\ \\"", ab, 2024-05-06, '07:08:09',
           '2024-05-06 07:08:09.123456']
        - [2, c, null, null, null, null, null, null, null, null, null]
        - [3, d, false, -1, -1.5, -0.001, '', '', 1999-12-31, '23:59:59', '1999-12-31 23:59:59']
    - {{table: DB.t, rename-column: {{x: text}}}}
    - {{table: DB.t, drop-column: [b, dt, tm]}}
    - {{table: DB.t, add-column: {{name: more, type: 'DECIMAL(20, 0)'}}}}
    - {{table: DB.t, alter-column-type: {{n: 'DECIMAL(14, 4)', l: STRING}}}}
    - table: DB.t
      update:
        - [3, d, -1, -1.5, -0.001, '', '', '1999-12-31 23:59:59', null]
        - [30, d, text now, 2.5, 0.0001, new, z, '2000-01-01 00:00:00', 18446744073709551615]
    - {{table: DB.t, delete: [[2, c, null, null, null, null, null, null, null]]}}
    - {{table: DB.gone, create: {{columns: {{id: INT}}, primary-key: [id]}}}}
    - {{table: DB.gone, insert: [[1]]}}
    - {{table: DB.gone, drop: true}}
    - {{table: DB.empty, create: {{columns: {{id: INT}}, primary-key: [id]}}}}
    - {{table: DB.empty, insert: [[1]]}}
    - {{table: DB.empty, truncate: true}}
sink:
  type: {kind}
  hostname: 127.0.0.1
  port: {server.port}
  username: {server.user}
  password: {server.password}
  database-name: {server.database}
pipeline: {{schema.change.behavior: evolve}}
"""
EXPECTED = [
    (
        1, "a'b", "9223372036854775807", 0.1, Decimal("123456789.1250"), "quo'te\\ \"", b"ab",
        dt.datetime(2024, 5, 6, 7, 8, 9, 123456), None,
    ),
    (
        30, "d", "text now", 2.5, Decimal("0.0001"), "new", b"z", dt.datetime(2000, 1, 1), Decimal(2**64 - 1),
    ),
]  # fmt: skip


def check(ask: Any, name: str) -> None:
    columns = "k, s, l, d, n, text, y, ts, more"
    assert ask(f"SELECT {columns} FROM {name}.t ORDER BY k") == EXPECTED
    assert ask(f"SELECT * FROM {name}.empty") == []
    tables = f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{name}' ORDER BY 1"
    assert ask(tables) == [("empty",), ("millrace_schema_changes",), ("t",)]


def test_postgresql(postgres: PostgreSQL) -> None:
    name = f"s_{uuid.uuid4().hex[:10]}"
    text = PIPELINE.format(kind="postgres", server=postgres).replace("DB", name)

    def ask(query: str) -> list[Any]:
        with closing(psycopg.connect(postgres.url)) as connection:
            return connection.execute(query).fetchall()  # type: ignore[arg-type]

    run(text, epoch_records=3)
    check(ask, name)
    run(text)  # once more, as after a failure
    check(ask, name)


def test_mariadb(mariadb: MariaDB) -> None:
    name = f"s_{uuid.uuid4().hex[:10]}"
    text = PIPELINE.format(kind="mysql", server=mariadb).replace("DB", name)

    def ask(query: str) -> list[Any]:
        where = {"host": "127.0.0.1", "port": mariadb.port, "user": mariadb.user, "password": mariadb.password}
        with closing(pymysql.connect(**where)) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    run(text, epoch_records=3)
    check(ask, name)
    run(text)
    check(ask, name)
