"""What the subtasks of each vertex have done, on the driver: added up from the acknowledgements of complete epochs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.vertices import Vertex
from millrace.runtime.protocol.epoch import OperatorReport, TaskAck
from millrace.runtime.protocol.worker_report import WorkerReport
from millrace.runtime.storage import TaskId

Place = tuple[str, int]
"""(id of a vertex, subtask)"""


@dataclass(frozen=True)
class SubtaskFigures:
    """One subtask of a vertex, since the job's start."""

    records_in: int = 0
    """elements that its first operator has taken; a source takes none"""
    records_out: int = 0
    """elements that have left the chain"""
    watermark: int = MIN_TIMESTAMP
    """the input watermark (ms)"""
    finished: bool = False
    """whether nothing will ever come any more"""
    state_bytes: int = 0
    """bytes of the files that its task's state consists of"""
    changed: int = -1
    """when it was heard of last (ms)"""
    worker: WorkerReport | None = None
    """the process that it ran in last"""


class Figures:
    """Written by the thread that drives the job, read by others."""

    def __init__(self, job: JobGraph) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._of_operator: dict[int, Vertex] = {id: vertex for vertex in job.vertices for id in vertex.operators}
        self._known: dict[Place, SubtaskFigures] = {
            (vertex.id, index): SubtaskFigures() for vertex in job.vertices for index in range(vertex.parallelism)
        }

    def take(self, acks: Sequence[TaskAck], state: Mapping[TaskId, int], now: int) -> None:
        """An epoch is complete.

        :param state: bytes of the state of each task.
        """
        with self._lock:
            for ack in acks:
                self._take_task(ack, state.get((ack.stage, ack.partition), 0), now)

    def _take_task(self, ack: TaskAck, state: int, now: int) -> None:
        reports: dict[str, list[OperatorReport]] = {}
        for report in ack.reports:
            reports.setdefault(self._of_operator[report.operator].id, []).append(report)
        owner = self._job.state_vertices.get((ack.stage, ack.partition))
        for vertex, of_vertex in reports.items():
            place = (vertex, of_vertex[0].subtask)
            known = self._add(self._known[place], self._of_operator[of_vertex[0].operator], of_vertex)
            own_state = state if vertex == owner else 0
            self._known[place] = replace(known, state_bytes=own_state, changed=now, worker=ack.worker)

    def _add(self, known: SubtaskFigures, vertex: Vertex, reports: Sequence[OperatorReport]) -> SubtaskFigures:
        by_operator = {report.operator: report for report in reports}
        head = by_operator.get(vertex.head)
        taken = finished = 0
        watermark = known.watermark
        if head is not None:
            if head.source is not None:
                finished = head.source.finished
            else:
                taken, watermark = head.records_in, max(watermark, head.watermark)
                finished = head.watermark == MAX_WATERMARK
        left = sum(by_operator[id].records_out for id in vertex.leaving if id in by_operator)
        return replace(
            known,
            records_in=known.records_in + taken,
            records_out=known.records_out + left,
            watermark=watermark,
            finished=bool(finished),
        )

    def all(self) -> dict[Place, SubtaskFigures]:
        """The figures of this moment."""
        with self._lock:
            return dict(self._known)
