"""Savepoints on SIGUSR1."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from millrace.cli.program_jobs import Jobs, savepoints_on_signal
from millrace.common.jobs import CompletableFuture, JobStatus
from millrace.datastream.settings import Submission


class FakeClient:
    """A job whose savepoints succeed or fail."""

    def __init__(self, name: str, outcome: str | Exception, status: JobStatus = JobStatus.RUNNING) -> None:
        self.name, self.outcome, self.status = name, outcome, status

    def get_job_id(self) -> str:
        return self.name

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.of(self.status)

    def trigger_savepoint(self, directory: str | None = None) -> CompletableFuture[str]:
        assert directory is None
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return CompletableFuture.of(self.outcome)


def said_after_a_signal(*clients: FakeClient, lines: int) -> list[str]:
    jobs = Jobs(lambda submission: submission.start())
    for client in clients:
        start: Any = lambda client=client: client
        jobs.submit(Submission(str, start, False))
    said: list[str] = []
    enough = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        if len(said) == lines:
            enough.set()

    with savepoints_on_signal(jobs, say):
        os.kill(os.getpid(), signal.SIGUSR1)
        assert enough.wait(30)
    return said


def test_each_running_job_gets_a_savepoint_and_one_that_fails_hinders_none() -> None:
    clients = (
        FakeClient("a", "/sp/a"),
        FakeClient("b", ValueError("no directory is set")),
        FakeClient("c", "/sp/c", JobStatus.FINISHED),
        FakeClient("d", "/sp/d"),
    )
    assert said_after_a_signal(*clients, lines=3) == [
        "savepoint of job a: /sp/a",
        "no savepoint of job b: ValueError: no directory is set",
        "savepoint of job d: /sp/d",
    ]


def test_without_a_job_there_is_no_savepoint() -> None:
    assert said_after_a_signal(lines=1) == ["no savepoint: no job is running"]


def test_the_handler_of_before_comes_back() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with savepoints_on_signal(Jobs(lambda submission: submission.start()), print):
        assert signal.getsignal(signal.SIGUSR1) is not before
    assert signal.getsignal(signal.SIGUSR1) is before
