"""Statements that run in the client's own process."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from millrace.cli.sql.reasons import reason
from millrace.cli.sql.running import Worker
from millrace.cluster.sql.commands import answer
from millrace.cluster.sql.completion import Completions
from millrace.cluster.sql.jobs import SqlJob, SqlJobs
from millrace.cluster.sql.session import SqlSession
from millrace.table import TableResult
from millrace.table.sql import statements as s
from millrace.table.statement_runners.statements import run


class Embedded:
    """An ``Executor`` whose jobs live as long as the client."""

    def __init__(self, session: SqlSession, jobs: SqlJobs) -> None:
        self.session = session
        self.jobs = jobs
        self._worker = Worker()

    @property
    def zone(self) -> str:
        return self.session.environment.get_config().get_local_timezone()

    @property
    def streaming(self) -> bool:
        return self.session.environment._session.streaming

    def settings(self) -> dict[str, str]:
        return self.session.settings()

    def answer(self, statement: s.Statement, defaults: Mapping[str, str]) -> TableResult | None:
        return answer(statement, self.session, self.jobs, defaults)

    def perform(self, statement: s.Statement) -> TableResult:
        return self._worker.do(functools.partial(self._run, statement), _abandon)

    def _run(self, statement: s.Statement) -> TableResult:
        if not self.streaming and isinstance(statement, s.Explain):
            self.jobs.announce()
        return run(statement, self.session.environment._session)

    def wait(self, result: TableResult) -> None:
        client: Any = result.get_job_client()
        self.jobs.find(str(client.get_job_id())).told = True
        client.wait()

    def words(self) -> Completions:
        return Completions(self.session.environment)

    def reason(self, error: BaseException, verbose: bool) -> str:
        return reason(error, verbose, self._worker.origin, self.jobs.log_file)

    def failures(self) -> Iterator[tuple[str, BaseException]]:
        for job, error in self.jobs.failures():
            yield self._name(job), error

    def running(self) -> list[str]:
        return [self._name(job) for job in self.jobs.running()]

    def wait_for_jobs(self) -> None:
        self.jobs.wait()

    def _name(self, job: SqlJob) -> str:
        return f"job {job.id} ({self.jobs.name(job)})"


def _abandon(result: TableResult) -> None:
    client: Any = result.get_job_client()
    if client is not None:
        client.cancel().result()
