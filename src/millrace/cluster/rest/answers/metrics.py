"""Metrics by name: of jobs, vertices, subtasks, task managers and the job manager.

What an owner reports wins; a few of Flink's metrics are also computed from what documents say anyway, so they are there
for jobs of any age.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from millrace.cluster.documents.cluster import TaskManagerDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.numbers import MetricDocument
from millrace.cluster.documents.vertices import SubtaskDocument, VertexDocument
from millrace.cluster.rest.answers.states import ENDED

Value = float | int | str
Metrics = Mapping[str, Value]
"""name -> value"""

NO_WATERMARK = -(2**63)
WATERMARK = "currentInputWatermark"


class _Metric(TypedDict):
    id: str


class Metric(_Metric, total=False):
    """A metric; without a value where only names were asked for."""

    value: str


def names_or_values(metrics: Metrics, wanted: Sequence[str]) -> list[Metric]:
    """All names, or the values of those that are wanted and there."""
    if not wanted:
        return [{"id": name} for name in metrics]
    return [{"id": name, "value": text(metrics[name])} for name in dict.fromkeys(wanted) if name in metrics]


def text(value: Value) -> str:
    return value if isinstance(value, str) else str(value)


def _reported(metrics: Sequence[MetricDocument]) -> dict[str, Value]:
    return {each.name: each.value for each in metrics if each.value is not None}


def subtask_metrics(subtask: SubtaskDocument) -> Metrics:
    """Of a subtask."""
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
    """Of all subtasks, each with its index before the name."""
    return {
        f"{each.index}.{name}": value for each in vertex.subtasks for name, value in subtask_metrics(each).items()
    }


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
    """How long the job has been in the state that it is in; 0 for all others."""
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
    """Of a job itself."""
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
    """Of a task manager: its JVM's heap, and what it reports."""
    computed: dict[str, Value] = {
        "Status.JVM.Memory.Heap.Used": manager.heap_used,
        "Status.JVM.Memory.Heap.Max": manager.heap_max,
        "Status.Python.Memory.Used": manager.worker_memory,
    }
    return {**computed, **_reported(manager.metrics)}


def job_manager_metrics(jobs: Sequence[JobDocument], managers: Sequence[TaskManagerDocument]) -> Metrics:
    """Of the holder."""
    return {
        "taskSlotsTotal": sum(each.slots for each in managers),
        "taskSlotsAvailable": sum(each.free_slots for each in managers),
        "numRegisteredTaskManagers": len(managers),
        "numRunningJobs": sum(each.state not in ENDED for each in jobs),
    }
