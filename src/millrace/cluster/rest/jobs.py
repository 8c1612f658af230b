"""Operations on jobs: lists, one job, its plan, its configuration, its accumulators, its failures and its result."""

from __future__ import annotations

from typing import TypedDict

from millrace.cluster.control import JobHolder
from millrace.cluster.documents import InputDocument, JobDocument, VertexDocument
from millrace.cluster.rest.call import NO_JOB, Call, at, broken, refused
from millrace.cluster.rest.operation import INTEGER, LABEL, TRUTH, Operation, Query
from millrace.cluster.rest.results import (
    JobExceptionsInfoWithHistory,
    JobExecutionResultResponseBody,
    exceptions,
    execution_result,
)
from millrace.cluster.rest.statistics import (
    JOB_STATES,
    Traffic,
    began,
    count_states,
    duration,
    ended,
    subtask_states,
    task_counts,
    traffic,
    vertex_state,
)
from millrace.cluster.rest.vertices import JobAccumulatorsInfo, job_accumulators
from millrace.util.secrets import mask_options

# Plans


class PlanInput(TypedDict):
    """An edge to a vertex."""

    id: str
    num: int
    exchange: str
    ship_strategy: str


class _Node(TypedDict):
    id: str
    operator: str
    parallelism: int
    operator_strategy: str
    description: str
    optimizer_properties: dict[str, str]


class PlanNode(_Node, total=False):
    """A vertex. Sources have no inputs."""

    inputs: list[PlanInput]


class Plan(TypedDict):
    """The plan."""

    jid: str
    name: str
    type: str
    nodes: list[PlanNode]


class JobPlanInfo(TypedDict):
    """The answer that is a plan."""

    plan: Plan


class _StreamNode(TypedDict):
    id: str
    parallelism: int
    operator: str
    description: str
    inputs: list[PlanInput]


class StreamNode(_StreamNode, total=False):
    """An operator."""

    job_vertex_id: str


class StreamGraph(TypedDict):
    """The operators of a batch job."""

    nodes: list[StreamNode]


def plan(job: JobDocument) -> Plan:
    """A job's plan, the last vertices first, as Flink lists them."""
    return {
        "jid": job.id,
        "name": job.name,
        "type": "BATCH" if job.batch else "STREAMING",
        "nodes": [_node(each) for each in reversed(job.vertices)],
    }


def _node(vertex: VertexDocument) -> PlanNode:
    node: PlanNode = {
        "id": vertex.id,
        "operator": "",
        "parallelism": vertex.parallelism,
        "operator_strategy": "",
        "description": _description(vertex),
        "optimizer_properties": {},
    }
    if vertex.inputs:
        node["inputs"] = [_input(each) for each in vertex.inputs]
    return node


def _input(edge: InputDocument) -> PlanInput:
    return {"id": edge.vertex, "num": edge.number, "exchange": edge.exchange, "ship_strategy": edge.ship_strategy}


def _description(vertex: VertexDocument) -> str:
    """The operators of a vertex as HTML, each below the one before it. Their names are the user's text, so they are
    escaped."""
    texts = [_escaped(each.description or each.name) for each in vertex.operators] or [_escaped(vertex.name)]
    lines = [texts[0], *[f"{'   ' * depth}+- {text}" for depth, text in enumerate(texts[1:])]]
    return "".join(f"{line}<br/>" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def stream_graph(job: JobDocument) -> StreamGraph:
    """The operators of a batch job, one by one. Within a vertex each is shown to read from the one before it."""
    last = {each.id: each.operators[-1].uid for each in job.vertices if each.operators}
    nodes: list[StreamNode] = []
    for vertex in job.vertices:
        inputs: list[PlanInput] = [{**_input(each), "id": last.get(each.vertex, each.vertex)} for each in vertex.inputs]
        for operator in vertex.operators:
            nodes.append(
                {
                    "id": operator.uid,
                    "parallelism": vertex.parallelism,
                    "operator": operator.name,
                    "description": _escaped(operator.description or operator.name),
                    "inputs": inputs,
                    "job_vertex_id": vertex.id,
                }
            )
            inputs = [{"id": operator.uid, "num": 0, "exchange": "UNDEFINED", "ship_strategy": "FORWARD"}]
    return {"nodes": nodes}


# Answers


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
    """The options that the program has set, without secrets."""
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


# Operations


def find_job(holder: JobHolder, id: str) -> JobDocument:
    """The job that the path names, for operations where Flink answers an unknown job with an internal error."""
    found = holder.job(id)
    if found is None:
        raise broken(NO_JOB, f"Could not find Flink job ({id})")
    return found


def _ids(call: Call) -> JobIdsWithStatusOverview:
    return {"jobs": [{"id": each.id, "status": each.state} for each in call.holder.jobs()]}


def _overview(call: Call) -> MultipleJobsDetails:
    return {"jobs": [_listed(call, each) for each in call.holder.jobs()]}


def _listed(call: Call, job: JobDocument) -> JobDetails:
    known = call.site.remembered.of("details", job, lambda job: job_details(job, job.written))
    return {**known, "duration": duration(job.started, job.ended, at(job))}


def _details(call: Call) -> JobDetailsInfo:
    job = call.job()
    return job_details_info(job, at(job))


def _config(call: Call) -> JobConfigInfo:
    return job_config(call.job())


def _plan(call: Call) -> JobPlanInfo:
    return {"plan": plan(call.job())}


def _status(call: Call) -> JobStatusInfo:
    return {"status": find_job(call.holder, call.path["jobid"]).state}


def _accumulators(call: Call) -> JobAccumulatorsInfo:
    return job_accumulators(call.job())


def _exceptions(call: Call) -> JobExceptionsInfoWithHistory:
    job = call.job()
    most = call.one("maxExceptions")
    if most is None:
        most = call.settings.exceptions
    if most < 0:
        raise broken("java.lang.IllegalArgumentException", str(most))
    return exceptions(job, most, call.query.get("failureLabelFilter", []))


def _result(call: Call) -> JobExecutionResultResponseBody:
    job = call.holder.job(call.path["jobid"])
    if job is None:
        raise refused(404, f"{NO_JOB}: Could not find Flink job ({call.path['jobid']})")
    return execution_result(job)


OPERATIONS = (
    Operation("GET", "/jobs", _ids, "All jobs with their states.", JobIdsWithStatusOverview),
    Operation("GET", "/jobs/overview", _overview, "All jobs with times and tasks.", MultipleJobsDetails, history=True),
    Operation("GET", "/jobs/{jobid}", _details, "A job with its vertices.", JobDetailsInfo, history=True),
    Operation("GET", "/jobs/{jobid}/config", _config, "What the job has set.", JobConfigInfo, history=True),
    Operation("GET", "/jobs/{jobid}/plan", _plan, "The job's plan.", JobPlanInfo, history=True),
    Operation("GET", "/jobs/{jobid}/status", _status, "The job's state.", JobStatusInfo),
    Operation(
        "GET",
        "/jobs/{jobid}/accumulators",
        _accumulators,
        "The user's accumulators.",
        JobAccumulatorsInfo,
        query=(Query("includeSerializedValue", TRUTH),),
        history=True,
    ),
    Operation(
        "GET",
        "/jobs/{jobid}/exceptions",
        _exceptions,
        "Why the job has failed or restarted, the newest first.",
        JobExceptionsInfoWithHistory,
        query=(Query("maxExceptions", INTEGER), Query("failureLabelFilter", LABEL, many=True)),
        history=True,
    ),
    Operation(
        "GET", "/jobs/{jobid}/execution-result", _result, "How the job has ended.", JobExecutionResultResponseBody
    ),
)
