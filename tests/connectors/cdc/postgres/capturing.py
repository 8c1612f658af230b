"""Tables of a PostgreSQL server that are captured, and what is asked of the server without the code that is tested."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import psycopg

from millrace.connectors.cdc.cdc_source import CdcSource
from millrace.connectors.cdc.changes import Chunking
from millrace.connectors.cdc.database import StartupOptions
from millrace.connectors.cdc.deserializers import EventDecoder
from millrace.connectors.cdc.events import DataChangeEvent, Event, OperationType
from millrace.connectors.cdc.postgres.postgres_catalog import PostgresSettings
from millrace.connectors.cdc.postgres.postgres_database import PostgresDatabase
from millrace.connectors.jdbc.dialect import Target
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.services import PostgreSQL

DEADLINE_SECONDS = 60.0


class Captured:
    """A schema of its own, with a slot of its own."""

    def __init__(self, server: PostgreSQL) -> None:
        self.server = server
        self.schema = f"s_{uuid.uuid4().hex[:10]}"
        self.slot = f"slot_{self.schema}"
        self.target = Target((("127.0.0.1", server.port),), server.database, server.user, server.password)
        self.connection = psycopg.connect(server.url, autocommit=True)
        self.run("SET lock_timeout = '20s'")  # a test that leaves a transaction behind shall say so
        self.run(f"CREATE SCHEMA {self.schema}")
        self.run(f"SET search_path TO {self.schema}")

    def run(self, statement: str, *values: Any) -> list[Any]:
        found = self.connection.execute(statement, values or None)  # type: ignore[arg-type]
        return list(found.fetchall()) if found.description else []

    def settings(self, tables: str = ".*", **more: Any) -> PostgresSettings:
        given = {"heartbeat": 0.2, "wait": 20.0, **more}
        return PostgresSettings(self.target, (self.schema,), (f"{self.schema}\\.{tables}",), self.slot, **given)

    def source(
        self,
        tables: str = ".*",
        rows: int = 50,
        startup: StartupOptions | None = None,
        decoder: Any = None,
        **more: Any,
    ) -> CdcSource[Any]:
        columns = more.pop("columns", {})
        database = PostgresDatabase(self.settings(tables, **more))
        return CdcSource(database, decoder or EventDecoder(), startup or StartupOptions(), Chunking(rows), columns)

    def rows(self, table: str) -> dict[Any, tuple[Any, ...]]:
        """What is in a table, by its first column."""
        return {row[0]: tuple(row) for row in self.run(f"SELECT * FROM {table}")}

    def slots(self) -> list[Any]:
        return self.run(
            "SELECT confirmed_flush_lsn, active_pid FROM pg_replication_slots WHERE slot_name = %s", self.slot
        )

    def drop_slot(self) -> None:
        until = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                self.run(
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s",
                    self.slot,
                )
                return
            except psycopg.errors.ObjectInUse:
                if time.monotonic() > until:
                    raise
                self.run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
                time.sleep(0.05)

    def close(self) -> None:
        self.drop_slot()
        self.run(f"DROP PUBLICATION IF EXISTS millrace_{self.slot}")
        self.run(f"DROP SCHEMA {self.schema} CASCADE")
        self.connection.close()


def replayed(events: list[Event]) -> dict[Any, tuple[Any, ...]]:
    """The tables that events add up to: (table, key) to row. Of a table without a key the whole row is the key.

    :raises AssertionError: a row is inserted that is there, or taken back that is not.
    """
    found: dict[Any, tuple[Any, ...]] = {}
    for event in events:
        if not isinstance(event, DataChangeEvent):
            continue

        def key(row: tuple[Any, ...], event: DataChangeEvent = event) -> Any:
            places = event.schema.key_places or range(len(row))
            return (event.table.table, *(row[place] for place in places))

        # An update without its old row leaves the key as it was.
        before = event.after if event.op is OperationType.UPDATE and event.before is None else event.before
        if event.op in (OperationType.UPDATE, OperationType.DELETE):
            assert before is not None
            assert found.pop(key(before), None) is not None, f"was not there: {event}"
        else:
            assert before is None
        if event.op is not OperationType.DELETE:
            assert event.after is not None
            assert key(event.after) not in found, f"inserted twice: {event}"
            found[key(event.after)] = event.after
    return found


def until(job: SourceJob, done: Callable[[list[Any]], bool]) -> None:
    """Run epochs until what was emitted is enough."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not done(job.emitted):
        assert time.monotonic() < end, (
            f"not within {DEADLINE_SECONDS:g} s; the last of {len(job.emitted)}: {job.emitted[-3:]}"
        )
        job.epoch()


class Writers:
    """Threads that change tables at random until they are told to stop.

    :param change: makes one change, with a connection and dice.
    """

    def __init__(self, captured: Captured, change: Callable[[Any, random.Random], None], count: int = 2) -> None:
        self._captured, self._change = captured, change
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(seed,), daemon=True) for seed in range(count)]
        self.changes = 0
        self.problems: list[Exception] = []

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert not self.problems, self.problems

    def _run(self, seed: int) -> None:
        dice = random.Random(seed)
        with psycopg.connect(self._captured.server.url) as connection:
            connection.execute(f"SET search_path TO {self._captured.schema}")
            connection.commit()
            while not self._stop.is_set():
                try:
                    for _ in range(dice.randrange(1, 4)):
                        self._change(connection, dice)
                    if dice.random() < 0.1:
                        connection.rollback()
                    else:
                        connection.commit()
                        self.changes += 1
                except (psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation):
                    connection.rollback()
                except Exception as error:
                    self.problems.append(error)
                    return
