"""Captures under random changes, with readers that die: at the end they have what the table has, change by change."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from tests.connectors.cdc.mysql.capturing import Server, replayed
from tests.seeds import seed_of

from millrace.connectors.cdc.events import TableId
from millrace.connectors.cdc.mysql import binlog_reader, snapshot_chunks
from millrace.testing.connectors.sources import SourceJob, haunt

pytestmark = pytest.mark.services

SEED = seed_of("MILLRACE_CDC_SEED")
TRANSACTIONS, DEATHS = 400, 6
LONGEST = 240.0
"""seconds: on a machine that has much else to do"""
KEYS = {
    "INT": lambda number: number,
    "VARCHAR(20) COLLATE utf8mb4_unicode_ci": lambda number: f"{'äBcÖ z'[number % 6]}{number}",
    "BINARY(4)": lambda number: number.to_bytes(4, "big"),
    "DATETIME(3)": lambda number: f"2024-01-01 00:00:{number % 60:02d}.{number:03d}",
}


class Changing(threading.Thread):
    """Changes rows of a table until it is told to stop, then writes one that says so."""

    def __init__(self, server: Server, table: TableId, key: Callable[[int], Any], seed: int, alters: bool) -> None:
        super().__init__(daemon=True)
        self._server, self._name, self._key = server, table.table, key
        self._drawn = random.Random(seed)
        self._alters = alters
        self.stop = threading.Event()
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            with closing(self._server.connect()) as connection, closing(connection.cursor()) as cursor:
                number = 0
                while number < TRANSACTIONS and not self.stop.is_set():
                    number += 1
                    self._transaction(cursor, number)
                    time.sleep(0.001)
        except BaseException as error:
            self.failed = error

    def _transaction(self, cursor: Any, number: int) -> None:
        drawn, name = self._drawn, self._name
        kind = drawn.random()
        if self._alters and kind < 0.02:
            change = f"ADD COLUMN x{number} INT DEFAULT {number}" if drawn.random() < 0.6 else "MODIFY v BIGINT"
            cursor.execute(f"ALTER TABLE {name} {change}")
            return
        if kind < 0.1:
            xid = f"{name}{number}"
            cursor.execute(f"XA START '{xid}'")
            self._changes(cursor)
            cursor.execute(f"XA END '{xid}'")
            cursor.execute(f"XA PREPARE '{xid}'")
            cursor.execute(f"XA {drawn.choice(('COMMIT', 'ROLLBACK'))} '{xid}'")
            return
        cursor.execute("BEGIN")
        self._changes(cursor)
        cursor.execute("COMMIT" if drawn.random() < 0.9 else "ROLLBACK")

    def _changes(self, cursor: Any) -> None:
        drawn, name = self._drawn, self._name
        for _ in range(drawn.choice((1, 1, 2, 5, 20))):
            key, other = self._key(drawn.randrange(400)), self._key(drawn.randrange(400))
            value = drawn.randrange(1000)
            kind = drawn.random()
            if kind < 0.4:
                query = f"INSERT INTO {name} (k, v) VALUES (%s, %s) ON DUPLICATE KEY UPDATE v = v + 1"
                cursor.execute(query, (key, value))
            elif kind < 0.7:
                cursor.execute(f"UPDATE {name} SET v = %s WHERE k >= %s LIMIT 3", (value, key))
            elif kind < 0.8:
                cursor.execute(f"UPDATE IGNORE {name} SET k = %s WHERE k = %s", (other, key))
            else:
                cursor.execute(f"DELETE FROM {name} WHERE k = %s", (key,))


def slowly(rows_of: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*arguments: Any) -> Any:
        time.sleep(0.01)
        found = rows_of(*arguments)
        time.sleep(0.01)
        return found

    return slow


def fill(server: Server, table: TableId, key: Callable[[int], Any]) -> None:
    with closing(server.connect()) as connection, closing(connection.cursor()) as cursor:
        cursor.executemany(
            f"INSERT INTO {table.table} (k, v) VALUES (%s, %s)", [(key(number), number) for number in range(0, 400, 2)]
        )


@pytest.mark.parametrize(
    ("kind", "engine", "alters"),
    [
        ("INT", "InnoDB", True),
        ("INT", "Aria", False),
        pytest.param("BINARY(4)", "InnoDB", True, marks=pytest.mark.slow),
        pytest.param("DATETIME(3)", "Aria", True, marks=pytest.mark.slow),
        pytest.param("VARCHAR(20) COLLATE utf8mb4_unicode_ci", "InnoDB", True, marks=pytest.mark.slow),
        pytest.param("VARCHAR(20) COLLATE utf8mb4_unicode_ci", "Aria", True, marks=pytest.mark.slow),
    ],
)
def test_a_capture_has_what_the_table_has(
    server: Server, kind: str, engine: str, alters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Positions within transactions, and changes while rows of a chunk are read.
    monkeypatch.setattr(binlog_reader, "MOST", 3 if kind == "INT" else 100)
    monkeypatch.setattr(snapshot_chunks, "rows_of", slowly(snapshot_chunks.rows_of))
    print(f"MILLRACE_CDC_SEED={SEED}")
    drawn = random.Random(SEED)
    key = KEYS[kind]
    table = server.create(f"k {kind} PRIMARY KEY, v INT", f"ENGINE={engine}")
    fill(server, table, key)
    source = server.source(table, rows=drawn.choice((7, 30, 90)))
    changing = Changing(server, table, key, SEED, alters)
    changing.start()
    job = SourceJob(source, 2)
    kept = None
    until = time.monotonic() + LONGEST
    epochs, deaths = 0, 0
    try:
        while True:
            job.epoch(drawn.choice((1, 2, 50)))
            epochs += 1
            if drawn.random() < 0.5:
                kept = job.checkpoint()
            if kept is not None and deaths < DEATHS and drawn.random() < 0.1:
                ghosts = job.leave()
                job = SourceJob(source, drawn.choice((1, 2, 3)), kept)
                haunt(ghosts, 2)
                deaths += 1
            if not changing.is_alive() and deaths == DEATHS and epochs % 10 == 0 and same(server, table, job.emitted):
                return
            time.sleep(0.005)
            assert time.monotonic() < until, difference(server, table, job.emitted)
    finally:
        changing.stop.set()
        changing.join(30)
        job.close()
        assert changing.failed is None


def now(server: Server, table: TableId) -> list[Any]:
    return sorted(server.run(f"SELECT k, v FROM {table.table}"))


def captured(table: TableId, events: list[Any]) -> list[Any]:
    return sorted(row[:2] for row in replayed(events).get(table, {}).values())


def same(server: Server, table: TableId, events: list[Any]) -> bool:
    return now(server, table) == captured(table, events)


def difference(server: Server, table: TableId, events: list[Any]) -> str:
    """What one has and the other does not."""
    here, there = set(captured(table, events)), set(now(server, table))
    return f"too many {sorted(here - there)[:5]}, missing {sorted(there - here)[:5]} after {len(events)} events"


def test_tables_that_match_when_a_job_goes_on(server: Server) -> None:
    name = server.create("k INT PRIMARY KEY, v INT").table
    server.run(f"INSERT INTO {name} VALUES (1, 1)")
    source = server.source(TableId("", "millrace", f"{name}.*"), newly_added=True)
    first, second = TableId("", "millrace", name), TableId("", "millrace", f"{name}_2")
    job = SourceJob(source, 2)
    until = time.monotonic() + LONGEST
    while not same(server, first, job.emitted):
        job.epoch()
        assert time.monotonic() < until
    job.epoch()
    kept = job.checkpoint()
    job.close()
    server.run(f"CREATE TABLE {name}_2 (k INT PRIMARY KEY, v INT)", f"INSERT INTO {name}_2 VALUES (1, 2), (3, 4)")
    server.run(f"UPDATE {name}_2 SET v = 5 WHERE k = 1", f"INSERT INTO {name} VALUES (2, 2)")
    job = SourceJob(source, 2, kept)
    try:
        number = 10
        while not (same(server, first, job.emitted) and same(server, second, job.emitted) and number > 20):
            job.epoch()
            number += 1
            if number < 20:
                server.run(f"INSERT INTO {name}_2 VALUES ({number}, 0)", f"UPDATE {name} SET v = {number}")
            time.sleep(0.01)
            assert time.monotonic() < until, difference(server, second, job.emitted)
    finally:
        job.close()
