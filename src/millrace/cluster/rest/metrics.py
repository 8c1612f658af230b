"""Operations on metrics: of a job, vertex, subtask, task manager or job manager, or aggregated over several of them.

Metrics that an owner reports come first. Some of Flink's metrics are also computed from documents, so that they exist
for jobs of any age.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from millrace.cluster.documents import JobDocument, MetricDocument, SubtaskDocument, TaskManagerDocument, VertexDocument
from millrace.cluster.rest.call import Call, at, find_vertex
from millrace.cluster.rest.operation import HEX, Operation, Query, choice
from millrace.cluster.rest.statistics import ENDED, Number, number
from millrace.metrics.system import Machine, OwnProcess, wants_machine

Value = float | int | str
Metrics = Mapping[str, Value]
"""name -> value of each metric"""

NO_WATERMARK = -(2**63)
WATERMARK = "currentInputWatermark"


class _Metric(TypedDict):
    id: str


class Metric(_Metric, total=False):
    """A metric; without a value where only names were asked for."""

    value: str


def names_or_values(metrics: Metrics, wanted: Sequence[str]) -> list[Metric]:
    """The names of all metrics, or the values of the requested metrics that exist."""
    if not wanted:
        return [{"id": name} for name in metrics]
    return [{"id": name, "value": text(metrics[name])} for name in dict.fromkeys(wanted) if name in metrics]


def text(value: Value) -> str:
    return value if isinstance(value, str) else str(value)


def _reported(metrics: Sequence[MetricDocument]) -> dict[str, Value]:
    return {each.name: each.value for each in metrics if each.value is not None}


def subtask_metrics(subtask: SubtaskDocument) -> Metrics:
    """The metrics of a subtask."""
    computed: dict[str, Value] = {
        "numRecordsIn": subtask.records_in,
        "numRecordsOut": subtask.records_out,
        "numBytesIn": subtask.bytes_in,
        "numBytesOut": subtask.bytes_out,
        "accumulateBusyTimeMs": subtask.busy_ms,
        "accumulateBackPressuredTimeMs": int(subtask.backpressured_ms),
        "accumulateIdleTimeMs": int(subtask.idle_ms),
        WATERMARK: NO_WATERMARK if subtask.watermark is None else subtask.watermark,
    }
    for name, share in (
        ("busyTimeMsPerSecond", subtask.busy),
        ("backPressuredTimeMsPerSecond", subtask.backpressured),
        ("idleTimeMsPerSecond", subtask.idle),
    ):
        if share is not None:
            computed[name] = share * 1000.0
    return {**computed, **_reported(subtask.metrics)}


def vertex_metrics(vertex: VertexDocument) -> Metrics:
    """The metrics of all subtasks of a vertex, each name prefixed with the subtask's index."""
    return {f"{each.index}.{name}": value for each in vertex.subtasks for name, value in subtask_metrics(each).items()}


def watermarks(vertex: VertexDocument) -> list[Metric]:
    """The input watermarks of the subtasks; sources have none."""
    if not vertex.inputs:
        return []
    return [
        {"id": f"{each.index}.{WATERMARK}", "value": text(subtask_metrics(each)[WATERMARK])} for each in vertex.subtasks
    ]


_TIMES = {
    "INITIALIZING": "initializingTime",
    "CREATED": "createdTime",
    "RUNNING": "runningTime",
    "RESTARTING": "restartingTime",
    "FAILING": "failingTime",
    "CANCELLING": "cancellingTime",
}


def _state_times(job: JobDocument, now: int) -> dict[str, Value]:
    """Time that the job has been in its present state (ms), by state; 0 for all other states."""
    times: dict[str, Value] = dict.fromkeys(_TIMES.values(), 0)
    if job.state in _TIMES:
        times[_TIMES[job.state]] = now - job.timestamps.get(job.state, now)
    subtasks = [each for vertex in job.vertices for each in vertex.subtasks]
    runs = job.state == "RUNNING" and bool(subtasks) and all(each.state in ("RUNNING", "FINISHED") for each in subtasks)
    since = max((each.states.get("RUNNING", now) for each in subtasks), default=now)
    times["allSubTasksRunningOrFinishedTime"] = now - since if runs else 0
    times["deployingTime"] = times["runningTime"] if job.state == "RUNNING" and not runs else 0
    return times


