"""The jobs of one program, over the socket of its process."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

from millrace.cluster.control import JobOverError
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.remote.elsewhere import WAIT_SECONDS, ElsewhereError, JobLine, UnknownJobError
from millrace.cluster.remote.socket_control import JobFailedToAnswerError, SocketControl, read_documents
from millrace.cluster.wire.asking import NotThereError, RefusedError

T = TypeVar("T")
_UNASKED = (
    "-detached: a program in the foreground has no REST API that could be asked for the result; nearest: the command "
    "in the background, with `&`"
)


class SocketJobs:
    """``JobsElsewhere`` of a program in the foreground.

    :param socket: where its process listens.
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
