"""Operations on vertices and subtasks of a job: attempts, times, places, accumulators, watermarks, back pressure, flame
graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from millrace.cluster.control import JobOverError
from millrace.cluster.documents import AccumulatorDocument, FrameDocument, JobDocument, SubtaskDocument, VertexDocument
from millrace.cluster.rest.call import Call, at, find_vertex, now_ms
from millrace.cluster.rest.metrics import Metric, watermarks
from millrace.cluster.rest.operation import INDEX, Operation, Query, choice
from millrace.cluster.rest.statistics import (
    ENDED,
    EXECUTION_STATES,
    UNASSIGNED,
    Aggregated,
    Number,
    Traffic,
    aggregated,
    began,
    count_states,
    duration,
    ended,
    state_durations,
    traffic,
    vertex_state,
)

# Accumulators, of jobs as well


class UserAccumulator(TypedDict):
    """One accumulator."""

    name: str
    type: str
    value: str


JobAccumulatorsInfo = TypedDict(
    "JobAccumulatorsInfo",
    {
        "job-accumulators": list[UserAccumulator],
        "user-task-accumulators": list[UserAccumulator],
        "serialized-user-task-accumulators": dict[str, str],
    },
)
JobVertexAccumulatorsInfo = TypedDict(
    "JobVertexAccumulatorsInfo", {"id": str, "user-accumulators": list[UserAccumulator]}
)
SubtaskAccumulatorsInfo = TypedDict(
    "SubtaskAccumulatorsInfo",
    {"subtask": int, "attempt": int, "endpoint": str, "user-accumulators": list[UserAccumulator]},
)


class SubtasksAllAccumulatorsInfo(TypedDict):
    """Of each subtask of a vertex."""

    id: str
    parallelism: int
    subtasks: list[SubtaskAccumulatorsInfo]


SubtaskExecutionAttemptAccumulatorsInfo = TypedDict(
    "SubtaskExecutionAttemptAccumulatorsInfo",
    {"subtask": int, "attempt": int, "id": str, "user-accumulators": list[UserAccumulator]},
)


def _shown(accumulators: Sequence[AccumulatorDocument]) -> list[UserAccumulator]:
    return [{"name": each.name, "type": each.type, "value": each.value} for each in accumulators]


def job_accumulators(job: JobDocument) -> JobAccumulatorsInfo:
    """The accumulators of a job. The list of Java-serialized ones is empty: there are no Java objects."""
    return {
        "job-accumulators": [],
        "user-task-accumulators": _shown(job.accumulators),
        "serialized-user-task-accumulators": {},
    }


def vertex_accumulators(vertex: VertexDocument) -> JobVertexAccumulatorsInfo:
    """The accumulators of a vertex: summed over its subtasks where possible, else those of each subtask."""
    totals: dict[tuple[str, str], list[str]] = {}
    for subtask in vertex.subtasks:
        for each in subtask.accumulators:
            totals.setdefault((each.name, each.type), []).append(each.value)
    shown = [
        AccumulatorDocument(name, kind, value) for (name, kind), values in totals.items() for value in _total(values)
    ]
    return {"id": vertex.id, "user-accumulators": _shown(shown)}


def _total(values: list[str]) -> list[str]:
    try:
        return [str(sum(int(value) for value in values))]
    except ValueError:
        return values


def subtasks_accumulators(vertex: VertexDocument) -> SubtasksAllAccumulatorsInfo:
    """The accumulators of each subtask of a vertex."""
    subtasks = [_subtask_accumulators(each) for each in vertex.subtasks]
    return {"id": vertex.id, "parallelism": vertex.parallelism, "subtasks": subtasks}


def _subtask_accumulators(subtask: SubtaskDocument) -> SubtaskAccumulatorsInfo:
    return {
        "subtask": subtask.index,
        "attempt": subtask.attempt,
        "endpoint": subtask.host or UNASSIGNED,
        "user-accumulators": _shown(subtask.accumulators),
    }


def attempt_accumulators(
    job: JobDocument, vertex: VertexDocument, subtask: SubtaskDocument
) -> SubtaskExecutionAttemptAccumulatorsInfo:
    """The accumulators of one attempt of a subtask."""
    return {
        "subtask": subtask.index,
        "attempt": subtask.attempt,
        "id": f"{job.id}_{vertex.id}_{subtask.index}_{subtask.attempt}",
        "user-accumulators": _shown(subtask.accumulators),
    }


# Back pressure

SubtaskBackPressureInfo = TypedDict(
    "SubtaskBackPressureInfo",
    {
        "subtask": int,
        "backpressureLevel": str,
        "ratio": float,
        "idleRatio": Number,
        "busyRatio": Number,
        "backpressure-level": str,
    },
)


class _BackPressure(TypedDict):
    status: str


_Known = TypedDict(
    "_Known",
    {
        "backpressureLevel": str,
        "end-timestamp": int,
        "subtasks": list[SubtaskBackPressureInfo],
        "backpressure-level": str,
    },
    total=False,
)


class JobVertexBackPressureInfo(_BackPressure, _Known):
    """Back pressure; of what does not run, the state ``deprecated`` alone."""


DEPRECATED: JobVertexBackPressureInfo = {"status": "deprecated"}


def level(ratio: float) -> str:
    return "ok" if ratio <= 0.1 else "low" if ratio <= 0.5 else "high"


def backpressure(job: JobDocument, vertex: VertexDocument) -> JobVertexBackPressureInfo:
    """The share of the last seconds in which each subtask was held up by those after it."""
    if job.state != "RUNNING" or all(each.state != "RUNNING" for each in vertex.subtasks):
        return DEPRECATED
    worst = level(max(each.backpressured or 0.0 for each in vertex.subtasks))
    return {
        "status": "ok",
        "backpressureLevel": worst,
        "end-timestamp": job.written,
        "subtasks": [_subtask_backpressure(each) for each in vertex.subtasks],
        "backpressure-level": worst,
    }


def _subtask_backpressure(subtask: SubtaskDocument) -> SubtaskBackPressureInfo:
    ratio, busy = subtask.backpressured or 0.0, subtask.busy or 0.0
    return {
        "subtask": subtask.index,
        "backpressureLevel": level(ratio),
        "ratio": ratio,
        "idleRatio": 1.0 - ratio - busy if subtask.idle is None else subtask.idle,
        "busyRatio": busy,
        "backpressure-level": level(ratio),
    }


TERMINATED = -1
"""time of a flame graph whose subject does not run"""


class Frame(TypedDict):
    """A frame, how often it was seen, and the frames that it called."""

    name: str
    value: int
    children: list[Frame]


class _Graph(TypedDict):
    endTimestamp: int


class VertexFlameGraph(_Graph, total=False):
    """The graph; without data where nothing runs."""

    data: Frame


def flame_graph(root: FrameDocument, now: int) -> VertexFlameGraph:
    return {"endTimestamp": now, "data": _frame(root)}


def _frame(frame: FrameDocument) -> Frame:
    return {"name": frame.name, "value": frame.value, "children": [_frame(each) for each in frame.children]}


# Vertices and subtasks

SubtaskExecutionAttemptDetailsInfo = TypedDict(
    "SubtaskExecutionAttemptDetailsInfo",
    {
        "subtask": int,
        "status": str,
        "attempt": int,
        "endpoint": str,
        "start-time": int,
        "end-time": int,
        "duration": int,
        "metrics": Traffic,
        "taskmanager-id": str,
        "status-duration": dict[str, int],
        "start_time": int,
    },
)


class JobVertexDetailsInfo(TypedDict):
    """A vertex with its subtasks."""

    id: str
    name: str
    parallelism: int
    maxParallelism: int
    now: int
    subtasks: list[SubtaskExecutionAttemptDetailsInfo]
    aggregated: Aggregated


class SubtaskTimeInfo(TypedDict):
    """When a subtask entered its states."""

    subtask: int
    endpoint: str
    duration: int
    timestamps: dict[str, int]


class SubtasksTimesInfo(TypedDict):
    """When the subtasks of a vertex entered their states."""

    id: str
    name: str
    now: int
    subtasks: list[SubtaskTimeInfo]


JobVertexTaskManagerInfo = TypedDict(
    "JobVertexTaskManagerInfo",
    {
        "endpoint": str,
        "status": str,
        "start-time": int,
        "end-time": int,
        "duration": int,
        "metrics": Traffic,
        "status-counts": dict[str, int],
        "taskmanager-id": str,
        "aggregated": Aggregated,
    },
)


class JobVertexTaskManagersInfo(TypedDict):
    """A vertex by task manager."""

    id: str
    name: str
    now: int
    taskmanagers: list[JobVertexTaskManagerInfo]


def attempt(subtask: SubtaskDocument, now: int) -> SubtaskExecutionAttemptDetailsInfo:
    """A subtask's present attempt."""
    return {
        "subtask": subtask.index,
        "status": subtask.state,
        "attempt": subtask.attempt,
        "endpoint": subtask.host or UNASSIGNED,
        "start-time": subtask.started,
        "end-time": subtask.ended,
        "duration": duration(subtask.started, subtask.ended, now),
        "metrics": traffic([subtask]),
        "taskmanager-id": subtask.task_manager or UNASSIGNED,
        "status-duration": state_durations(subtask, now),
        "start_time": subtask.started,
    }


