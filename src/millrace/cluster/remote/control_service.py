"""The jobs of this process, for others: they steer them through a socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from millrace.cluster.control import JobControl
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.values import key_of, plain

SAVEPOINT_SECONDS = 3_600.0
"""How long a call waits for a savepoint, a checkpoint, an answer of the state."""


class NamedControl(JobControl, Protocol):
    """A job that knows its id."""

    @property
    def id(self) -> str: ...


class JobsHere:
    """The jobs that this process has run; the calls with which others reach them.

    :param controls: gives those that there are now.
    :param shown: what others see of a document.
    """

    def __init__(
        self,
        controls: Callable[[], Sequence[NamedControl]],
        shown: Callable[[JobDocument], JobDocument] = lambda document: document,
    ) -> None:
        self._controls = controls
        self._shown = shown

    def documents(self) -> list[JobDocument]:
        """All jobs as they are now."""
        return [self._shown(control.document()) for control in self._controls()]

    def control(self, id: str) -> JobControl | None:
        """What steers a job."""
        return next((control for control in self._controls() if control.id == id), None)

    def calls(self) -> Mapping[str, Any]:
        return {
            "documents": self._documents,
            "cancel": self._cancel,
            "savepoint": self._savepoint,
            "stop": self._stop,
            "checkpoint": self._checkpoint,
            "query_state": self._query_state,
            "threads": self._threads,
            "flame_graph": self._flame_graph,
        }

    def _control(self, job: str) -> JobControl:
        found = self.control(job)
        if found is None:
            raise LookupError(f"process has no job {job}")
        return found

    def _documents(self, connection: int) -> Any:
        return msgspec.to_builtins(self.documents())

    def _cancel(self, connection: int, job: str) -> None:
        self._control(job).cancel()

    def _savepoint(self, connection: int, job: str, directory: str | None, native: bool) -> str:
        return self._control(job).savepoint(directory, native).result(SAVEPOINT_SECONDS)

    def _stop(self, connection: int, job: str, directory: str | None, drain: bool, native: bool) -> str:
        return self._control(job).stop(directory, drain, native).result(SAVEPOINT_SECONDS)

    def _checkpoint(self, connection: int, job: str, full: bool) -> int:
        return self._control(job).checkpoint(full).result(SAVEPOINT_SECONDS)

    def _query_state(self, connection: int, job: str, operator: str, state: str, key: Any) -> Any:
        return plain(self._control(job).query_state(operator, state, key_of(key)).result(SAVEPOINT_SECONDS))

    def _threads(self, connection: int, job: str, task_manager: str | None) -> Any:
        return msgspec.to_builtins(self._control(job).threads(task_manager))

    def _flame_graph(self, connection: int, job: str, vertex: str, subtask: int | None, mode: str) -> Any:
        return msgspec.to_builtins(self._control(job).flame_graph(vertex, subtask, mode))
