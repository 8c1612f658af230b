"""Operations on applications: each job is an application of its own, with the job's id."""

from __future__ import annotations

from typing import TypedDict

from millrace.cluster.documents import JobDocument
from millrace.cluster.rest.call import NO_APPLICATION, Call, at, broken, refused
from millrace.cluster.rest.jobs import JobDetails, job_details
from millrace.cluster.rest.operation import Operation
from millrace.cluster.rest.results import ApplicationExceptionsInfoWithHistory, application_exceptions
from millrace.cluster.rest.statistics import ENDED, duration
from millrace.cluster.rest.steering import cancel

STATES = ("CREATED", "FAILING", "FAILED", "RUNNING", "CANCELED", "CANCELING", "FINISHED")
_OF_JOBS = {
    "INITIALIZING": "CREATED",
    "CREATED": "CREATED",
    "CANCELLING": "CANCELING",
    "CANCELED": "CANCELED",
    "FAILING": "FAILING",
    "FAILED": "FAILED",
    "FINISHED": "FINISHED",
}
"""state of a job -> that of its application, where it isn't RUNNING"""

ApplicationDetails = TypedDict(
    "ApplicationDetails",
    {
        "id": str,
        "name": str,
        "start-time": int,
        "end-time": int,
        "duration": int,
        "status": str,
        "jobs": dict[str, int],
    },
)


class MultipleApplicationsDetails(TypedDict):
    """The list."""

    applications: list[ApplicationDetails]


ApplicationDetailsInfo = TypedDict(
    "ApplicationDetailsInfo",
    {
        "id": str,
        "name": str,
        "status": str,
        "start-time": int,
        "end-time": int,
        "duration": int,
        "timestamps": dict[str, int],
        "jobs": list[JobDetails],
    },
)


def application_state(job: JobDocument) -> str:
    return _OF_JOBS.get(job.state, "RUNNING")


def application(job: JobDocument, now: int) -> ApplicationDetails:
    """An application in a list."""
    return {
        "id": job.id,
        "name": f"SingleJobApplication({job.name})",
        "start-time": job.started,
        "end-time": job.ended,
        "duration": duration(job.started, job.ended, now),
        "status": application_state(job),
        "jobs": {job.state: 1},
    }


def application_details(job: JobDocument, now: int) -> ApplicationDetailsInfo:
    """An application with its job."""
    moments = dict.fromkeys(STATES, 0)
    for state in ("FINISHED", "CANCELED", "FAILED", "FAILING", "CANCELLING", "RUNNING"):
        moments[_OF_JOBS.get(state, "RUNNING")] = job.timestamps.get(state, 0)
    moments["CREATED"] = job.started
    return {
        "id": job.id,
        "name": f"SingleJobApplication({job.name})",
        "status": application_state(job),
        "start-time": job.started,
        "end-time": job.ended,
        "duration": duration(job.started, job.ended, now),
        "timestamps": moments,
        "jobs": [job_details(job, now)],
    }


_ONE = "/applications/{applicationid}"


def _find(call: Call) -> JobDocument:
    id = call.path["applicationid"]
    found = call.holder.job(id)
    if found is None:
        if call.settings.history:
            raise refused(404, f"Unknown application {id}")
        raise broken(NO_APPLICATION, f"Could not find Flink application ({id})")
    return found


def _overview(call: Call) -> MultipleApplicationsDetails:
    return {"applications": [application(each, at(each)) for each in call.holder.jobs()]}


def _details(call: Call) -> ApplicationDetailsInfo:
    job = _find(call)
    return application_details(job, at(job))


def _exceptions(call: Call) -> ApplicationExceptionsInfoWithHistory:
    return application_exceptions(_find(call))


def _cancel(call: Call) -> None:
    job = call.holder.job(call.path["applicationid"])
    if job is None or job.state in ENDED - {"CANCELED"}:
        raise refused(404, "Application could not be found.")
    cancel(call, call.path["applicationid"])


OPERATIONS = (
    Operation(
        "GET", "/applications/overview", _overview, "All applications.", MultipleApplicationsDetails, history=True
    ),
    Operation("GET", _ONE, _details, "An application.", ApplicationDetailsInfo, history=True),
    Operation(
        "GET",
        f"{_ONE}/exceptions",
        _exceptions,
        "Why an application has failed.",
        ApplicationExceptionsInfoWithHistory,
        history=True,
    ),
    Operation("POST", f"{_ONE}/cancel", _cancel, "Cancel an application.", status=202),
)
