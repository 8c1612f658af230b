"""Steering jobs of another process of this machine through its socket.

``JobsHere`` answers in the process of the jobs, ``SocketControl`` and ``SocketJobs`` ask from another one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Protocol, TypeVar

import msgspec

from millrace.cluster.control import WAIT_SECONDS, ElsewhereError, JobControl, JobLine, JobOverError, UnknownJobError
from millrace.cluster.documents import FrameDocument, JobDocument, ThreadDocument, key_of, plain
from millrace.cluster.rpc import NotThereError, RefusedError, ask

# In the process of the jobs

SAVEPOINT_SECONDS = 3_600.0
"""How long a call may take that waits for a savepoint, a checkpoint or the answer of a state query."""


class NamedControl(JobControl, Protocol):
    """A job that knows its id."""

    @property
    def id(self) -> str: ...


class JobsHere:
    """The jobs of this process, and the calls with which other processes reach them.

    :param controls: returns the controls of all jobs.
    :param shown: turns a document into the one that other processes see.
    """

    def __init__(
        self,
        controls: Callable[[], Sequence[NamedControl]],
        shown: Callable[[JobDocument], JobDocument] = lambda document: document,
    ) -> None:
        self._controls = controls
        self._shown = shown

    def documents(self) -> list[JobDocument]:
        """The current documents of all jobs."""
        return [self._shown(control.document()) for control in self._controls()]

    def control(self, id: str) -> JobControl | None:
        """The control of a job."""
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


# From another process

T = TypeVar("T")
LOOK_SECONDS = 10.0
FLAME_SECONDS = 60.0
"""How long a flame graph may take, which samples for some seconds."""


class JobFailedToAnswerError(Exception):
    """The job could not carry out the request; the text is the job's own."""


def read_documents(socket: str, seconds: float = LOOK_SECONDS) -> list[JobDocument]:
    """The documents of another process's jobs.

    :raises NotThereError: it does not answer.
    """
    found = ask(socket, f"the process at {socket}", "documents", seconds)
    return msgspec.convert(found, list[JobDocument])


class SocketControl:
    """``JobControl`` of a job in another process.

    :param socket: path of the socket where the process listens.
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
        """Query keyed state. Key and answer are in JSON's types: lists for tuples, texts for values that JSON cannot
        represent."""
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


_UNASKED = (
    "-detached: a program in the foreground has no REST API that could be asked for the result; nearest: the command "
    "in the background, with `&`"
)


class SocketJobs:
    """``JobsElsewhere`` of a program in the foreground.

    :param socket: path of the socket where its process listens.
    """

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def jobs(self) -> list[JobLine]:
        return [JobLine(each.id, each.name, each.state, each.started) for each in self._documents()]

    def _documents(self) -> list[JobDocument]:
        try:
            return read_documents(self._socket)
        except (NotThereError, RefusedError, ValueError) as error:
            raise ElsewhereError(str(error)) from None

    def state(self, job: str) -> str:
        return self.document(job).state

    def document(self, job: str) -> JobDocument:
        for each in self._documents():
            if each.id == job:
                return each
        raise UnknownJobError(f"Could not find Flink job ({job})")

    def cancel(self, job: str) -> None:
        control = self._control(job)
        try:
            control.cancel()
        except (JobOverError, JobFailedToAnswerError, NotThereError) as error:
            raise ElsewhereError(str(error)) from None

    def savepoint(self, job: str, directory: str | None, native: bool) -> str:
        return _wait(self._control(job).savepoint(directory, native), "the savepoint")

    def stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        return _wait(self._control(job).stop(directory, drain, native), "the savepoint")

    def begin_savepoint(self, job: str, directory: str | None, native: bool) -> str:
        raise ElsewhereError(_UNASKED)

    def begin_stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        raise ElsewhereError(_UNASKED)

    def checkpoint(self, job: str, full: bool) -> int:
        return _wait(self._control(job).checkpoint(full), "the checkpoint")

    def query_state(self, job: str, operator: str, state: str, key: Any) -> Any:
        return _wait(self._control(job).query_state(operator, state, key), "the answer of the state")

    def _control(self, job: str) -> SocketControl:
        self.state(job)
        return SocketControl(job, self._socket)


def _wait(future: Future[T], what: str) -> T:
    try:
        return future.result(WAIT_SECONDS)
    except FutureTimeoutError:
        raise ElsewhereError(f"{what} is not there after {WAIT_SECONDS:g} s") from None
    except Exception as error:
        raise ElsewhereError(str(error)) from None
