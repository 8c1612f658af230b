"""Accumulators of the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.numbers import AccumulatorDocument
from millrace.cluster.documents.vertices import SubtaskDocument, VertexDocument
from millrace.cluster.rest.answers.states import UNASSIGNED


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
    """Of the whole job. None in the form of Java's serialization: there are no Java objects."""
    return {
        "job-accumulators": [],
        "user-task-accumulators": _shown(job.accumulators),
        "serialized-user-task-accumulators": {},
    }


def vertex_accumulators(vertex: VertexDocument) -> JobVertexAccumulatorsInfo:
    """Of a vertex. What can be added up over its subtasks is; of the rest, each subtask's own is shown."""
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
    """Of each subtask of a vertex."""
    subtasks = [_subtask(each) for each in vertex.subtasks]
    return {"id": vertex.id, "parallelism": vertex.parallelism, "subtasks": subtasks}


def _subtask(subtask: SubtaskDocument) -> SubtaskAccumulatorsInfo:
    return {
        "subtask": subtask.index,
        "attempt": subtask.attempt,
        "endpoint": subtask.host or UNASSIGNED,
        "user-accumulators": _shown(subtask.accumulators),
    }


def attempt_accumulators(
    job: JobDocument, vertex: VertexDocument, subtask: SubtaskDocument
) -> SubtaskExecutionAttemptAccumulatorsInfo:
    """Of one attempt of a subtask."""
    return {
        "subtask": subtask.index,
        "attempt": subtask.attempt,
        "id": f"{job.id}_{vertex.id}_{subtask.index}_{subtask.attempt}",
        "user-accumulators": _shown(subtask.accumulators),
    }
