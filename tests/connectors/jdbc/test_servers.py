"""The databases that tests start: what they can do, and that they come back from a crash with what was committed."""

from __future__ import annotations

import psycopg
import pymysql
import pytest

from millrace.testing.services import MariaDB, PostgreSQL

pytestmark = pytest.mark.services


def test_postgresql_comes_back_with_what_is_prepared(postgres: PostgreSQL) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as client:
        client.execute("CREATE TABLE kept (n INT)")
        client.execute("SELECT pg_create_logical_replication_slot('kept', 'wal2json')")
        client.execute("BEGIN")
        client.execute("INSERT INTO kept VALUES (1)")
        client.execute("PREPARE TRANSACTION 'kept'")
    postgres.crash()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres.url)
    postgres.start_again()
    with psycopg.connect(postgres.url, autocommit=True) as client:
        client.execute("COMMIT PREPARED 'kept'")
        assert client.execute("SELECT n FROM kept").fetchall() == [(1,)]
        assert client.execute("SELECT plugin FROM pg_replication_slots").fetchall() == [("wal2json",)]
        client.execute("SELECT pg_drop_replication_slot('kept')")
        client.execute("DROP TABLE kept")


def test_mariadb_comes_back_with_what_is_prepared(mariadb: MariaDB) -> None:
    with _connected(mariadb) as client, client.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (n INT)")
        cursor.execute("XA START 'kept'")
        cursor.execute("INSERT INTO kept VALUES (1)")
        cursor.execute("XA END 'kept'")
        cursor.execute("XA PREPARE 'kept'")
    mariadb.crash()
    with pytest.raises(pymysql.OperationalError):
        _connected(mariadb)
    mariadb.start_again()
    with _connected(mariadb) as client, client.cursor() as cursor:
        cursor.execute("XA COMMIT 'kept'")
        cursor.execute("SELECT n, @@binlog_format, @@binlog_row_metadata FROM kept")
        assert cursor.fetchall() == ((1, "ROW", "FULL"),)
        cursor.execute("DROP TABLE kept")


def _connected(server: MariaDB) -> pymysql.Connection:
    return pymysql.connect(
        host="127.0.0.1",
        port=server.port,
        user=server.user,
        password=server.password,
        database=server.database,
        autocommit=True,
    )
