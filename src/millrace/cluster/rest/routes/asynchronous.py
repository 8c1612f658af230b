"""What is common to operations that are begun with one request and looked up with others."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypedDict

from millrace.cluster.control import JobControl
from millrace.cluster.rest.answers.causes import cause
from millrace.cluster.rest.answers.results import QueueStatus
from millrace.cluster.rest.web.call import Call
from millrace.cluster.rest.web.errors import NO_JOB

TriggerResponse = TypedDict("TriggerResponse", {"request-id": str})


class UnknownJobError(Exception):
    """An operation was begun for a job that isn't there."""


class AsynchronousOperationResult(TypedDict):
    """Whether an operation is over, and then what came of it."""

    status: QueueStatus
    operation: dict[str, Any] | None


def begin(call: Call, kind: str, owner: str, id: str | None, start: Callable[[], Future[Any]]) -> TriggerResponse:
    """Begin an operation under the caller's id or a new one."""
    id = id.lower() if id else uuid.uuid4().hex
    call.site.triggers.begin((kind, owner, id), start)
    return {"request-id": id}


def on_job(call: Call, start: Callable[[JobControl], Future[Any]]) -> Callable[[], Future[Any]]:
    """Something that is begun with the job that the path names; an unknown one is the operation's failure."""

    def started() -> Future[Any]:
        control = call.control()
        if control is None:
            raise UnknownJobError(f"{NO_JOB}: Could not find Flink job ({call.path['jobid']})")
        return start(control)

    return started


def result(future: Future[Any], failed: str, done: Callable[[Any], dict[str, Any]]) -> AsynchronousOperationResult:
    """What is known of an operation.

    :param failed: name of the field with the cause of a failure.
    """
    if not future.done():
        return {"status": {"id": "IN_PROGRESS"}, "operation": None}
    error = future.exception()
    operation = done(future.result()) if error is None else {failed: _cause(error)}
    return {"status": {"id": "COMPLETED"}, "operation": operation}


def _cause(error: BaseException) -> Any:
    kind = "java.util.concurrent.CompletionException" if isinstance(error, UnknownJobError) else type(error).__name__
    return cause(kind, f"{kind}: {error}\n")