def job_metrics(job: JobDocument, now: int) -> Metrics:
    """The metrics of a job itself."""
    known = job.checkpoints
    completed = next((each for each in known.history if each.status == "COMPLETED"), None)
    runs = job.state == "RUNNING"
    computed: dict[str, Value] = {
        "uptime": now - job.timestamps.get("RUNNING", now) if runs else (-1 if job.state in ENDED else 0),
        "downtime": 0 if runs or job.state in ENDED else now - job.timestamps.get(job.state, now),
        "totalNumberOfCheckpoints": known.total,
        "numberOfInProgressCheckpoints": known.in_progress,
        "numberOfCompletedCheckpoints": known.completed,
        "numberOfFailedCheckpoints": known.failed,
        "lastCompletedCheckpointId": -1 if completed is None else completed.id,
        "lastCheckpointSize": -1 if completed is None else completed.size,
        "lastCheckpointFullSize": -1 if completed is None else completed.full_size,
        "lastCheckpointDuration": -1 if completed is None else completed.duration,
        "lastCheckpointCompletedTimestamp": -1 if completed is None else completed.latest_ack,
        "lastCheckpointExternalPath": "n/a" if completed is None or completed.path is None else completed.path,
        "lastCheckpointProcessedData": -1 if completed is None else 0,
        "lastCheckpointPersistedData": -1 if completed is None else 0,
        "lastCheckpointRestoreTimestamp": -1 if known.restored is None else known.restored.at,
        "numRescales": 0,
    }
    return {**computed, **_state_times(job, now), **_reported(job.metrics)}


def task_manager_metrics(manager: TaskManagerDocument) -> Metrics:
    """The metrics of a task manager: its JVM's heap, and those that it reports."""
    computed: dict[str, Value] = {
        "Status.JVM.Memory.Heap.Used": manager.heap_used,
        "Status.JVM.Memory.Heap.Max": manager.heap_max,
        "Status.Python.Memory.Used": manager.worker_memory,
    }
    return {**computed, **_reported(manager.metrics)}


def job_manager_metrics(jobs: Sequence[JobDocument], managers: Sequence[TaskManagerDocument]) -> Metrics:
    """The metrics of the job manager, which is the holder's process."""
    return {
        "taskSlotsTotal": sum(each.slots for each in managers),
        "taskSlotsAvailable": sum(each.free_slots for each in managers),
        "numRegisteredTaskManagers": len(managers),
        "numRunningJobs": sum(each.state not in ENDED for each in jobs),
    }


# Aggregates: least, greatest, mean, sum, skew

AGGREGATIONS = ("min", "max", "avg", "sum", "skew")


class _Aggregated(TypedDict):
    id: str


class AggregatedMetric(_Aggregated, total=False):
    """A metric with the aggregates that were asked for; without any where only names were."""

    min: Number
    max: Number
    avg: Number
    sum: Number
    skew: Number


def aggregate(owners: Iterable[Metrics], wanted: Sequence[str], how: Sequence[str]) -> list[AggregatedMetric]:
    """The names of all metrics, or aggregates of the requested ones that are numbers."""
    known = list(owners)
    if not wanted:
        return [{"id": name} for name in dict.fromkeys(name for metrics in known for name in metrics)]
    found: list[AggregatedMetric] = []
    for name in dict.fromkeys(wanted):
        values = [value for metrics in known if name in metrics for value in _number(metrics[name])]
        if values:
            found.append(_aggregate(name, values, how or AGGREGATIONS))
    return found


def _number(value: Value) -> list[float]:
    try:
        read = float(value)
    except ValueError:
        return []
    return [read]


def _aggregate(name: str, values: Sequence[float], how: Sequence[str]) -> AggregatedMetric:
    body: AggregatedMetric = {"id": name}
    total = math.fsum(value for value in values if math.isfinite(value))
    if any(not math.isfinite(value) for value in values):
        total = sum(values)
    if "min" in how:
        body["min"] = number(min(values))
    if "max" in how:
        body["max"] = number(max(values))
    if "avg" in how:
        body["avg"] = number(total / len(values))
    if "sum" in how:
        body["sum"] = number(total)
    if "skew" in how:
        body["skew"] = number(skew(values))
    return body


def skew(values: Sequence[float]) -> float:
    """Skew: the mean distance from the mean, in percent of the mean; 0 is even, 100 at most."""
    mean = sum(values) / len(values)
    if mean == 0:
        return 0.0
    distance = sum(abs(value - mean) for value in values) / len(values)
    return min(100.0, distance / mean * 100)


# Operations

_GET = Query("get", many=True)
_AGG = Query("agg", choice(*AGGREGATIONS), many=True)
_VERTEX = "/jobs/{jobid}/vertices/{vertexid}"


def _shown(call: Call, metrics: Metrics | None) -> list[Metric]:
    return [] if metrics is None else names_or_values(metrics, call.query.get("get", []))


def _aggregated(call: Call, owners: Sequence[Metrics]) -> list[AggregatedMetric]:
    return aggregate(owners, call.query.get("get", []), call.query.get("agg", []))


def _subtasks(call: Call) -> Sequence[SubtaskDocument]:
    """The subtasks of the vertex that the path names; empty if it is unknown."""
    job = call.holder.job(call.path["jobid"])
    vertex = find_vertex(job, call.path["vertexid"]) if job else None
    return vertex.subtasks if vertex else ()


