"""Why a job has failed or restarted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from millrace.cluster.documents.exceptions import ExceptionDocument
from millrace.cluster.documents.job import JobDocument
from millrace.util.secrets import mask_text


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
    """The newest exceptions, those with all these labels."""
    fitting = [each for each in job.exceptions if all(each.labels.get(key) == value for key, value in labels)]
    shown = [_of_job(each) if job.state == "FAILED" and each is job.exceptions[0] else _root(each) for each in fitting]
    shown = shown[:most]
    truncated = job.exceptions_truncated or len(fitting) > most
    return {"exceptionHistory": {"entries": shown, "truncated": truncated}}


def _root(known: ExceptionDocument) -> RootExceptionInfo:
    return {**_info(known), "concurrentExceptions": [_info(each) for each in known.concurrent]}


def _of_job(known: ExceptionDocument) -> RootExceptionInfo:
    """What ended the job is a failure of the whole job; the task's, if it is one's, stands beside it."""
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
    """What a user reads first, then the stack."""
    text = known.stacktrace if known.text in known.stacktrace else f"{known.text}\n{known.stacktrace}"
    return mask_text(text)


def application_exceptions(job: JobDocument) -> ApplicationExceptionsInfoWithHistory:
    """What the application failed of, if it did."""
    last = job.exceptions[:1] if job.state == "FAILED" else ()
    entries: list[ApplicationExceptionInfo] = [
        {"exceptionName": each.name, "stacktrace": stacktrace(each), "timestamp": each.at, "jobId": job.id}
        for each in last
    ]
    return {"exceptionHistory": {"entries": entries}}
