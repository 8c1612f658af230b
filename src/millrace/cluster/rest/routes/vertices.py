"""Vertices and subtasks of a job."""

from __future__ import annotations

from millrace.cluster.control import JobOverError
from millrace.cluster.rest.answers.accumulators import (
    JobVertexAccumulatorsInfo,
    SubtaskExecutionAttemptAccumulatorsInfo,
    SubtasksAllAccumulatorsInfo,
    attempt_accumulators,
    subtasks_accumulators,
    vertex_accumulators,
)
from millrace.cluster.rest.answers.backpressure import DEPRECATED, JobVertexBackPressureInfo, backpressure
from millrace.cluster.rest.answers.flame_graphs import TERMINATED, VertexFlameGraph, flame_graph
from millrace.cluster.rest.answers.metrics import Metric, watermarks
from millrace.cluster.rest.answers.states import ENDED
from millrace.cluster.rest.answers.vertices import (
    JobVertexDetailsInfo,
    JobVertexTaskManagersInfo,
    SubtaskExecutionAttemptDetailsInfo,
    SubtasksTimesInfo,
    attempt,
    subtask_times,
    vertex_details,
    vertex_task_managers,
)
from millrace.cluster.rest.web.call import Call, at, find_vertex, now_ms
from millrace.cluster.rest.web.operation import Operation
from millrace.cluster.rest.web.parameters import INDEX, Query, choice

_VERTEX = "/jobs/{jobid}/vertices/{vertexid}"
_SUBTASK = f"{_VERTEX}/subtasks/{{subtaskindex}}"
_ATTEMPT = f"{_SUBTASK}/attempts/{{attempt}}"


def _details(call: Call) -> JobVertexDetailsInfo:
    job = call.job()
    return vertex_details(call.shown_vertex(job), at(job))


def _times(call: Call) -> SubtasksTimesInfo:
    job = call.job()
    return subtask_times(call.vertex(job), at(job))


def _task_managers(call: Call) -> JobVertexTaskManagersInfo:
    job = call.job()
    return vertex_task_managers(call.shown_vertex(job), at(job))


def _accumulators(call: Call) -> JobVertexAccumulatorsInfo:
    return vertex_accumulators(call.vertex(call.job()))


def _subtasks_accumulators(call: Call) -> SubtasksAllAccumulatorsInfo:
    return subtasks_accumulators(call.vertex(call.job()))


def _subtask(call: Call) -> SubtaskExecutionAttemptDetailsInfo:
    job = call.job()
    return attempt(call.subtask(call.vertex(job)), at(job))


def _attempt_accumulators(call: Call) -> SubtaskExecutionAttemptAccumulatorsInfo:
    job = call.job()
    vertex = call.vertex(job)
    return attempt_accumulators(job, vertex, call.subtask(vertex))


def _watermarks(call: Call) -> list[Metric]:
    return watermarks(call.vertex(call.job()))


def _backpressure(call: Call) -> JobVertexBackPressureInfo:
    job = call.holder.job(call.path["jobid"])
    vertex = find_vertex(job, call.path["vertexid"]) if job else None
    return backpressure(job, vertex) if job and vertex else DEPRECATED


def _flame_graph(call: Call) -> VertexFlameGraph:
    job = call.job()
    vertex = call.shown_vertex(job)
    control = call.control()
    if control is None or job.state in ENDED:
        return {"endTimestamp": TERMINATED}
    try:
        root = control.flame_graph(vertex.id, call.one("subtaskindex"), call.one("type") or "full")
    except JobOverError:
        return {"endTimestamp": TERMINATED}
    return flame_graph(root, now_ms())


OPERATIONS = (
    Operation("GET", _VERTEX, _details, "A vertex with its subtasks.", JobVertexDetailsInfo, history=True),
    Operation(
        "GET",
        f"{_VERTEX}/accumulators",
        _accumulators,
        "The user's accumulators of a vertex.",
        JobVertexAccumulatorsInfo,
    ),
    Operation("GET", f"{_VERTEX}/backpressure", _backpressure, "Back pressure.", JobVertexBackPressureInfo),
    Operation(
        "GET",
        f"{_VERTEX}/flamegraph",
        _flame_graph,
        "What the functions of a vertex did over the last seconds.",
        VertexFlameGraph,
        query=(Query("type", choice("full", "on_cpu", "off_cpu")), Query("subtaskindex", INDEX)),
    ),
    Operation(
        "GET",
        f"{_VERTEX}/subtasks/accumulators",
        _subtasks_accumulators,
        "The user's accumulators of each subtask.",
        SubtasksAllAccumulatorsInfo,
    ),
    Operation("GET", _SUBTASK, _subtask, "A subtask.", SubtaskExecutionAttemptDetailsInfo),
    Operation(
        "GET", _ATTEMPT, _subtask, "An attempt of a subtask.", SubtaskExecutionAttemptDetailsInfo, history=True
    ),
    Operation(
        "GET",
        f"{_ATTEMPT}/accumulators",
        _attempt_accumulators,
        "The user's accumulators of an attempt.",
        SubtaskExecutionAttemptAccumulatorsInfo,
        history=True,
    ),
    Operation(
        "GET", f"{_VERTEX}/subtasktimes", _times, "When subtasks entered states.", SubtasksTimesInfo, history=True
    ),
    Operation(
        "GET",
        f"{_VERTEX}/taskmanagers",
        _task_managers,
        "A vertex by task manager.",
        JobVertexTaskManagersInfo,
        history=True,
    ),
    Operation("GET", f"{_VERTEX}/watermarks", _watermarks, "Input watermarks of the subtasks.", list[Metric]),
)