def _job(call: Call) -> list[Metric]:
    job = call.holder.job(call.path["jobid"])
    return _shown(call, None if job is None else job_metrics(job, at(job)))


def _jobs(call: Call) -> list[AggregatedMetric]:
    chosen = call.query.get("jobs")
    jobs = [each for each in call.holder.jobs() if chosen is None or each.id in chosen]
    return _aggregated(call, [job_metrics(each, at(each)) for each in jobs])


def _vertex(call: Call) -> list[Metric]:
    job = call.holder.job(call.path["jobid"])
    vertex = find_vertex(job, call.path["vertexid"]) if job else None
    return _shown(call, None if vertex is None else vertex_metrics(vertex))


def _subtask(call: Call) -> list[Metric]:
    index = call.path["subtaskindex"]
    found = next((each for each in _subtasks(call) if each.index == index), None)
    return _shown(call, None if found is None else subtask_metrics(found))


def _all_subtasks(call: Call) -> list[AggregatedMetric]:
    chosen = _indexes(call.query.get("subtasks"))
    subtasks = [each for each in _subtasks(call) if chosen is None or each.index in chosen]
    return _aggregated(call, [subtask_metrics(each) for each in subtasks])


def _indexes(texts: list[str] | None) -> set[int] | None:
    """Parse subtask indexes: ``0,2-4`` -> 0, 2, 3, 4. A part that can't be parsed names no subtask, as in Flink."""
    if texts is None:
        return None
    chosen: set[int] = set()
    for text in texts:
        first, _, last = text.partition("-")
        if first.isdecimal() and (last.isdecimal() or "-" not in text) and len(first) < 10 and len(last) < 10:
            begin, end = int(first), int(last or first)
            chosen.update(range(begin, min(end, begin + 100_000) + 1))
    return chosen


def _task_manager(call: Call) -> list[Metric]:
    managers = [each for each in call.holder.task_managers() if each.id == call.path["taskmanagerid"]]
    return _shown(call, task_manager_metrics(managers[0]) if managers else None)


def _task_managers(call: Call) -> list[AggregatedMetric]:
    chosen = call.query.get("taskmanagers")
    managers = [each for each in call.holder.task_managers() if chosen is None or each.id in chosen]
    return _aggregated(call, [task_manager_metrics(each) for each in managers])


_OWN, _MACHINE = OwnProcess(), Machine()
"""Metrics of this process and machine: the process that serves is the job manager."""


def _job_manager(call: Call) -> list[Metric]:
    counted = job_manager_metrics(call.holder.jobs(), call.holder.task_managers())
    machine = _MACHINE.read() if wants_machine(call.holder.configuration()) else {}
    return _shown(call, {**counted, **_OWN.read(), **machine})


def _of_coordinators(call: Call) -> list[Metric]:
    """Metrics of operator coordinators: empty, since Millrace's coordinators report with the job."""
    return []


OPERATIONS = (
    Operation(
        "GET",
        "/jobs/metrics",
        _jobs,
        "Metrics of jobs, aggregated.",
        list[AggregatedMetric],
        query=(_GET, _AGG, Query("jobs", HEX, many=True)),
    ),
    Operation("GET", "/jobs/{jobid}/metrics", _job, "Metrics of a job.", list[Metric], query=(_GET,)),
    Operation("GET", f"{_VERTEX}/metrics", _vertex, "Metrics of a vertex.", list[Metric], query=(_GET,)),
    Operation(
        "GET",
        f"{_VERTEX}/jm-operator-metrics",
        _of_coordinators,
        "Metrics of coordinators: always empty.",
        list[Metric],
        query=(_GET,),
    ),
    Operation(
        "GET",
        f"{_VERTEX}/subtasks/metrics",
        _all_subtasks,
        "Metrics of a vertex, aggregated over its subtasks.",
        list[AggregatedMetric],
        query=(_GET, _AGG, Query("subtasks", many=True)),
    ),
    Operation(
        "GET",
        f"{_VERTEX}/subtasks/{{subtaskindex}}/metrics",
        _subtask,
        "Metrics of a subtask.",
        list[Metric],
        query=(_GET,),
    ),
    Operation(
        "GET",
        "/taskmanagers/metrics",
        _task_managers,
        "Metrics of task managers, aggregated.",
        list[AggregatedMetric],
        query=(_GET, _AGG, Query("taskmanagers", many=True)),
    ),
    Operation(
        "GET",
        "/taskmanagers/{taskmanagerid}/metrics",
        _task_manager,
        "Metrics of a task manager.",
        list[Metric],
        query=(_GET,),
    ),
    Operation("GET", "/jobmanager/metrics", _job_manager, "Metrics of the cluster.", list[Metric], query=(_GET,)),
)
