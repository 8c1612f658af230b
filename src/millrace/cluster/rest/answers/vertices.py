"""Vertices and subtasks: attempts, times, and where they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from millrace.cluster.documents.vertices import SubtaskDocument, VertexDocument
from millrace.cluster.rest.answers.states import (
    EXECUTION_STATES,
    UNASSIGNED,
    began,
    count_states,
    duration,
    ended,
    vertex_state,
)
from millrace.cluster.rest.answers.traffic import Aggregated, Traffic, aggregated, state_durations, traffic

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
    """A subtask as it is now."""
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
    times = [_times(each, now) for each in vertex.subtasks]
    return {"id": vertex.id, "name": vertex.name, "now": now, "subtasks": times}


def _times(subtask: SubtaskDocument, now: int) -> SubtaskTimeInfo:
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
    """The vertex with only some of its subtasks."""
    return replace(vertex, parallelism=len(subtasks), subtasks=tuple(subtasks))
