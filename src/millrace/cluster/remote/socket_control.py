"""A job in another process of this machine, steered through its socket."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import msgspec

from millrace.cluster.control import JobOverError
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.threads import FrameDocument, ThreadDocument
from millrace.cluster.remote.control_service import SAVEPOINT_SECONDS
from millrace.cluster.wire.asking import NotThereError, RefusedError, ask

T = TypeVar("T")
LOOK_SECONDS = 10.0
FLAME_SECONDS = 60.0
"""A flame graph takes the seconds that it shows."""


class JobFailedToAnswerError(Exception):
    """The job's own words for why it cannot do what was asked for."""


def read_documents(socket: str, seconds: float = LOOK_SECONDS) -> list[JobDocument]:
    """The jobs of a process.

    :raises NotThereError: it does not answer.
    """
    found = ask(socket, f"the process at {socket}", "documents", seconds)
    return msgspec.convert(found, list[JobDocument])


class SocketControl:
    """``JobControl`` of a job in another process.

    :param socket: where its process listens.
    """

    def __init__(self, id: str, socket: str) -> None:
        self._id = id
        self._socket = socket

    def document(self) -> JobDocument:
        for document in read_documents(self._socket):
            if document.id == self._id:
                return document
        raise NotThereError(f"the process of job {self._id} does not know it")

    def cancel(self) -> None:
        self._ask("cancel", LOOK_SECONDS)

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        return self._later("savepoint", str, directory=directory, native=native)

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        return self._later("stop", str, directory=directory, drain=drain, native=native)

    def checkpoint(self, full: bool) -> Future[int]:
        return self._later("checkpoint", int, full=full)

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        """The key as JSON has it, lists for tuples; so is the answer, with texts for what JSON has nothing for."""
        return self._later("query_state", lambda found: found, operator=operator, state=state, key=key)

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        found = self._ask("threads", FLAME_SECONDS, task_manager=task_manager)
        return msgspec.convert(found, list[ThreadDocument])

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        found = self._ask("flame_graph", FLAME_SECONDS, vertex=vertex, subtask=subtask, mode=mode)
        return msgspec.convert(found, FrameDocument)

    def _ask(self, call: str, seconds: float, **arguments: Any) -> Any:
        who = f"the process of job {self._id}"
        try:
            return ask(self._socket, who, call, seconds, job=self._id, **arguments)
        except RefusedError as refused:
            if refused.kind == JobOverError.__name__:
                raise JobOverError(str(refused)) from None
            raise JobFailedToAnswerError(str(refused)) from None

    def _later(self, call: str, convert: Callable[[Any], T], **arguments: Any) -> Future[T]:
        future: Future[T] = Future()

        def wait() -> None:
            try:
                future.set_result(convert(self._ask(call, SAVEPOINT_SECONDS + LOOK_SECONDS, **arguments)))
            except Exception as error:
                future.set_exception(error)

        threading.Thread(target=wait, name=f"millrace-{call}-{self._id[:8]}", daemon=True).start()
        return future
