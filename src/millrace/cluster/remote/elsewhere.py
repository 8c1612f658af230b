"""Jobs of other processes, for commands: what a cluster or a program in the foreground can be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from millrace.cluster.documents.job import JobDocument

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
