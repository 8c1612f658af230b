"""What the rules ask of a document: neighbours of vertices, counts of operators, watermarks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.vertices import SubtaskDocument, VertexDocument

END = 2**63 - 1
"""the watermark behind the last element"""
BEFORE = -(2**63)
"""the watermark of a stream that has none yet"""
ENDED = frozenset({"FINISHED", "CANCELED", "FAILED"})


@dataclass(frozen=True)
class Operator:
    """What one operator of a vertex has counted; None: not known."""

    name: str
    description: str
    records_in: int | None
    records_out: int | None
    last: bool
    """whether it is the end of its vertex"""


def is_running(job: JobDocument) -> bool:
    return job.state == "RUNNING"


def upstream(job: JobDocument, vertex: VertexDocument) -> list[VertexDocument]:
    """The vertices that a vertex gets elements from."""
    wanted = {each.vertex for each in vertex.inputs}
    return [each for each in job.vertices if each.id in wanted]


def downstream(job: JobDocument, vertex: VertexDocument) -> list[VertexDocument]:
    """The vertices that get elements from a vertex."""
    return [each for each in job.vertices if any(input.vertex == vertex.id for input in each.inputs)]


def records_in(vertex: VertexDocument) -> int:
    return sum(each.records_in for each in vertex.subtasks)


def records_out(vertex: VertexDocument) -> int:
    return sum(each.records_out for each in vertex.subtasks)


def most(values: Iterable[float | None]) -> float:
    """The largest of what is known; 0 if nothing is."""
    return max((value for value in values if value is not None), default=0.0)


def busy(vertex: VertexDocument) -> float:
    return most(each.busy for each in vertex.subtasks)


def backpressured(vertex: VertexDocument) -> float:
    return most(each.backpressured for each in vertex.subtasks)


def metric(subtask: SubtaskDocument, name: str) -> int | None:
    """A number of a subtask by its whole name."""
    for each in subtask.metrics:
        if each.name == name and isinstance(each.value, int | float):
            return int(each.value)
    return None


def metric_sum(vertex: VertexDocument, suffix: str) -> int:
    """A counter over all operators and subtasks of a vertex, by the end of its name."""
    return sum(
        int(each.value)
        for subtask in vertex.subtasks
        for each in subtask.metrics
        if (each.name == suffix or each.name.endswith(f".{suffix}")) and isinstance(each.value, int | float)
    )


def operators(vertex: VertexDocument) -> list[Operator]:
    """The operators of a vertex with their counts; a chain of one has those of its vertex."""
    found = []
    for position, each in enumerate(vertex.operators):
        last = position == len(vertex.operators) - 1
        taken, given = _count(vertex, f"{each.name}.numRecordsIn"), _count(vertex, f"{each.name}.numRecordsOut")
        if taken is None and position == 0 and vertex.inputs:
            taken = records_in(vertex)
        if given is None and last:
            given = records_out(vertex)
        found.append(Operator(each.name, each.description, taken, given, last))
    return found


def _count(vertex: VertexDocument, name: str) -> int | None:
    values = [value for each in vertex.subtasks if (value := metric(each, name)) is not None]
    return sum(values) if values else None


def has_watermark(value: int | None) -> bool:
    return value is not None and value > BEFORE


def given_watermark(subtask: SubtaskDocument) -> int | None:
    """The watermark that a subtask gives to those after it, None if it has none; sources have only this one."""
    given = [
        int(each.value)
        for each in subtask.metrics
        if each.name.endswith("currentOutputWatermark") and isinstance(each.value, int | float)
    ]
    value = min(given) if given else subtask.watermark
    return value if has_watermark(value) else None


def low_watermark(vertex: VertexDocument) -> int | None:
    """What a vertex has reached as a whole: None while one of its subtasks has no watermark."""
    values = [each.watermark for each in vertex.subtasks]
    if not values or not all(has_watermark(value) for value in values):
        return None
    return min(value for value in values if value is not None)


def is_quiet(subtask: SubtaskDocument) -> bool:
    """Does a subtask have nothing to do, as far as that is known?"""
    return subtask.idle is not None and subtask.idle >= 0.9


def typical(values: Sequence[float]) -> float:
    """The middle one, the upper of two."""
    return sorted(values)[len(values) // 2] if values else 0.0
