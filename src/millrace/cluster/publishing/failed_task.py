"""Which task a failure is of."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.runtime.coordination.history import FailureRecord
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.vertices import Vertex


@dataclass(frozen=True)
class FailedTask:
    """A subtask of a vertex, in one attempt."""

    vertex: Vertex
    subtask: int
    attempt: int

    @property
    def name(self) -> str:
        """As Flink writes it: ``Map -> Sink (1/2) - execution #0``."""
        vertex = self.vertex
        return f"{vertex.name} ({self.subtask + 1}/{vertex.parallelism}) - execution #{self.attempt}"


def task_of(job: JobGraph, record: FailureRecord) -> FailedTask | None:
    """The task that failed; None: it is no task's failure."""
    failure = record.failure
    if failure is None or failure.subtask < 0:
        return None
    named = [info for info in job.operators if info.name == failure.operator]
    info = next((info for info in named if info.origin == failure.origin), named[0] if named else None)
    if info is None:
        return None
    vertex = next(vertex for vertex in job.vertices if info.id in vertex.operators)
    return FailedTask(vertex, failure.subtask, record.attempt)
