"""Clients that run nothing on Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cluster.sql.fake_job import FakeJob
from tests.cluster.sql.shop import SHOP

from millrace.cli.sql.client import Client
from millrace.cli.sql.executor import Embedded
from millrace.cli.sql.results import Console
from millrace.cluster.gateway.sql_session import SqlJobs, SqlSession
from millrace.common.types import Row, RowKind
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.spark.jobs.listeners import JobStarted
from millrace.table import TableResult
from millrace.table.planner.engine import StreamingEngine


@pytest.fixture
def client() -> Client:
    """Messages and results go to standard output, without colours: it is no terminal."""
    return Client(Embedded(SqlSession({"table.local-time-zone": "UTC"}), SqlJobs(lambda _: None)), Console(False))


@pytest.fixture
def shop(client: Client) -> Client:
    """With tables and a view in it."""
    for statement in SHOP:
        client.executor.session.environment.execute_sql(statement)
    return client


Changes = Sequence[tuple[str, Sequence[Any]]]

KINDS = {str(kind): kind for kind in RowKind}


@pytest.fixture
def fake_result() -> Callable[..., TableResult]:
    """Makes the result of a query with the columns ``name`` and ``n``."""

    def make(changes: Changes, close: Callable[[], None] = lambda: None, streaming: bool = True) -> TableResult:
        def rows() -> Any:
            for kind, values in changes:
                yield Row.of_kind(KINDS[kind], *values)

        columns = (Field("name", t.string()), Field("n", t.IntType()))
        return TableResult(columns, rows(), layout="types", with_kinds=streaming, close=close)

    return make


@pytest.fixture
def jobs(client: Client, monkeypatch: pytest.MonkeyPatch) -> list[FakeJob]:
    """The jobs that INSERT starts; they run until they are stopped."""
    started: list[FakeJob] = []

    def execute(_: Any, plans: Any, session: Any) -> TableResult:
        job = FakeJob(f"job{len(started) + 1}")
        submission: Any = SimpleNamespace(start=lambda: job, collecting=False)
        client.executor.jobs.submit(submission)
        client.executor.jobs.listener().started(JobStarted(job.id, f"insert {len(started) + 1}", None, None))
        started.append(job)
        made: Any = job
        return TableResult((), [], job_client=made)

    monkeypatch.setattr(StreamingEngine, "execute", execute)
    client.executor.session.environment.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')")
    return started
