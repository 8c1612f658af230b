"""What the subtasks of each vertex have done, on the driver: added up from the acknowledgements of complete epochs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from millrace.runtime.coordination.load import Load, Loads, Place
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.vertices import Vertex
from millrace.runtime.protocol.epoch import OperatorReport, TaskAck
from millrace.runtime.protocol.worker_report import WorkerReport
from millrace.runtime.storage import TaskId

RECENT_MS = 5_000
"""Shares and rates are those of the last epochs that cover so much, as Flink computes them."""


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
    bytes_in: int = 0
    """of the packets that have come; elements that stay in their task are not packed"""
    bytes_out: int = 0
    busy_ms: float = 0.0
    backpressured_ms: float = 0.0
    idle_ms: float = 0.0
    busy: float = 0.0
    """share of the last seconds, 0 to 1"""
    backpressured: float = 0.0
    idle: float = 1.0
    records_in_rate: float = 0.0
    """per second, over the same time"""
    records_out_rate: float = 0.0
    bytes_in_rate: float = 0.0
    bytes_out_rate: float = 0.0
    state_bytes: int = 0
    """bytes of the files that its task's state consists of"""
    heavy_keys: tuple[tuple[str, float], ...] = ()
    """keys with a large share of its input, each with that share"""
    changed: int = -1
    """when it was heard of last (ms)"""
    worker: WorkerReport | None = None
    """the process that it ran in last"""


class Figures:
    """Written by the thread that drives the job, read by others."""

    def __init__(self, job: JobGraph, began: int) -> None:
        """:param began: when the job begins (ms)."""
        self._job = job
        self._lock = threading.Lock()
        self._of_operator: dict[int, Vertex] = {id: vertex for vertex in job.vertices for id in vertex.operators}
        self._loads = Loads(job)
        self._told = began
        self._known: dict[Place, SubtaskFigures] = {
            (vertex.id, index): SubtaskFigures() for vertex in job.vertices for index in range(vertex.parallelism)
        }
        self._recent: dict[Place, deque[tuple[int, SubtaskFigures]]] = {
            place: deque([(began, figures)]) for place, figures in self._known.items()
        }
        """(ms, figures at that time), the last ``RECENT_MS`` and the one before"""

    def take(self, acks: Sequence[TaskAck], state: Mapping[TaskId, int], now: int) -> None:
        """An epoch is complete.

        :param state: bytes of the state of each task.
        """
        loads = self._loads.of(acks)
        with self._lock:
            span, self._told = max(now - self._told, 0), now
            for ack in acks:
                self._take_task(ack, state.get((ack.stage, ack.partition), 0), now)
            for place, load in loads.items():
                known = _with_load(self._known[place], load, span)
                recent = self._recent[place]
                recent.append((now, known))
                while len(recent) > 2 and recent[1][0] <= now - RECENT_MS:
                    recent.popleft()
                self._known[place] = _with_shares(known, *recent[0], now)

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
        heavy = [report.heavy_keys for report in reports if report.heavy_keys is not None]
        return replace(
            known,
            heavy_keys=heavy[0] if heavy else known.heavy_keys,
            records_in=known.records_in + taken,
            records_out=known.records_out + left,
            bytes_in=known.bytes_in + sum(report.bytes_in for report in reports),
            bytes_out=known.bytes_out + sum(report.bytes_out for report in reports),
            watermark=watermark,
            finished=bool(finished),
        )

    def workers(self) -> list[WorkerReport]:
        """The processes that subtasks ran in last, each as it said last."""
        with self._lock:
            latest = sorted(self._known.values(), key=lambda figures: figures.changed)
        found = {(f.worker.host, f.worker.pid): f.worker for f in latest if f.worker is not None}
        return list(found.values())

    def all(self) -> dict[Place, SubtaskFigures]:
        """The figures of this moment."""
        with self._lock:
            return dict(self._known)


def _with_load(known: SubtaskFigures, load: Load, span: float) -> SubtaskFigures:
    """The figures with an epoch that ends so long (ms) after the one before. No more is counted than has passed."""
    busy = min(load.busy, span)
    backpressured = min(load.backpressured, span - busy)
    return replace(
        known,
        busy_ms=known.busy_ms + busy,
        backpressured_ms=known.backpressured_ms + backpressured,
        idle_ms=known.idle_ms + span - busy - backpressured,
    )


def _with_shares(known: SubtaskFigures, since: int, before: SubtaskFigures, now: int) -> SubtaskFigures:
    span = now - since
    if span <= 0:
        return known
    return replace(
        known,
        busy=(known.busy_ms - before.busy_ms) / span,
        backpressured=(known.backpressured_ms - before.backpressured_ms) / span,
        idle=(known.idle_ms - before.idle_ms) / span,
        records_in_rate=(known.records_in - before.records_in) * 1000 / span,
        records_out_rate=(known.records_out - before.records_out) * 1000 / span,
        bytes_in_rate=(known.bytes_in - before.bytes_in) * 1000 / span,
        bytes_out_rate=(known.bytes_out - before.bytes_out) * 1000 / span,
    )