def vertex_details(vertex: VertexDocument, now: int) -> JobVertexDetailsInfo:
    """A vertex with its subtasks."""
    return {
        "id": vertex.id,
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "maxParallelism": vertex.max_parallelism,
        "now": now,
        "subtasks": [attempt(each, now) for each in vertex.subtasks],
        "aggregated": aggregated(vertex.subtasks, now),
    }


def subtask_times(vertex: VertexDocument, now: int) -> SubtasksTimesInfo:
    """When the subtasks of a vertex entered their states."""
    times = [_subtask_time(each, now) for each in vertex.subtasks]
    return {"id": vertex.id, "name": vertex.name, "now": now, "subtasks": times}


def _subtask_time(subtask: SubtaskDocument, now: int) -> SubtaskTimeInfo:
    return {
        "subtask": subtask.index,
        "endpoint": subtask.host or UNASSIGNED,
        "duration": duration(subtask.states.get("SCHEDULED", -1), subtask.ended, now),
        "timestamps": {state: subtask.states.get(state, 0) for state in EXECUTION_STATES},
    }


def vertex_task_managers(vertex: VertexDocument, now: int) -> JobVertexTaskManagersInfo:
    """A vertex by task manager."""
    groups: dict[str, list[SubtaskDocument]] = {}
    for each in vertex.subtasks:
        groups.setdefault(each.task_manager or UNASSIGNED, []).append(each)
    shown = [_task_manager(vertex, id, subtasks, now) for id, subtasks in groups.items()]
    return {"id": vertex.id, "name": vertex.name, "now": now, "taskmanagers": shown}


def _task_manager(
    vertex: VertexDocument, id: str, subtasks: Sequence[SubtaskDocument], now: int
) -> JobVertexTaskManagerInfo:
    start, end = began(subtasks), ended(subtasks)
    states = [each.state for each in subtasks]
    return {
        "endpoint": subtasks[0].host or UNASSIGNED,
        "status": vertex_state(_part(vertex, subtasks)),
        "start-time": start,
        "end-time": end,
        "duration": duration(start, end, now),
        "metrics": traffic(subtasks),
        "status-counts": count_states(states),
        "taskmanager-id": id,
        "aggregated": aggregated(subtasks, now),
    }


def _part(vertex: VertexDocument, subtasks: Sequence[SubtaskDocument]) -> VertexDocument:
    """The vertex, reduced to some of its subtasks."""
    return replace(vertex, parallelism=len(subtasks), subtasks=tuple(subtasks))


# Operations

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
    Operation("GET", _ATTEMPT, _subtask, "An attempt of a subtask.", SubtaskExecutionAttemptDetailsInfo, history=True),
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
