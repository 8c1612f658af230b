"""A gateway whose queries give rows of the test, and whose INSERTs start jobs that run nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cluster.sql.fake_job import FakeJob

from millrace.cluster.gateway.gateway import Gateway
from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.nodes import Field, Sink
from millrace.spark.jobs.listeners import JobStarted
from millrace.table.planner.engine import StreamingEngine
from millrace.table.table_result import TableResult


class FakeEngine:
    """Stands in for the streaming engine."""

    def __init__(self) -> None:
        self.gateway: Gateway | None = None
        self.rows: Callable[[], Iterator[Row]] = lambda: iter([Row(1, "a"), Row(2, "b")])
        self.jobs: list[FakeJob] = []
        self.closed = 0
        self.waits = False
        """whether INSERT waits for the job's end, as with table.dml-sync"""
        self._ids = itertools.count(1)

    def execute(self, plans: Any, session: Any) -> TableResult:
        job = FakeJob(f"{next(self._ids):032x}")
        self.jobs.append(job)
        is_query = not isinstance(plans[0], Sink)
        submission: Any = SimpleNamespace(start=lambda: job, collecting=is_query, portable=None)
        assert self.gateway is not None
        self.gateway.submit(submission)
        self.gateway.listener().started(JobStarted(job.id, f"insert {job.id[-1]}", None, None))
        client: Any = job
        if is_query:
            columns = (Field("n", t.IntType()), Field("s", t.string()))
            return TableResult(columns, self.rows(), job_client=client, close=self._close)
        if self.waits:
            job.wait()
        return TableResult((Field("sink", t.BigIntType()),), [Row(-1)], job_client=client)

    def _close(self) -> None:
        self.closed += 1


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    fake = FakeEngine()
    monkeypatch.setattr(StreamingEngine, "execute", lambda _, plans, session, name=None: fake.execute(plans, session))
    return fake


@pytest.fixture
def gateway(engine: FakeEngine) -> Iterator[Gateway]:
    found = Gateway({"table.local-time-zone": "UTC"}, idle=0)
    engine.gateway = found
    yield found
    found.stop()
