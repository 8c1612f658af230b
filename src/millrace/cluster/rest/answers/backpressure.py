"""Back pressure of a vertex."""

from __future__ import annotations

from typing import TypedDict

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.vertices import SubtaskDocument, VertexDocument
from millrace.cluster.rest.answers.statistics import Number

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
    """How much of the last seconds the subtasks could not pass on what they had."""
    if job.state != "RUNNING" or all(each.state != "RUNNING" for each in vertex.subtasks):
        return DEPRECATED
    worst = level(max(each.backpressured or 0.0 for each in vertex.subtasks))
    return {
        "status": "ok",
        "backpressureLevel": worst,
        "end-timestamp": job.written,
        "subtasks": [_subtask(each) for each in vertex.subtasks],
        "backpressure-level": worst,
    }


def _subtask(subtask: SubtaskDocument) -> SubtaskBackPressureInfo:
    ratio, busy = subtask.backpressured or 0.0, subtask.busy or 0.0
    return {
        "subtask": subtask.index,
        "backpressureLevel": level(ratio),
        "ratio": ratio,
        "idleRatio": 1.0 - ratio - busy if subtask.idle is None else subtask.idle,
        "busyRatio": busy,
        "backpressure-level": level(ratio),
    }
