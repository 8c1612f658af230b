"""Programs run to their end in this process, without Spark: what they would submit is run by the local engine."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from millrace.common.jobs.job_execution_result import JobExecutionResult
from millrace.common.jobs.job_id import JobID
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.failure import JobFailedError
from millrace.spark.jobs.java_error import as_java_error
from millrace.testing import run_locally
from millrace.testing.local import LocalRun


class FinishedJob:
    """What a table result asks of a job, of one that has ended."""

    def __init__(self, run: LocalRun) -> None:
        self._run = run
        self._id = JobID.generate()

    def get_job_id(self) -> JobID:
        return self._id

    def collected(self) -> Iterator[Any]:
        return iter(self._run.collected)

    def discard(self) -> None:
        """There is nothing to stop."""

    def wait(self) -> JobExecutionResult:
        return JobExecutionResult(self._id, 0, self._run.accumulators, self._run.metrics)

    def get_job_execution_result(self) -> Future[JobExecutionResult]:
        done: Future[JobExecutionResult] = Future()
        done.set_result(self.wait())
        return done


def run_jobs_locally(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every program of this test run without Spark; what it prints goes to standard output."""
    monkeypatch.setattr(StreamExecutionEnvironment, "_submit", _submit)


def _submit(environment: StreamExecutionEnvironment, job_name: str | None, collect: int | None = None) -> FinishedJob:
    try:
        run = run_locally(environment)
    except JobFailedError as error:
        raise as_java_error(error) from error
    for line in run.printed:
        print(line)
    return FinishedJob(run)
