"""Results of jobs and asynchronous operations: their outcome, failures and causes. Texts of exceptions are masked.

``begin``, ``on_job`` and ``result`` serve operations that one request begins and later requests ask for.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypedDict

from millrace.cluster.control import JobControl
from millrace.cluster.documents import ExceptionDocument, JobDocument
from millrace.cluster.rest.call import NO_JOB, Call
from millrace.cluster.rest.statistics import ENDED, duration
from millrace.util.secrets import mask_text

Cause = TypedDict("Cause", {"class": str, "stack-trace": str, "serialized-throwable": str})


def cause(kind: str, text: str) -> Cause:
    """The cause of a failure. There is no serialized Java object."""
    return {"class": kind, "stack-trace": mask_text(text), "serialized-throwable": ""}


# Failures of jobs


class _Exception(TypedDict):
    exceptionName: str
    stacktrace: str
    timestamp: int
    failureLabels: dict[str, str]


class ExceptionInfo(_Exception, total=False):
    """One exception; where it is no task's, these are left out."""

    taskName: str
    endpoint: str
    taskManagerId: str


class RootExceptionInfo(ExceptionInfo):
    """One with those that came at the same time."""

    concurrentExceptions: list[ExceptionInfo]


class JobExceptionHistory(TypedDict):
    """The newest first."""

    entries: list[RootExceptionInfo]
    truncated: bool


class JobExceptionsInfoWithHistory(TypedDict):
    """The answer."""

    exceptionHistory: JobExceptionHistory


class ApplicationExceptionInfo(TypedDict):
    """An exception that ended an application."""

    exceptionName: str
    stacktrace: str
    timestamp: int
    jobId: str


class ApplicationExceptionHistory(TypedDict):
    """There is one at most."""

    entries: list[ApplicationExceptionInfo]


class ApplicationExceptionsInfoWithHistory(TypedDict):
    """The answer for an application."""

    exceptionHistory: ApplicationExceptionHistory


def exceptions(job: JobDocument, most: int, labels: Sequence[tuple[str, str]]) -> JobExceptionsInfoWithHistory:
    """A job's exceptions, the newest first, filtered by labels."""
    fitting = [each for each in job.exceptions if all(each.labels.get(key) == value for key, value in labels)]
    shown = [_of_job(each) if job.state == "FAILED" and each is job.exceptions[0] else _root(each) for each in fitting]
    shown = shown[:most]
    truncated = job.exceptions_truncated or len(fitting) > most
    return {"exceptionHistory": {"entries": shown, "truncated": truncated}}


def _root(known: ExceptionDocument) -> RootExceptionInfo:
    return {**_info(known), "concurrentExceptions": [_info(each) for each in known.concurrent]}


def _of_job(known: ExceptionDocument) -> RootExceptionInfo:
    """An exception that ended the job, as a failure of the whole job; the failure of the task, if one failed, is listed
    beside it."""
    whole = _info(replace(known, task=None, host=None, task_manager=None))
    beside = known.concurrent if known.task is None else (known, *known.concurrent)
    return {**whole, "concurrentExceptions": [_info(each) for each in beside]}


def _info(known: ExceptionDocument) -> ExceptionInfo:
    body: ExceptionInfo = {
        "exceptionName": known.name,
        "stacktrace": stacktrace(known),
        "timestamp": known.at,
        "failureLabels": known.labels,
    }
    if known.task is not None:
        body["taskName"] = known.task
    if known.host is not None:
        body["endpoint"] = known.host
    if known.task_manager is not None:
        body["taskManagerId"] = known.task_manager
    return body


def stacktrace(known: ExceptionDocument) -> str:
    """The message for the user, followed by the stack."""
    text = known.stacktrace if known.text in known.stacktrace else f"{known.text}\n{known.stacktrace}"
    return mask_text(text)


def application_exceptions(job: JobDocument) -> ApplicationExceptionsInfoWithHistory:
    """The exception that ended an application, if one did."""
    last = job.exceptions[:1] if job.state == "FAILED" else ()
    entries: list[ApplicationExceptionInfo] = [
        {"exceptionName": each.name, "stacktrace": stacktrace(each), "timestamp": each.at, "jobId": job.id}
        for each in last
    ]
    return {"exceptionHistory": {"entries": entries}}


# Results of jobs

_STATES = {"FINISHED": "SUCCEEDED", "FAILED": "FAILED", "CANCELED": "CANCELED"}


class QueueStatus(TypedDict):
    """Whether it is over."""

    id: str


_JobResult = TypedDict(
    "_JobResult",
    {
        "id": str,
        "name": str,
        "application-status": str,
        "accumulator-results": dict[str, str],
        "net-runtime": int,
        "application-id": str,
        "start-time": int,
        "end-time": int,
    },
)
_Failure = TypedDict("_Failure", {"failure-cause": Cause}, total=False)


class JobResult(_JobResult, _Failure):
    """How it ended."""


class _Status(TypedDict):
    status: QueueStatus


_Result = TypedDict("_Result", {"job-execution-result": JobResult}, total=False)


class JobExecutionResultResponseBody(_Status, _Result):
    """The answer; while the job runs, there is only that."""


def execution_result(job: JobDocument) -> JobExecutionResultResponseBody:
    """The result of a job; only its status while it runs."""
    if job.state not in ENDED:
        return {"status": {"id": "IN_PROGRESS"}}
    result: JobResult = {
        "id": job.id,
        "name": job.name,
        "application-status": _STATES[job.state],
        "accumulator-results": {},
        "net-runtime": duration(job.started, job.ended, job.written),
        "application-id": job.id,
        "start-time": job.started,
        "end-time": job.ended,
    }
    if job.state == "FAILED":
        first = job.exceptions[:1]
        known = [(each.name, stacktrace(each)) for each in first] or [("JobFailed", f"Job {job.id} failed.")]
        result["failure-cause"] = cause(*known[0])
    return {"status": {"id": "COMPLETED"}, "job-execution-result": result}


# Asynchronous operations

TriggerResponse = TypedDict("TriggerResponse", {"request-id": str})


class UnknownJobError(Exception):
    """An operation was begun for a job that isn't there."""


class AsynchronousOperationResult(TypedDict):
    """Whether an operation is over, and then what came of it."""

    status: QueueStatus
    operation: dict[str, Any] | None


def begin(call: Call, kind: str, owner: str, id: str | None, start: Callable[[], Future[Any]]) -> TriggerResponse:
    """Begin an operation under the client's id or a new one."""
    id = id.lower() if id else uuid.uuid4().hex
    call.site.triggers.begin((kind, owner, id), start)
    return {"request-id": id}


def on_job(call: Call, start: Callable[[JobControl], Future[Any]]) -> Callable[[], Future[Any]]:
    """Begin an operation on the job that the path names; an unknown job becomes the operation's failure."""

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
