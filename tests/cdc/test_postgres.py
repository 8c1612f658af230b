"""A PostgreSQL copied into another database while it is changed, with failures. The oracle is the source itself."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.cdc.running import DEADLINE_SECONDS, running

from millrace.testing.services import PostgreSQL

pytestmark = pytest.mark.services

PIPELINE = r"""
source:
  type: postgres
  hostname: 127.0.0.1
  port: {port}
  username: postgres
  password: millrace
  tables: {source}.app.\.*
  tables.exclude: {source}.app.secret\.*
  slot.name: {slot}
  scan.incremental.snapshot.chunk.size: 40
sink:
  type: postgres
  hostname: 127.0.0.1
  port: {port}
  username: postgres
  password: millrace
  database-name: {target}
route:
  - source-table: app.orders_\.*
    sink-table: ods.orders
  - source-table: app.customers
    sink-table: ods.clients
transform:
  - source-table: app.orders_\.*
    projection: \*, price * amount AS total, __table_name__ AS shard
    primary-keys: shard, id
    filter: amount >= 0
pipeline:
  parallelism: 2
  schema.change.behavior: evolve
"""
TABLES = """
    CREATE SCHEMA app;
    CREATE TABLE app.orders_1 (id int PRIMARY KEY, price numeric(10,2), amount int);
    ALTER TABLE app.orders_1 REPLICA IDENTITY FULL;
    CREATE TABLE app.orders_2 (id int PRIMARY KEY, price numeric(12,3), amount int, note text);
    ALTER TABLE app.orders_2 REPLICA IDENTITY FULL;
    CREATE TABLE app.customers (id uuid PRIMARY KEY, name text NOT NULL, tags text[], doc jsonb);
    CREATE TABLE app.secrets (id int PRIMARY KEY);
    INSERT INTO app.orders_1 SELECT i, i / 4.0, i % 7 - 1 FROM generate_series(1, 100) i;
    INSERT INTO app.orders_2 SELECT i, i / 8.0, i % 5 - 1, 'n' || i FROM generate_series(1, 100) i;
    INSERT INTO app.customers SELECT gen_random_uuid(), 'c' || i, ARRAY['a', NULL], '{"k": 1}'
    FROM generate_series(1, 30) i;
"""
ORDERS = """
    SELECT shard, id, price::numeric(15,3), amount, total::numeric(20,3), note FROM (
        SELECT 'orders_1' AS shard, id, price, amount, price * amount AS total, NULL AS note FROM app.orders_1
        UNION ALL SELECT 'orders_2', id, price, amount, price * amount, note FROM app.orders_2) o
    WHERE amount >= 0 ORDER BY 1, 2
"""
COPIED = "SELECT shard, id, price::numeric(15,3), amount, total::numeric(20,3), note FROM ods.orders ORDER BY 1, 2"


class Databases:
    """A source and a target."""

    def __init__(self, server: PostgreSQL) -> None:
        self.server = server
        name = uuid.uuid4().hex[:10]
        self.source, self.target, self.slot = f"s_{name}", f"t_{name}", f"slot_{name}"

    def run(self, database: str, statement: str) -> list[tuple[Any, ...]]:
        url = f"postgresql://postgres:millrace@127.0.0.1:{self.server.port}/{database}"
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            found = connection.execute(statement)  # type: ignore[arg-type]
            return found.fetchall() if found.description else []

    def drop_slot(self) -> None:
        """Once it is free: who has read it may have been killed a moment ago."""
        mine = f"FROM pg_replication_slots WHERE slot_name = '{self.slot}'"
        until = time.monotonic() + DEADLINE_SECONDS
        while self.run(self.source, f"SELECT 1 {mine}"):
            self.run(self.source, f"SELECT pg_terminate_backend(active_pid) {mine} AND active")
            with contextlib.suppress(psycopg.errors.ObjectInUse):
                self.run(self.source, f"SELECT pg_drop_replication_slot(slot_name) {mine} AND NOT active")
            assert time.monotonic() < until, f"slot {self.slot} is still in use"

    def copied(self, statement: str) -> list[tuple[Any, ...]]:
        """Of the target; nothing as long as the table is not there."""
        try:
            return self.run(self.target, statement)
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
            return []


@pytest.fixture
def databases(postgres: PostgreSQL) -> Iterator[Databases]:
    found = Databases(postgres)
    for name in (found.source, found.target):
        found.run("postgres", sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)).as_string())
    found.run(found.source, TABLES)
    yield found
    found.drop_slot()


def test_a_database_is_copied_while_it_changes(databases: Databases) -> None:
    text = PIPELINE.format(
        port=databases.server.port, source=databases.source, target=databases.target, slot=databases.slot
    )

    def same() -> bool:
        source, target = databases.run(databases.source, ORDERS), databases.copied(COPIED)
        return source == target and _clients(databases)

    with running(text) as job:
        job.until(same, "the snapshot is copied")
        job.fail()
        databases.run(
            databases.source,
            """
            UPDATE app.orders_1 SET amount = -1 WHERE id % 3 = 0;
            UPDATE app.orders_2 SET amount = 5, id = id + 1000 WHERE id % 4 = 0;
            DELETE FROM app.orders_2 WHERE id % 9 = 0;
            UPDATE app.customers SET name = name || '!' WHERE name LIKE '%1';
            DELETE FROM app.customers WHERE name LIKE '%2';
            """,
        )
        job.until(same, "changes are copied")
        databases.run(databases.source, "ALTER TABLE app.customers ADD COLUMN age int")
        databases.run(databases.source, "UPDATE app.customers SET age = length(name) WHERE name > 'c2'")
        job.fail(2)
        job.until(lambda: same() and _ages(databases), "an added column is copied")
        job.lose()
        databases.run(databases.source, "ALTER TABLE app.customers DROP COLUMN doc")
        databases.run(databases.source, "INSERT INTO app.customers VALUES (gen_random_uuid(), 'new', '{}', 7)")
        job.until(lambda: _ages(databases) and "doc" not in _columns(databases), "a column that is gone goes")
    assert databases.run(databases.target, "SELECT to_regclass('app.secrets')") == [(None,)]
    assert _columns(databases)["id"] == "uuid"


def _clients(databases: Databases) -> bool:
    query = "SELECT id, name, tags, doc FROM {} ORDER BY id"
    return databases.run(databases.source, query.format("app.customers")) == databases.copied(
        query.format("ods.clients")
    )


def _ages(databases: Databases) -> bool:
    query = "SELECT id, name, tags, age FROM {} ORDER BY id"
    return databases.run(databases.source, query.format("app.customers")) == databases.copied(
        query.format("ods.clients")
    )


def _columns(databases: Databases) -> dict[str, str]:
    return dict(
        databases.run(
            databases.target,
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'clients'",
        )
    )
