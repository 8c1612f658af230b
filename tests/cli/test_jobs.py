"""What becomes of the jobs of a program when it ends."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from millrace.cli.program_jobs import Jobs
from millrace.common.jobs import CompletableFuture, JobStatus
from millrace.datastream.settings import Submission
from millrace.spark.errors import DriverLostError


class FakeClient:
    def __init__(self) -> None:
        self.status = JobStatus.RUNNING
        self.calls: list[str] = []
        self.result: Future[Any] = Future()

    def fail(self, error: Exception) -> None:
        self.status = JobStatus.FAILED
        self.result.set_exception(error)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.of(self.status)

    def get_job_execution_result(self) -> CompletableFuture[Any]:
        return CompletableFuture(self.result)

    def cancel(self) -> CompletableFuture[None]:
        self.calls.append("cancel")
        self.status = JobStatus.CANCELED
        done: Future[None] = Future()
        done.set_result(None)
        return CompletableFuture(done)

    def wait(self) -> None:
        self.calls.append("wait")
        self.status = JobStatus.FINISHED


@pytest.fixture
def jobs() -> Jobs:
    return Jobs(lambda submission: submission.start())


def submit(jobs: Jobs, collecting: bool = False) -> Any:
    return jobs.submit(Submission(str, FakeClient, collecting))  # type: ignore[arg-type]


def test_jobs_that_still_run_are_waited_for(jobs: Jobs) -> None:
    running, done = submit(jobs), submit(jobs)
    done.status = JobStatus.FAILED
    jobs.wait()
    jobs.cancel()
    assert (running.calls, done.calls) == (["wait"], [])


def test_a_job_that_nobody_reads_is_cancelled(jobs: Jobs) -> None:
    client = submit(jobs, collecting=True)
    jobs.wait()
    assert client.calls == ["cancel"]


def test_all_are_cancelled_when_the_program_ends_badly(jobs: Jobs) -> None:
    clients = [submit(jobs), submit(jobs, collecting=True)]
    jobs.cancel()
    assert [client.calls for client in clients] == [["cancel"], ["cancel"]]


def test_a_job_that_lost_its_driver_is_why_the_program_failed(jobs: Jobs) -> None:
    failed, lost = submit(jobs), submit(jobs, collecting=True)
    failed.fail(ValueError())
    assert jobs.lost() is None
    lost.fail(DriverLostError("gone"))
    assert jobs.lost() is lost.result.exception()
