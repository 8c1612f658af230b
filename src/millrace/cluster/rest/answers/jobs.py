"""Jobs: in lists, and one with its vertices."""

from __future__ import annotations

from typing import TypedDict

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.vertices import VertexDocument
from millrace.cluster.rest.answers.plans import Plan, StreamGraph, plan, stream_graph
from millrace.cluster.rest.answers.states import (
    JOB_STATES,
    began,
    count_states,
    duration,
    ended,
    subtask_states,
    task_counts,
    vertex_state,
)
from millrace.cluster.rest.answers.traffic import Traffic, traffic
from millrace.util.secrets import mask_options


class JobIdWithStatus(TypedDict):
    """A job in the shortest list."""

    id: str
    status: str


class JobIdsWithStatusOverview(TypedDict):
    """The shortest list."""

    jobs: list[JobIdWithStatus]


JobDetails = TypedDict(
    "JobDetails",
    {
        "jid": str,
        "name": str,
        "jobType": str,
        "schedulerType": str,
        "start-time": int,
        "end-time": int,
        "duration": int,
        "state": str,
        "last-modification": int,
        "tasks": dict[str, int],
        "pending-operators": int,
    },
)


class MultipleJobsDetails(TypedDict):
    """The list with times and tasks."""

    jobs: list[JobDetails]


JobDetailsVertexInfo = TypedDict(
    "JobDetailsVertexInfo",
    {
        "id": str,
        "slotSharingGroupId": str,
        "name": str,
        "maxParallelism": int,
        "parallelism": int,
        "status": str,
        "start-time": int,
        "end-time": int,
        "duration": int,
        "tasks": dict[str, int],
        "metrics": Traffic,
    },
)

_JobDetailsInfo = TypedDict(
    "_JobDetailsInfo",
    {
        "jid": str,
        "application-id": str,
        "name": str,
        "isStoppable": bool,
        "state": str,
        "job-type": str,
        "schedulerType": str,
        "start-time": int,
        "end-time": int,
        "duration": int,
        "maxParallelism": int,
        "now": int,
        "timestamps": dict[str, int],
        "vertices": list[JobDetailsVertexInfo],
        "status-counts": dict[str, int],
        "plan": Plan,
        "pending-operators": int,
    },
)
_OfBatch = TypedDict("_OfBatch", {"stream-graph": StreamGraph}, total=False)


class JobDetailsInfo(_JobDetailsInfo, _OfBatch):
    """One job with all its vertices."""


class JobStatusInfo(TypedDict):
    """The state of a job."""

    status: str


ExecutionConfig = TypedDict(
    "ExecutionConfig",
    {"restart-strategy": str, "job-parallelism": int, "object-reuse-mode": bool, "user-config": dict[str, str]},
)
JobConfigInfo = TypedDict("JobConfigInfo", {"jid": str, "name": str, "execution-config": ExecutionConfig})


def job_type(job: JobDocument) -> str:
    return "BATCH" if job.batch else "STREAMING"


def scheduler(job: JobDocument) -> str:
    return "AdaptiveBatch" if job.batch else "Default"


def last_modification(job: JobDocument) -> int:
    """When a subtask last changed its state, or the job did."""
    moments = [moment for vertex in job.vertices for each in vertex.subtasks for moment in each.states.values()]
    return max([*moments, *job.timestamps.values(), job.started])


def job_details(job: JobDocument, now: int) -> JobDetails:
    """A job in a list."""
    return {
        "jid": job.id,
        "name": job.name,
        "jobType": job_type(job),
        "schedulerType": scheduler(job),
        "start-time": job.started,
        "end-time": job.ended,
        "duration": duration(job.started, job.ended, now),
        "state": job.state,
        "last-modification": last_modification(job),
        "tasks": task_counts(job),
        "pending-operators": 0,
    }


def job_details_info(job: JobDocument, now: int) -> JobDetailsInfo:
    """A job with all its vertices."""
    body: JobDetailsInfo = {
        "jid": job.id,
        "application-id": job.id,
        "name": job.name,
        "isStoppable": False,
        "state": job.state,
        "job-type": job_type(job),
        "schedulerType": scheduler(job),
        "start-time": job.started,
        "end-time": job.ended,
        "duration": duration(job.started, job.ended, now),
        "maxParallelism": job.max_parallelism,
        "now": now,
        "timestamps": {state: job.timestamps.get(state, 0) for state in JOB_STATES},
        "vertices": [_vertex(each, now) for each in job.vertices],
        "status-counts": count_states(vertex_state(each) for each in job.vertices),
        "plan": plan(job),
        "pending-operators": 0,
    }
    if job.batch:
        body["stream-graph"] = stream_graph(job)
    return body


def _vertex(vertex: VertexDocument, now: int) -> JobDetailsVertexInfo:
    start, end = began(vertex.subtasks), ended(vertex.subtasks)
    return {
        "id": vertex.id,
        "slotSharingGroupId": vertex.slot_sharing_group,
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": vertex_state(vertex),
        "start-time": start,
        "end-time": end,
        "duration": duration(start, end, now),
        "tasks": count_states(subtask_states(vertex)),
        "metrics": traffic(vertex.subtasks),
    }


def job_config(job: JobDocument) -> JobConfigInfo:
    """What the program has set, without secrets."""
    return {
        "jid": job.id,
        "name": job.name,
        "execution-config": {
            "restart-strategy": job.restart_strategy,
            "job-parallelism": job.parallelism,
            "object-reuse-mode": job.object_reuse,
            "user-config": mask_options(job.parameters),
        },
    }
