"""How a job has ended."""

from __future__ import annotations

from typing import TypedDict

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.rest.answers.causes import Cause, cause
from millrace.cluster.rest.answers.exceptions import stacktrace
from millrace.cluster.rest.answers.states import ENDED, duration

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
    """How a job has ended, if it has."""
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
