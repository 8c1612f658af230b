"""A program that a supervisor watches: what is known of it, and what becomes of it when its process has ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import time
from dataclasses import dataclass, field, replace

from millrace.cluster.documents.exceptions import ExceptionDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.places import attempts, job_folder
from millrace.cluster.places.attempts import Outcome
from millrace.cluster.places.durable import sweep
from millrace.cluster.places.submissions import SubmittedProgram
from millrace.cluster.processes.restarts import Restarts
from millrace.cluster.wire.messages import send
from millrace.spark.recovery_file import read_jobs


@dataclass
class Watched:
    """One program. ``pid`` is None while no process runs it."""

    cluster: str
    folder: str
    submission: SubmittedProgram
    restarts: Restarts
    attempt: int = 0
    pid: int | None = None
    adopted: bool = False
    """whether an earlier supervisor has started the process, so that its exit code is not told"""
    due: float | None = None
    """when the next attempt begins (monotonic), if it waits for that"""
    streams: list[int] = field(default_factory=list)
    client: socket.socket | None = None
    """who waits for its end"""
    cancelled: bool = False
    last_call: float | None = None
    """when the process is killed (monotonic), if it has not ended by then"""

    @property
    def id(self) -> str:
        return self.submission.id

    @property
    def log(self) -> str:
        return os.path.join(self.cluster, job_folder.LOGS, f"{self.id}.log")

    @property
    def output(self) -> str:
        return os.path.join(self.cluster, job_folder.LOGS, f"{self.id}.out")

    def signal(self, number: int) -> None:
        """Hand a signal on. All mean to stop, but for the one that asks for a savepoint."""
        self.cancelled = self.cancelled or number != signal.SIGUSR1
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process and the JVMs that it has started: they are in its process group."""
        self.last_call = None
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def say(self, text: str) -> None:
        """Tell who reads the program's standard error."""
        with contextlib.suppress(OSError):
            os.write(self.streams[2], f"{text}\n".encode()) if self.streams else _append(self.log, text)

    def show_restarting(self) -> None:
        """Its jobs will go on with another process."""
        self._mark("RESTARTING", None)

    def settle(self, outcome: Outcome) -> None:
        """It has ended for good: archive what its process could not."""
        if attempts.read_outcome(self.folder) is None:
            attempts.write_outcome(self.folder, outcome)
        for document in self._mark("CANCELED" if self.cancelled else "FAILED", outcome):
            if not job_folder.is_archived(self.cluster, document.id):
                job_folder.archive(self.cluster, document)
        shutil.rmtree(os.path.join(self.folder, "work"), ignore_errors=True)
        sweep(self.folder)
        job_folder.forget_program(self.cluster, self.id)

    def close(self, exit_code: int | None) -> None:
        """Let go of the streams, and of who waits for the end."""
        for stream in self.streams:
            os.close(stream)
        self.streams = []
        if self.client is not None:
            with contextlib.suppress(OSError), self.client:
                if exit_code is not None:
                    send(self.client, {"exit": exit_code})
            self.client = None

    def _mark(self, state: str, outcome: Outcome | None) -> list[JobDocument]:
        """Give the state to all jobs that have not ended; what they look like then."""
        now = time.time_ns() // 1_000_000
        over = outcome is not None
        documents = job_folder.read_documents(self.folder)
        if not documents and over:
            documents = self._without_job(now, outcome)
        ends = {job.job_id: job.end for job in read_jobs(os.path.join(self.folder, "work", "jobs"))}
        marked = [
            each
            if each.state in job_folder.OVER
            else _in_state(each, ends.get(each.id) or state, now, outcome)
            for each in documents
        ]
        if marked:
            job_folder.write_documents(self.folder, marked)
        return marked

    def _without_job(self, now: int, outcome: Outcome | None) -> list[JobDocument]:
        """What stands for a program that has failed before it had a job."""
        if outcome is None or (outcome.exit_code == 0 and not self.cancelled):
            return []
        name = self.submission.name
        began = self.submission.submitted or now
        times = {"CREATED": began}
        return [JobDocument(self.id, name, "CREATED", False, 1, 1, began, -1, now, times)]


def _in_state(document: JobDocument, state: str, now: int, outcome: Outcome | None) -> JobDocument:
    times = {**document.timestamps, state: now}
    exceptions = document.exceptions
    if state == "FAILED" and outcome is not None:
        text = outcome.text or f"the program has ended with exit code {outcome.exit_code}"
        exceptions = (ExceptionDocument("ProgramEnded", text, text, now), *exceptions)
    ended = -1 if outcome is None else now
    return replace(document, state=state, timestamps=times, ended=ended, written=now, exceptions=exceptions)


def _append(path: str, text: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def death(code: int) -> str:
    """How a process has died, by minus the number of the signal."""
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    why = " (kill -9, or the machine ran out of memory)" if name == "SIGKILL" else ""
    return f"the driver was killed by {name}{why}"
