"""Jobs that run nothing."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from millrace.common.jobs import CompletableFuture, JobStatus


class FakeJob:
    """A job client."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.status = JobStatus.RUNNING
        self.outcome: Future[Any] = Future()
        self.saved: list[bool] = []

    def get_job_id(self) -> str:
        return self.id

    def get_job_status(self) -> Any:
        return CompletableFuture.of(self.status)

    def get_job_execution_result(self) -> Any:
        return CompletableFuture(self.outcome)

    def wait(self) -> Any:
        return self.outcome.result()

    def cancel(self) -> Any:
        if not self.outcome.done():
            self.end(JobStatus.CANCELED)
        return CompletableFuture.of(None)

    def stop_with_savepoint(self, drain: bool) -> Any:
        self.saved.append(drain)
        self.end(JobStatus.FINISHED)
        return CompletableFuture.of("/savepoints/1")

    def end(self, status: JobStatus, error: Exception | None = None) -> None:
        self.status = status
        if error is None:
            self.outcome.set_result(None)
        else:
            self.outcome.set_exception(error)
