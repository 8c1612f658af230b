"""Applications: each job is one of its own, with the job's id."""

from __future__ import annotations

from typing import TypedDict

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.rest.answers.jobs import JobDetails, job_details
from millrace.cluster.rest.answers.states import duration

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
