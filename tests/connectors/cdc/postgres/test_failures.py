"""What goes wrong with a PostgreSQL, and what is said then."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from tests.connectors.cdc.postgres.capturing import DEADLINE_SECONDS, Captured, replayed, until
from tests.services import missing

from millrace.connectors.cdc.cdc_source import CdcSource
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.services import PostgreSQL, ServiceUnavailable

pytestmark = pytest.mark.services
NO_BOUND = "keeps all of the log, until the server's disk is full: set max_slot_wal_keep_size"


def elsewhere(source: CdcSource[Any], **target: Any) -> CdcSource[Any]:
    """The same source with another way to the server."""
    settings = source.database.settings  # type: ignore[attr-defined]
    other = replace(settings, target=replace(settings.target, **target), retries=0)
    return replace(source, database=replace(source.database, settings=other))  # type: ignore[type-var]


def test_nobody_answers(captured: Captured) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        hosts = (("127.0.0.1", free.getsockname()[1]),)
        with pytest.raises(Exception, match=r"PostgreSQL at 127\.0\.0\.1:\d+/postgres as postgres: .*refused") as error:
            SourceJob(elsewhere(captured.source(), hosts=hosts))
        assert "millrace" not in str(error.value)


def test_no_such_table_and_no_such_database(captured: Captured) -> None:
    with pytest.raises(Exception, match=r"has no table in a schema like"):
        SourceJob(captured.source())
    with pytest.raises(Exception, match=r'database "nowhere" does not exist'):
        SourceJob(elsewhere(captured.source(), database="nowhere"))


def test_a_prepared_transaction_that_the_slot_waits_for_is_named(captured: Captured) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY)")
    other = psycopg.connect(captured.server.url)
    try:
        other.tpc_begin("forgotten")
        other.execute(f"INSERT INTO {captured.schema}.t VALUES (1)")
        other.tpc_prepare()
        other.close()
        with pytest.raises(TimeoutError, match=r"waits until all transactions .* prepared transaction 'forgotten' of"):
            SourceJob(captured.source(wait=0.5))
    finally:
        captured.run("COMMIT PREPARED 'forgotten'")
    job = SourceJob(captured.source())
    until(job, lambda emitted: set(replayed(emitted)) == {("t", 1)})
    job.close()


def test_a_slot_is_for_one_job(captured: Captured) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY)")
    first = SourceJob(captured.source())
    until(first, lambda _: bool(captured.slots() and captured.slots()[0][1]))
    second = SourceJob(captured.source(wait=0.5))
    with pytest.raises(TimeoutError, match=r"is active for PID.*'millrace-cdc-.*a slot is for one job"):
        until(second, lambda _: False)
    second.close()
    first.close()


def test_a_publication_that_leaves_out_tables_or_changes(captured: Captured) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY)")
    captured.run("CREATE TABLE u (id INT PRIMARY KEY)")
    name = f"p_{captured.schema}"
    captured.run(f"CREATE PUBLICATION {name} FOR TABLE t WITH (publish = 'insert')")
    with pytest.raises(Exception, match=r"leaves out changes: ALTER PUBLICATION"):
        SourceJob(captured.source(publication=name))
    captured.run(f"ALTER PUBLICATION {name} SET (publish = 'insert, update, delete')")
    with pytest.raises(Exception, match=rf"does not have postgres\.{captured.schema}\.u"):
        SourceJob(captured.source(publication=name, autocreate="disabled"))
    captured.run(f"ALTER PUBLICATION {name} ADD TABLE u WHERE (id > 3)")
    with pytest.raises(Exception, match=r"has a WHERE for"):
        SourceJob(captured.source(publication=name, autocreate="disabled"))
    captured.run(f"DROP PUBLICATION {name}")
    with pytest.raises(Exception, match=r"there is no publication .* CREATE PUBLICATION"):
        SourceJob(captured.source(publication=name, autocreate="disabled"))


def test_a_table_that_gets_another_name_is_not_lost_in_silence(captured: Captured) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY)")
    job = SourceJob(captured.source())
    captured.run("INSERT INTO t VALUES (1)")
    until(job, lambda emitted: len(replayed(emitted)) == 1)
    captured.run("INSERT INTO t VALUES (2)")
    until(job, lambda emitted: len(replayed(emitted)) == 2)
    captured.run("ALTER TABLE t RENAME TO u")
    captured.run("INSERT INTO u VALUES (3)")
    with pytest.raises(Exception, match=r"\.t was renamed to .*\.u"):
        until(job, lambda _: False)
    job.close()


def test_the_slot_and_the_publication_go_with_the_job_if_that_is_wanted(
    captured: Captured, caplog: pytest.LogCaptureFixture
) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY)")
    source = captured.source(drop_slot=True)
    job = SourceJob(source)
    assert NO_BOUND in caplog.text
    until(job, lambda _: bool(captured.slots() and captured.slots()[0][1]))
    source.database.ended("owner")
    assert not captured.slots()
    assert not captured.run("SELECT 1 FROM pg_publication WHERE pubname = %s", f"millrace_{captured.slot}")
    job.close()


@pytest.fixture
def own_server() -> Iterator[PostgreSQL]:
    server = PostgreSQL({"wal_level": "logical", "max_slot_wal_keep_size": "1", "wal_keep_size": "0"}, passwords=True)
    try:
        server.start()
    except ServiceUnavailable as error:
        missing(error)
    yield server
    server.stop()


def test_a_server_that_is_killed_and_comes_back_and_one_that_has_thrown_away_the_log(
    own_server: PostgreSQL, caplog: pytest.LogCaptureFixture
) -> None:
    captured = Captured(own_server)
    with pytest.raises(Exception, match=r"password authentication failed") as error:
        SourceJob(elsewhere(captured.source(), password="wrong-secret"))
    assert "wrong-secret" not in str(error.value)
    captured.run("CREATE TABLE t (id INT PRIMARY KEY)")
    captured.run("INSERT INTO t SELECT * FROM generate_series(1, 50)")
    source = captured.source()
    job = SourceJob(source)
    until(job, lambda emitted: len(replayed(emitted)) == 50 and bool(captured.slots()[0][1]))
    assert NO_BOUND not in caplog.text, "the server has one"
    own_server.crash()
    back = threading.Timer(0.5, own_server.start_again)
    back.start()
    end = time.monotonic() + DEADLINE_SECONDS
    while back.is_alive():
        assert time.monotonic() < end
        job.epoch()
    captured.connection = psycopg.connect(own_server.url, autocommit=True)
    captured.run(f"SET search_path TO {captured.schema}")
    captured.run("INSERT INTO t SELECT * FROM generate_series(51, 60)")
    until(job, lambda emitted: len(replayed(emitted)) == 60)
    checkpoint = job.checkpoint()
    job.close()
    # The server keeps 1 MB for a slot, and looks at checkpoints of its own.
    captured.run("CREATE TABLE other AS SELECT repeat('x', 1000) FROM generate_series(1, 40000)")
    while captured.run("SELECT wal_status FROM pg_replication_slots") != [("lost",)]:
        assert time.monotonic() < end
        captured.run("SELECT pg_switch_wal()")
        captured.run("CHECKPOINT")
    with pytest.raises(Exception, match=r"is lost: more was written than max_slot_wal_keep_size.*'initial'"):
        until(SourceJob(source, 1, checkpoint), lambda _: False)
    captured.connection.close()
