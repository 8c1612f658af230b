"""The contracts between those who run jobs, those who hold them, and those who ask.

``JobControl`` steers one job: of this process, of another one over its socket, or from an archive. ``JobHolder`` is
what the REST API needs of a cluster, a program in the foreground or an archive, ``ProgramStore`` of the uploaded
programs. ``JobsElsewhere`` is what the verbs of the command line need of jobs in other processes.
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
    """The job has ended, so what was asked for can't be done. The text names job and state."""


class JobControl(Protocol):
    """One job. Futures end with what was asked for, or with an exception whose text says why not."""

    def document(self) -> JobDocument:
        """The job as it is now, at most a second old."""

    def cancel(self) -> None:
        """Begin to cancel; nothing happens if that has begun or happened already.

        :raises JobOverError: it has finished or failed.
        """

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        """Take a savepoint; its path."""

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        """Take a savepoint and end the job; its path."""

    def checkpoint(self, full: bool) -> Future[int]:
        """Take a checkpoint with the next epoch; its number."""

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        """What a keyed state holds for a key; None for nothing."""

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        """The threads of the job's own process, or of its workers on an executor."""

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        """What the functions of a vertex did over the last seconds.

        :param mode: ``full``, ``on_cpu`` or ``off_cpu``.
        """


@dataclass(frozen=True)
class Launch:
    """How an uploaded program is to be run."""

    program: str
    """id of the program"""
    arguments: tuple[str, ...] = ()
    entry: str | None = None
    parallelism: int | None = None
    job_id: str | None = None
    """chosen by whoever asks: the same id twice is the same job"""
    savepoint: str | None = None
    allow_non_restored: bool = False
    claim_mode: str | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)


class LaunchError(Exception):
    """A program could not be started; the text says why, in the program's own words where it has any."""


class NoEntryError(LaunchError):
    """The program has no such entry."""


class JobHolder(Protocol):
    """Jobs, and the machines under them. All methods may be called from any thread."""

    def jobs(self) -> Sequence[JobDocument]:
        """All jobs that are known, running ones first. Cheap enough for several calls a second."""

    def job(self, id: str) -> JobDocument | None:
        """The job with this id."""

    def control(self, id: str) -> JobControl | None:
        """What steers it."""

    def task_managers(self) -> Sequence[TaskManagerDocument]: ...

    def configuration(self) -> Mapping[str, str]:
        """Of the holder itself; secrets are masked."""

    def logs(self, task_manager: str | None) -> Sequence[LogDocument]:
        """The log files of a task manager, or of the holder."""

    def read_log(self, task_manager: str | None, name: str) -> Iterable[bytes] | None:
        """What is in a log file, piece by piece; None: there is no such file. No name leads out of their folder."""

    def threads(self) -> Sequence[ThreadDocument]:
        """Of the holder's own process."""

    def dispose_savepoint(self, path: str) -> None:
        """Delete a savepoint. Raises an exception whose text says why that is not possible."""

    def shut_down(self) -> None:
        """End the holder with all its jobs. Returns before that is done."""


class ProgramStore(Protocol):
    """Uploaded programs, where submitting is allowed."""

    def programs(self) -> Sequence[ProgramDocument]: ...

    def upload(self, name: str, content: BinaryIO) -> ProgramDocument:
        """Keep a program, which is read from a file. Raises ``ValueError`` for what is none."""

    def delete(self, id: str) -> bool:
        """Whether it was there."""

    def plan(self, launch: Launch) -> JobDocument:
        """The job that the program would start, not started. Raises ``LaunchError``."""

    def run(self, launch: Launch) -> str:
        """Start it; the id of its job. Raises ``LaunchError``."""


WAIT_SECONDS = 600.0
"""How long a savepoint or a checkpoint is waited for."""


class ElsewhereError(Exception):
    """The other side could not be asked, or says no; the text says which, and why."""


class UnknownJobError(ElsewhereError):
    """There is no such job."""


@dataclass(frozen=True)
class JobLine:
    """What a list shows of a job."""

    id: str
    name: str
    state: str
    started: int


class JobsElsewhere(Protocol):
    """All methods raise ``ElsewhereError``."""

    def jobs(self) -> list[JobLine]: ...

    def cancel(self, job: str) -> None:
        """Begin to cancel."""

    def state(self, job: str) -> str:
        """A name of ``JobStatus``."""

    def document(self, job: str) -> JobDocument:
        """All that is known of it."""

    def savepoint(self, job: str, directory: str | None, native: bool) -> str:
        """Its path."""

    def stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        """The path of the savepoint that it ended with."""

    def begin_savepoint(self, job: str, directory: str | None, native: bool) -> str:
        """The id under which it can be asked for."""

    def begin_stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        """The id under which the savepoint can be asked for."""

    def checkpoint(self, job: str, full: bool) -> int:
        """Its number."""

    def query_state(self, job: str, operator: str, state: str, key: Any) -> Any:
        """What a keyed state holds for a key, as JSON has it."""
