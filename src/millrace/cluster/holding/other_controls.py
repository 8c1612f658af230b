"""Jobs that no process drives: they have ended, or wait for a process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NoReturn

from millrace.cluster.control import JobOverError
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.threads import FrameDocument, ThreadDocument


class NotRunningError(Exception):
    """The job has no process now; the text says so."""


class ControlWithoutProcess:
    """``JobControl`` of such a job: it can be looked at, and cancelled if it is not over.

    :param cancel: ends a job that waits; None: the job is over.
    """

    def __init__(self, document: JobDocument, cancel: Callable[[], object] | None = None) -> None:
        self._document = document
        self._cancel = cancel

    def document(self) -> JobDocument:
        return self._document

    def cancel(self) -> None:
        if self._cancel is not None:
            self._cancel()
        elif self._document.state != "CANCELED":
            self._refuse()

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        self._refuse()

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        self._refuse()

    def checkpoint(self, full: bool) -> Future[int]:
        self._refuse()

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        self._refuse()

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        return []

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        return FrameDocument("root", 0)

    def _refuse(self) -> NoReturn:
        text = f"job {self._document.name!r} ({self._document.id}) is {self._document.state}"
        if self._cancel is None:
            raise JobOverError(text)
        raise NotRunningError(f"{text}: no process drives it now")
