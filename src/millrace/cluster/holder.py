"""What the REST API needs of the thing that holds jobs: a cluster, a run in the foreground, an archive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from millrace.cluster.control import JobControl
from millrace.cluster.documents.cluster import LogDocument, ProgramDocument, TaskManagerDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.threads import ThreadDocument


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
