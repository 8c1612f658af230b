"""The client of a job that has run to its end in this process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from millrace.common.jobs.completable_future import CompletableFuture
from millrace.common.jobs.job_execution_result import JobExecutionResult
from millrace.common.jobs.job_id import JobID
from millrace.common.jobs.job_status import JobStatus
from millrace.testing.local import LocalRun


class FinishedJob:
    """What programs and table results ask of a job."""

    def __init__(self, run: LocalRun) -> None:
        self._run = run
        self._id = JobID.generate()

    def get_job_id(self) -> JobID:
        return self._id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.of(JobStatus.FINISHED)

    def collected(self) -> Iterator[Any]:
        return iter(self._run.collected)

    def discard(self) -> None:
        """There is nothing to stop."""

    def cancel(self) -> CompletableFuture[None]:
        return CompletableFuture.of(None)

    def wait(self) -> JobExecutionResult:
        return JobExecutionResult(self._id, 0, self._run.accumulators, self._run.metrics)

    def get_job_execution_result(self) -> Future[JobExecutionResult]:
        done: Future[JobExecutionResult] = Future()
        done.set_result(self.wait())
        return done
