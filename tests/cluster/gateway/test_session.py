"""Statements of a session."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.gateway.conftest import FakeEngine

from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.operations import (
    GatewayError,
    NoSuchOperationError,
    NoSuchSessionError,
    Operation,
    OperationStatus,
)
from millrace.cluster.gateway.session import MOST_OPERATIONS, GatewaySession
from millrace.common.jobs import JobStatus
from millrace.common.types import Row
from millrace.table.result_kind import ResultKind
from millrace.table.sql.text import SqlError

DEADLINE = 120.0
TABLES = ("CREATE TABLE t (n INT, s STRING) WITH ('connector' = 'datagen')",
          "CREATE TABLE sink (n INT, s STRING) WITH ('connector' = 'blackhole')")  # fmt: skip


@pytest.fixture
def session(gateway: Gateway) -> GatewaySession:
    opened = gateway.open({})
    for statement in TABLES:
        opened.configure(statement)
    return opened


def done(operation: Operation) -> Operation:
    assert operation.wait(DEADLINE)
    return operation


def all_rows(operation: Operation, rows: list[list[object]] | None = None) -> list[list[object]]:
    """All rows, fetched page by page, added to ``rows``."""
    rows = [] if rows is None else rows
    token = 0
    while not (page := done(operation).fetch(token)).is_last:
        rows += [list(row) for row in page.rows]
        token += 1
    return rows


def test_a_statement_without_a_job(session: GatewaySession) -> None:
    shown = session.submit("SHOW TABLES")
    assert all_rows(shown) == [["sink"], ["t"]]
    assert shown.status is OperationStatus.FINISHED
    assert shown.result.job_id is None
    assert not shown.result.is_query
    assert done(session.submit("CREATE DATABASE other")).result.kind is ResultKind.SUCCESS


def test_a_query(session: GatewaySession, engine: FakeEngine) -> None:
    query = session.submit("SELECT * FROM t")
    assert all_rows(query) == [[1, "a"], [2, "b"]]
    assert query.result.is_query
    assert query.result.job_id == engine.jobs[0].id
    assert query.result.names == ("n", "s")


def test_closing_a_query_ends_its_job(session: GatewaySession, engine: FakeEngine) -> None:
    goes_on = threading.Event()

    def endless() -> Iterator[Row]:
        goes_on.wait(DEADLINE)
        yield Row(1, "a")

    engine.rows = endless
    query = done(session.submit("SELECT * FROM t"))
    assert query.fetch(0).rows == ()  # nothing has come yet
    assert not query.fetch(1).is_last
    with pytest.raises(GatewayError, match="from FINISHED to CANCELED"):
        query.cancel()
    session.close_operation(query.handle)
    goes_on.set()
    assert engine.closed == 1
    assert query.status is OperationStatus.CLOSED
    with pytest.raises(NoSuchOperationError, match=query.handle):
        session.operation(query.handle)


def test_what_a_query_raises_comes_after_its_rows(session: GatewaySession, engine: FakeEngine) -> None:
    def failing() -> Iterator[Row]:
        yield Row(1, "a")
        raise ValueError("no more")

    engine.rows = failing
    query = done(session.submit("SELECT * FROM t"))
    rows: list[list[object]] = []
    with pytest.raises(GatewayError) as raised:
        all_rows(query, rows)
    assert rows == [[1, "a"]]
    assert str(raised.value.__cause__) == "no more"


def test_statements_that_fail(session: GatewaySession) -> None:
    for text in ("SELEC 1", "SELECT nothing FROM t", "", "SELECT 1; SELECT 2", "STOP JOB 'x'", "ADD JAR 'x'"):
        failed = done(session.submit(text))
        assert failed.status is OperationStatus.ERROR, text
        with pytest.raises(GatewayError) as raised:
            failed.fetch(0)
        assert isinstance(raised.value.__cause__, SqlError), text
    assert done(session.submit("SHOW TABLES")).status is OperationStatus.FINISHED


def test_an_insert_goes_on_when_the_session_is_closed(
    gateway: Gateway, session: GatewaySession, engine: FakeEngine
) -> None:
    insert = done(session.submit("INSERT INTO sink SELECT * FROM t"))
    assert insert.result.job_id == engine.jobs[0].id
    assert not insert.result.is_query
    jobs = all_rows(session.submit("SHOW JOBS"))
    assert [row[:3] for row in jobs] == [[engine.jobs[0].id, "insert 1", "RUNNING"]]
    gateway.close(session.handle)
    assert engine.jobs[0].status is JobStatus.RUNNING
    with pytest.raises(NoSuchSessionError, match=session.handle):
        gateway.session(session.handle)


def test_stop_job(session: GatewaySession, engine: FakeEngine) -> None:
    done(session.submit("INSERT INTO sink SELECT * FROM t"))
    job = engine.jobs[0]
    assert all_rows(session.submit(f"STOP JOB '{job.id}' WITH SAVEPOINT")) == [["/savepoints/1"]]
    assert all_rows(session.submit(f"DESCRIBE JOB '{job.id}'"))[0][2] == "FINISHED"


def test_cancelling_an_insert_that_waits(session: GatewaySession, engine: FakeEngine) -> None:
    engine.waits = True
    insert = session.submit("INSERT INTO sink SELECT * FROM t")
    deadline = time.monotonic() + DEADLINE
    while not insert.clients:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    insert.cancel()
    assert insert.status is OperationStatus.CANCELED
    assert engine.jobs[0].outcome.exception(DEADLINE) is None
    assert engine.jobs[0].status is JobStatus.CANCELED
    assert done(session.submit("SHOW TABLES")).status is OperationStatus.FINISHED


def test_a_statement_that_takes_too_long(session: GatewaySession, engine: FakeEngine) -> None:
    engine.waits = True
    insert = session.submit("INSERT INTO sink SELECT * FROM t", seconds=0.2)
    assert done(insert).status is OperationStatus.TIMEOUT
    with pytest.raises(GatewayError, match="in TIMEOUT status"):
        insert.fetch(0)


def test_settings_of_one_statement(session: GatewaySession) -> None:
    session.configure("SET 'my.own' = 'one'")
    shown = all_rows(session.submit("SET", {"my.own": "two", "other": "three"}))
    assert ["my.own", "two"] in shown
    assert ["other", "three"] in shown
    assert session.properties["my.own"] == "one"
    assert "other" not in session.properties


def test_configure_takes_statements_that_change_the_session(session: GatewaySession) -> None:
    session.configure("USE CATALOG default_catalog")
    with pytest.raises(GatewayError) as raised:
        session.configure("SELECT 1")
    assert "Unsupported statement for configuring session" in str(raised.value.__cause__)
    with pytest.raises(GatewayError) as raised:
        session.configure("DROP TABLE nothing")
    assert "nothing" in str(raised.value.__cause__)


def test_completion(session: GatewaySession) -> None:
    assert session.complete("SELECT * FROM si", 16) == ["sink"]
    assert "SELECT" in session.complete("", 0)


def test_sessions_are_apart(gateway: Gateway, session: GatewaySession) -> None:
    other = gateway.open({"my.own": "mine"}, "other")
    assert all_rows(other.submit("SHOW TABLES")) == []
    assert other.properties["my.own"] == "mine"
    assert "my.own" not in session.properties


def test_results_that_nobody_closes_are_bounded(session: GatewaySession) -> None:
    first = done(session.submit("SHOW TABLES"))
    for _ in range(MOST_OPERATIONS):
        done(session.submit("SHOW CATALOGS"))
    with pytest.raises(NoSuchOperationError):
        session.operation(first.handle)
    assert first.status is OperationStatus.CLOSED


def test_modules_of_python_files_are_found(
    session: GatewaySession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "functions_of_a_session.py").write_text(
        "from millrace.table.udf import udf\n\n@udf(result_type='BIGINT')\ndef twice(n):\n    return 2 * n\n"
    )
    create = "CREATE TEMPORARY FUNCTION twice AS 'functions_of_a_session.twice' LANGUAGE PYTHON"
    session.configure(f"SET 'python.files' = '{tmp_path}/functions_of_a_session.py'")
    session.configure(create)
    operation = done(session.submit("EXPLAIN SELECT twice(n) FROM t"))
    assert operation.status is OperationStatus.FINISHED and "twice" in str(operation.fetch(0).rows)


def test_what_an_insert_gives(session: GatewaySession, engine: FakeEngine) -> None:
    insert = "INSERT INTO sink SELECT * FROM t"
    operation = done(session.submit(insert))
    assert (operation.result.names, all_rows(operation)) == (("job id",), [[engine.jobs[0].id]])
    engine.waits = True
    operation = session.submit(insert, {"table.dml-sync": "true"})
    deadline = time.monotonic() + DEADLINE
    while len(engine.jobs) < 2:
        assert time.monotonic() < deadline, "the second INSERT has not begun"
        time.sleep(0.01)
    engine.jobs[1].end(JobStatus.FINISHED)
    assert (done(operation).result.names, all_rows(operation)) == (("sink",), [[-1]])


@pytest.mark.parametrize("allowed", [False, True])
def test_files_are_read_only_if_the_gateway_allows_it(tmp_path: Path, allowed: bool) -> None:
    (tmp_path / "t.csv").write_text("id,name\n1,Ada\n")
    gateway = Gateway({"millrace.sql.read-files": "true"} if allowed else {}, idle=0)
    try:
        # What the client asks for does not count.
        session = gateway.open({"millrace.sql.read-files": "true"})
        described = session.submit(f"DESCRIBE SELECT * FROM '{tmp_path}/t.csv'")
        if allowed:
            assert all_rows(described) == [["id", "BIGINT", True], ["name", "STRING", True]]
            return
        with pytest.raises(GatewayError) as caught:
            _ = done(described).result
        assert "switched off here: millrace.sql.read-files is false" in str(caught.value.__cause__)
    finally:
        gateway.stop()
