"""Capturing a PostgreSQL that is changed meanwhile: the oracle is the table itself, at the end."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import pytest
from tests.connectors.cdc.postgres.capturing import DEADLINE_SECONDS, Captured, Writers, replayed, until

from millrace.connectors.cdc.database import PositionLost, StartupOptions
from millrace.connectors.cdc.events import (
    AddColumnEvent,
    AlterColumnTypeEvent,
    CreateTableEvent,
    DataChangeEvent,
    DropColumnEvent,
    OperationType,
    TruncateTableEvent,
)
from millrace.testing.connectors.sources import Checkpoint, SourceJob, haunt

pytestmark = pytest.mark.services


def changes(connection: Any, dice: random.Random) -> None:
    """Insertions, updates, deletions, changed keys, of numbers and texts."""
    key, value, kind = dice.randrange(1, 400), dice.randrange(1_000_000), dice.random()
    if kind < 0.4:
        connection.execute(
            "INSERT INTO a VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET v = excluded.v", [key, f"w{value}"]
        )
    elif kind < 0.6:
        connection.execute("DELETE FROM a WHERE id = %s", [key])
    elif kind < 0.7:
        connection.execute("UPDATE a SET id = id + 1000 WHERE id = %s", [key])
    elif kind < 0.85:
        connection.execute("UPDATE b SET v = %s WHERE k = %s", [value, f"k{key}"])
    else:
        connection.execute("UPDATE b SET k = 'ä' || k WHERE k = %s", [f"k{key}"])


def wanted(captured: Captured) -> dict[Any, tuple[Any, ...]]:
    found = {("a", key): row for key, row in captured.rows("a").items()}
    return found | {("b", key): row for key, row in captured.rows("b").items()}


def fill(captured: Captured, rows: int = 400) -> None:
    captured.run("CREATE TABLE a (id INT PRIMARY KEY, v TEXT)")
    captured.run('CREATE TABLE b (k TEXT COLLATE "de-x-icu" PRIMARY KEY, v INT)')
    captured.run(f"INSERT INTO a SELECT i, 'v' || i FROM generate_series(1, {rows}) AS i")
    captured.run(f"INSERT INTO b SELECT 'k' || i, i FROM generate_series(1, {rows}) AS i")


def test_kills_while_the_tables_are_changed_lose_and_double_nothing(captured: Captured) -> None:
    fill(captured)
    source, dice = captured.source(), random.Random(5)
    checkpoint: Checkpoint | None = None
    left: list[Any] = []
    with Writers(captured, changes) as writers:
        for life in range(8):
            job = SourceJob(source, dice.choice([1, 2, 3]), checkpoint)
            for _ in range(dice.randrange(2, 6)):
                job.epoch(polls=dice.randrange(1, 12))
                if dice.random() < 0.5:
                    checkpoint = job.checkpoint()
            if life % 3:
                job.close()
            else:
                left += job.leave()  # taken for dead, and goes on for a while
        until(job := SourceJob(source, 2, checkpoint), lambda _: writers.changes > 60)
        haunt(left)
        writers.stop()
    until(job, lambda emitted: replayed(emitted) == wanted(captured))
    job.close()


def test_a_checkpoint_lets_the_server_forget(captured: Captured) -> None:
    fill(captured, 20)
    job = SourceJob(captured.source())
    until(job, lambda emitted: len(replayed(emitted)) == 40)
    ((before, _),) = captured.slots()
    captured.run("INSERT INTO a SELECT i, 'x' FROM generate_series(1001, 1100) AS i")
    until(job, lambda emitted: len(replayed(emitted)) == 140)
    assert captured.slots()[0][0] == before, "confirmed before a checkpoint has it"
    end = time.monotonic() + DEADLINE_SECONDS
    while captured.slots()[0][0] == before:
        assert time.monotonic() < end
        job.checkpoint()
        job.epoch()
    job.close()


def test_others_that_write_do_not_hold_the_slot(captured: Captured) -> None:
    fill(captured, 5)
    captured.run("CREATE TABLE other (id INT)")
    job = SourceJob(captured.source("[ab]"))
    until(job, lambda emitted: len(replayed(emitted)) == 10)
    captured.run("INSERT INTO other SELECT * FROM generate_series(1, 1000)")
    (goal,) = captured.run("SELECT pg_current_wal_insert_lsn()")
    end = time.monotonic() + DEADLINE_SECONDS
    while not captured.run("SELECT 1 WHERE %s::pg_lsn >= %s::pg_lsn", captured.slots()[0][0], goal[0]):
        assert time.monotonic() < end
        job.epoch()
        job.checkpoint()
    assert len(replayed(job.emitted)) == 10
    job.close()


def test_schemas_are_followed_in_the_order_of_the_log(captured: Captured) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
    captured.run("INSERT INTO t VALUES (1, 'one')")
    source = captured.source()
    job = SourceJob(source)
    until(job, lambda emitted: len(replayed(emitted)) == 1)
    captured.run("INSERT INTO t VALUES (2, 'two')")
    captured.run("ALTER TABLE t ADD COLUMN n INT")
    captured.run("INSERT INTO t VALUES (3, 'three', 3)")
    until(job, lambda emitted: len(replayed(emitted)) == 3)
    checkpoint = job.checkpoint()
    job.close()
    captured.run("ALTER TABLE t DROP COLUMN v")
    captured.run("ALTER TABLE t ALTER COLUMN n TYPE BIGINT")
    captured.run("INSERT INTO t VALUES (4, 4)")
    captured.run("TRUNCATE t")
    job = SourceJob(source, 1, checkpoint)
    until(job, lambda emitted: isinstance(emitted[-1], TruncateTableEvent))
    job.close()
    schemas = [event for event in job.emitted if not isinstance(event, (DataChangeEvent, CreateTableEvent))]
    assert [type(event) for event in schemas] == [
        AddColumnEvent,
        DropColumnEvent,
        AlterColumnTypeEvent,
        TruncateTableEvent,
    ]
    assert [event.after for event in job.emitted if isinstance(event, DataChangeEvent)] == [
        (1, "one"),
        (2, "two"),
        (3, "three", 3),
        (4, 4),
    ]
    # Whoever applies them has the schema of the next row.
    schema = None
    for event in job.emitted:
        if isinstance(event, DataChangeEvent):
            assert schema is not None
            assert schema.names == event.schema.names
            assert schema.types == event.schema.types
        else:
            schema = event.apply(schema)


def test_old_rows_are_as_the_replica_identity_says(captured: Captured) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT, big TEXT)")
    captured.run("ALTER TABLE t ALTER big SET STORAGE EXTERNAL")
    captured.run("INSERT INTO t VALUES (1, 'a', repeat('x', 10000))")
    job = SourceJob(captured.source())
    until(job, lambda emitted: len(replayed(emitted)) == 1)
    captured.run("ALTER TABLE t REPLICA IDENTITY FULL")
    captured.run("UPDATE t SET v = 'b'")
    captured.run("UPDATE t SET id = 2")
    until(job, lambda emitted: replayed(emitted) == {("t", 2): (2, "b", "x" * 10000)})
    update = next(event for event in job.emitted if isinstance(event, DataChangeEvent) and event.before)
    assert (update.op, update.before) == (OperationType.UPDATE, (1, "a", "x" * 10000))
    captured.run("ALTER TABLE t REPLICA IDENTITY DEFAULT")
    captured.run("DELETE FROM t")
    until(job, lambda emitted: not replayed(emitted))
    deletion = job.emitted[-1]
    assert (deletion.before, deletion.before_is_key) == ((2, None, None), True)
    captured.run("INSERT INTO t VALUES (1, 'a', repeat('x', 10000))")
    captured.run("UPDATE t SET v = 'c'")
    with pytest.raises(Exception, match=r"t\.big: the log does not have the value.*REPLICA IDENTITY FULL"):
        until(job, lambda emitted: False)
    job.close()


def test_tables_without_a_key(captured: Captured) -> None:
    captured.run("CREATE TABLE t (n INT, v TEXT)")
    captured.run("INSERT INTO t SELECT i % 10, i::text FROM generate_series(1, 100) AS i")
    captured.run("INSERT INTO t VALUES (NULL, 'null')")
    with pytest.raises(Exception, match=r"neither a primary key nor a REPLICA IDENTITY.*REPLICA IDENTITY FULL"):
        SourceJob(captured.source())
    captured.run("ALTER TABLE t REPLICA IDENTITY FULL")
    job = SourceJob(captured.source(rows=7, columns={"t": "n"}), 2)
    job.epoch()
    captured.run("UPDATE t SET n = 9 - n WHERE n < 5")
    captured.run("DELETE FROM t WHERE n = 7")
    rows = {("t", *row) for row in captured.run("SELECT n, v FROM t")}
    until(job, lambda emitted: set(replayed(emitted)) == rows)
    # Behind the snapshot: each is one change with both rows, of which no key says that they are one row.
    captured.run("UPDATE t SET n = n - 5 WHERE n > 5")
    rows = {("t", *row) for row in captured.run("SELECT n, v FROM t")}
    until(job, lambda emitted: set(replayed(emitted)) == rows)
    job.close()
    assert [event.op for event in job.emitted if isinstance(event, DataChangeEvent)][-1] is OperationType.UPDATE


def test_tables_that_match_later(captured: Captured) -> None:
    captured.run("CREATE TABLE t_1 (id INT PRIMARY KEY, v TEXT)")
    captured.run("INSERT INTO t_1 SELECT i, 'a' FROM generate_series(1, 20) AS i")
    source = captured.source("t_.*", rows=5)
    job = SourceJob(source)
    until(job, lambda emitted: len(replayed(emitted)) == 20)
    checkpoint = job.checkpoint()
    job.close()
    captured.run("CREATE TABLE t_2 (id INT PRIMARY KEY, v TEXT)")
    captured.run("INSERT INTO t_2 SELECT i, 'a' FROM generate_series(1, 20) AS i")
    captured.run("UPDATE t_1 SET v = 'b' WHERE id < 5")
    job = SourceJob(source, 1, checkpoint)
    until(job, lambda emitted: len(emitted) > len(checkpoint.emitted))
    job.close()
    assert {table for table, _ in replayed(job.emitted)} == {"t_1"}, "only if it is asked for"
    job = SourceJob(replace(source, newly_added=True), 2, checkpoint)
    job.epoch()
    captured.run("UPDATE t_2 SET v = 'b' WHERE id < 5")
    captured.run("DELETE FROM t_2 WHERE id > 15")
    wanted = {("t_1", key): row for key, row in captured.rows("t_1").items()}
    wanted |= {("t_2", key): row for key, row in captured.rows("t_2").items()}
    until(job, lambda emitted: replayed(emitted) == wanted)
    job.close()


def test_partitions_are_one_table(captured: Captured) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT) PARTITION BY RANGE (id)")
    captured.run("CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10)")
    captured.run("CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (10) TO (20)")
    captured.run("INSERT INTO t SELECT i, 'x' FROM generate_series(0, 15) AS i")
    job = SourceJob(captured.source(rows=4), 2)
    until(job, lambda emitted: len(replayed(emitted)) == 16)
    captured.run("UPDATE t SET v = 'y' WHERE id > 12")
    captured.run("UPDATE t SET id = 19 WHERE id = 1")
    until(job, lambda emitted: replayed(emitted) == {("t", key): row for key, row in captured.rows("t").items()})
    job.close()


def test_where_it_begins(captured: Captured) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY)")
    captured.run("INSERT INTO t VALUES (1)")
    with pytest.raises(PositionLost, match="no replication slot"):
        SourceJob(captured.source(startup=StartupOptions.committed_offset()))
    job = SourceJob(captured.source(startup=StartupOptions.snapshot()), 2)
    while not job.ended:
        job.epoch()
    assert set(replayed(job.emitted)) == {("t", 1)}
    assert not captured.slots(), "a snapshot needs no slot"
    job.close()
    for startup, found in (
        (StartupOptions.latest(), {3}),
        (StartupOptions.committed_offset(), {3, 4}),  # nothing was confirmed
        (StartupOptions.latest(), {5}),
    ):
        captured.run("INSERT INTO t VALUES (%s)", max(found) - 1) if found == {3} else None
        job = SourceJob(captured.source(startup=startup))
        captured.run("INSERT INTO t VALUES (%s)", max(found))
        until(job, lambda emitted, found=found: {key for _, key in replayed(emitted)} == found)  # type: ignore[misc]
        job.close()


def test_the_way_out_when_the_position_is_gone(captured: Captured) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY)")
    source = captured.source()
    job = SourceJob(source)
    checkpoint = job.checkpoint()
    until(job, lambda _: bool(captured.slots()[0][1]))
    later = job.checkpoint()
    job.close()
    captured.drop_slot()
    for each in (checkpoint, later):
        with pytest.raises(Exception, match=r"is gone.*scan\.startup\.mode.*initial"):
            until(SourceJob(source, 1, each), lambda _: False)
    captured.run("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", captured.slot)
    captured.run("INSERT INTO t VALUES (1)")
    with pytest.raises(Exception, match=r"begins at .*and the checkpoint goes on at"):
        until(SourceJob(source, 1, later), lambda _: False)
