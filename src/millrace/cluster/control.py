"""The contracts between processes that run jobs, processes that hold jobs, and clients that ask for them.

``JobControl`` steers one job: a job of this process, of another process over its socket, or of an archive.
``JobHolder`` is what the REST API needs of a cluster, of a program in the foreground or of an archive;
``ProgramStore`` is what it needs of the uploaded programs. ``JobsElsewhere`` is what the verbs of the command line
need of jobs in other processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

from millrace.cluster.documents import (
    FrameDocument,
    JobDocument,
    LogDocument,
    ProgramDocument,
    TaskManagerDocument,
    ThreadDocument,
)


class JobOverError(Exception):
    """The request needs a running job, and this job has ended. The text names job and state."""


class JobControl(Protocol):
    """Steers one job. Futures end with the result of the request, or with an exception whose text says why it
    failed."""

    def document(self) -> JobDocument:
        """The job as it is now, at most a second old."""

    def cancel(self) -> None:
        """Begin to cancel the job; does nothing if the job is being cancelled or is cancelled already.

        :raises JobOverError: it has finished or failed.
        """

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        """Take a savepoint; the future holds its path."""

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        """Take a savepoint and end the job; the future holds the savepoint's path."""

    def checkpoint(self, full: bool) -> Future[int]:
        """Take a checkpoint with the next epoch; the future holds its number."""

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        """Read the value of a keyed state for one key; the future holds None if there is no value."""

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        """The threads of the job's own process, or of its workers on an executor."""

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        """Sample what the functions of a vertex did over the last seconds.

        :param mode: ``full``, ``on_cpu`` or ``off_cpu``.
        """


@dataclass(frozen=True)
class Launch:
    """How an uploaded program is to be run."""

    program: str
    """id of the uploaded program"""
    arguments: tuple[str, ...] = ()
    entry: str | None = None
    parallelism: int | None = None
    job_id: str | None = None
    """id for the job, chosen by the client: a second request with this id starts no second job"""
    savepoint: str | None = None
    allow_non_restored: bool = False
    claim_mode: str | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)


class LaunchError(Exception):
    """A program could not be started; the text says why, with the program's own error where there is one."""


class NoEntryError(LaunchError):
    """The uploaded program has no such entry point."""


class JobHolder(Protocol):
    """Holds jobs and knows the machines that they run on. All methods may be called from any thread."""

    def jobs(self) -> Sequence[JobDocument]:
        """All jobs that are known, running ones first. Cheap enough for several calls a second."""

    def job(self, id: str) -> JobDocument | None:
        """The job with this id."""

    def control(self, id: str) -> JobControl | None:
        """The ``JobControl`` of a job; None if the job is unknown."""

    def task_managers(self) -> Sequence[TaskManagerDocument]: ...

    def configuration(self) -> Mapping[str, str]:
        """The holder's own configuration; secrets are masked."""

    def logs(self, task_manager: str | None) -> Sequence[LogDocument]:
        """The log files of a task manager, or of the holder."""

    def read_log(self, task_manager: str | None, name: str) -> Iterable[bytes] | None:
        """The content of a log file, piece by piece; None if there is no such file. A name never leads out of the log
        folder."""

    def threads(self) -> Sequence[ThreadDocument]:
        """The threads of the holder's own process."""

    def dispose_savepoint(self, path: str) -> None:
        """Delete a savepoint. Raises an exception whose text says why that is not possible."""

    def shut_down(self) -> None:
        """End the holder with all its jobs. Returns before the jobs have ended."""


class ProgramStore(Protocol):
    """Uploaded programs of a server that allows submitting."""

    def programs(self) -> Sequence[ProgramDocument]: ...

    def upload(self, name: str, content: BinaryIO) -> ProgramDocument:
        """Store an uploaded program, read from a file. Raises ``ValueError`` if the file is not a program."""

    def delete(self, id: str) -> bool:
        """Delete an uploaded program; returns whether it existed."""

    def plan(self, launch: Launch) -> JobDocument:
        """The job that the program would start, without starting it. Raises ``LaunchError``."""

    def run(self, launch: Launch) -> str:
        """Start an uploaded program; returns the id of its job. Raises ``LaunchError``."""


WAIT_SECONDS = 600.0
"""How long a client waits for a savepoint or a checkpoint."""


class ElsewhereError(Exception):
    """Another process could not be asked about a job, or refused the request; the text names the process and the
    reason."""


class UnknownJobError(ElsewhereError):
    """The other process has no job with this id."""


@dataclass(frozen=True)
class JobLine:
    """A job as one line of a list of jobs."""

    id: str
    name: str
    state: str
    started: int


class JobsElsewhere(Protocol):
    """Jobs in other processes. All methods raise ``ElsewhereError``."""

    def jobs(self) -> list[JobLine]: ...

    def cancel(self, job: str) -> None:
        """Begin to cancel a job."""

    def state(self, job: str) -> str:
        """The job's state: a name of ``JobStatus``."""

    def document(self, job: str) -> JobDocument:
        """The job's whole document."""

    def savepoint(self, job: str, directory: str | None, native: bool) -> str:
        """Take a savepoint; returns its path."""

    def stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        """Stop a job with a savepoint; returns the savepoint's path."""

    def begin_savepoint(self, job: str, directory: str | None, native: bool) -> str:
        """Begin a savepoint; returns the id under which its result can be asked for."""

    def begin_stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        """Begin to stop a job with a savepoint; returns the id under which the result can be asked for."""

    def checkpoint(self, job: str, full: bool) -> int:
        """Take a checkpoint; returns its number."""

    def query_state(self, job: str, operator: str, state: str, key: Any) -> Any:
        """The value of a keyed state for one key, as JSON represents it."""
