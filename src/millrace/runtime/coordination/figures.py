"""What the subtasks of each vertex have done, on the driver: added up from the acknowledgements of complete epochs, and
from what tasks in flow tell of the one that goes on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from millrace.runtime.coordination.costs import Costs, SlowOperator
from millrace.runtime.coordination.load import NO_LOAD, Load, Loads, Place
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.vertices import Vertex
from millrace.runtime.protocol.epoch import OperatorReport, TaskAck
from millrace.runtime.protocol.so_far import OperatorSoFar, TaskSoFar
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
    state_sizes: dict[str, int] = field(default_factory=dict)
    """name of a state -> about how many bytes it takes"""
    changed: int = -1
    """when it was heard of last (ms)"""
    worker: WorkerReport | None = None
    """the process that it ran in last"""
    pools: tuple[float, float] | None = None
    """how full what comes in and what goes out was in the last epoch, 0 to 1; None: nothing waits there"""


class _Moving(NamedTuple):
    """What grows as long as a job runs."""

    busy_ms: float = 0.0
    backpressured_ms: float = 0.0
    idle_ms: float = 0.0
    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class _Work:
    """What a subtask of a vertex has done, added up from what its operators say."""

    __slots__ = ("bytes_in", "bytes_out", "records_in", "records_out", "watermark")

    def __init__(self) -> None:
        self.records_in = self.records_out = self.bytes_in = self.bytes_out = 0
        self.watermark = MIN_TIMESTAMP

    def add(self, report: OperatorReport | OperatorSoFar, leaves: bool, takes: bool) -> None:
        """One operator's.

        :param leaves: whether what it emits leaves the chain.
        :param takes: whether what it gets is what the chain gets; a source gets nothing.
        """
        self.bytes_in += report.bytes_in
        self.bytes_out += report.bytes_out
        if leaves:
            self.records_out += report.records_out
        if takes:
            self.records_in += report.records_in
            self.watermark = max(self.watermark, report.watermark)


class _SoFar(_Work):
    """The same of the epoch that goes on."""

    __slots__ = ("load",)

    def __init__(self, load: Load = NO_LOAD) -> None:
        super().__init__()
        self.load = load

    def moving(self, span: float) -> _Moving:
        """What has grown, so long (ms) after the epoch before."""
        return _Moving(*_shares(self.load, span), self.records_in, self.records_out, self.bytes_in, self.bytes_out)


class _Counted(_Work):
    """The figures of a subtask while they grow. Only what an epoch costs little to count is counted here."""

    __slots__ = (
        "_ahead",
        "_so_far",
        "backpressured_ms",
        "busy_ms",
        "changed",
        "finished",
        "heavy_keys",
        "idle_ms",
        "pools",
        "recent",
        "state_bytes",
        "state_sizes",
        "worker",
    )

    def __init__(self, began: int) -> None:
        super().__init__()
        self.state_bytes = 0
        self.busy_ms = self.backpressured_ms = self.idle_ms = 0.0
        self.finished = False
        self.heavy_keys: tuple[tuple[str, float], ...] = ()
        self.state_sizes: dict[str, int] = {}
        self.changed = -1
        self.worker: WorkerReport | None = None
        self.pools: tuple[float, float] | None = None
        self._so_far: _SoFar | None = None
        """of the epoch that goes on; None: nothing was heard of it"""
        self._ahead = _Moving()
        """the same, as it was heard last"""
        self.recent: deque[tuple[int, _Moving]] = deque([(began, self._moving())])
        """(ms, what moves at that time): the last ``RECENT_MS`` and the one before"""

    def _moving(self) -> _Moving:
        ahead = self._ahead
        return _Moving(
            self.busy_ms + ahead.busy_ms,
            self.backpressured_ms + ahead.backpressured_ms,
            self.idle_ms + ahead.idle_ms,
            self.records_in + ahead.records_in,
            self.records_out + ahead.records_out,
            self.bytes_in + ahead.bytes_in,
            self.bytes_out + ahead.bytes_out,
        )

    def load(self, load: Load, span: float) -> None:
        """An epoch ends so long (ms) after the one before."""
        busy, backpressured, idle = _shares(load, span)
        self.busy_ms += busy
        self.backpressured_ms += backpressured
        self.idle_ms += idle
        self.pools = load.pools
        self._so_far, self._ahead = None, _Moving()

    def goes_on(self, so_far: _SoFar | None, span: float, now: int) -> None:
        """The epoch goes on, so long (ms) after the one before.

        :param so_far: what is new of it; None: nothing.
        """
        self._so_far = so_far or self._so_far or _SoFar()
        self._ahead = self._so_far.moving(span)
        if so_far is not None:
            self.pools, self.changed = so_far.load.pools, now
        self.remember(now)

    def forget_epoch(self, now: int) -> None:
        """The epoch that went on has failed."""
        self._so_far, self._ahead = None, _Moving()
        self.recent = deque([(now, self._moving())])

    def remember(self, now: int) -> None:
        """Shares and rates are computed up to this moment (ms)."""
        recent = self.recent
        recent.append((now, self._moving()))
        while len(recent) > 2 and recent[1][0] <= now - RECENT_MS:
            recent.popleft()

    def figures(self) -> SubtaskFigures:
        """As they are now."""
        (since, before), (until, after) = self.recent[0], self.recent[-1]
        span = until - since
        rates = [(new - old) / span for old, new in zip(before, after)] if span > 0 else [0, 0, 1, 0, 0, 0, 0]
        busy, backpressured, idle, *per_ms = rates
        records_in, records_out, bytes_in, bytes_out = (rate * 1000 for rate in per_ms)
        moving = self._moving()
        return SubtaskFigures(
            moving.records_in,
            moving.records_out,
            self.watermark if self._so_far is None else max(self.watermark, self._so_far.watermark),
            self.finished,
            moving.bytes_in,
            moving.bytes_out,
            moving.busy_ms,
            moving.backpressured_ms,
            moving.idle_ms,
            busy,
            backpressured,
            idle,
            records_in,
            records_out,
            bytes_in,
            bytes_out,
            self.state_bytes,
            self.heavy_keys,
            dict(self.state_sizes),
            self.changed,
            self.worker,
            self.pools,
        )


class Figures:
    """Written by the thread that drives the job, read by others."""

    def __init__(self, job: JobGraph, began: int) -> None:
        """:param began: when the job begins (ms)."""
        self._job = job
        self._lock = threading.Lock()
        self._of_operator: dict[int, Vertex] = {id: vertex for vertex in job.vertices for id in vertex.operators}
        self._leaving = {id for vertex in job.vertices for id in vertex.leaving}
        self._loads = Loads(job)
        self._costs = Costs(job)
        self._told = began
        self._known: dict[Place, _Counted] = {
            (vertex.id, index): _Counted(began) for vertex in job.vertices for index in range(vertex.parallelism)
        }

    def take(self, acks: Sequence[TaskAck], state: Mapping[TaskId, int], now: int) -> None:
        """An epoch is complete.

        :param state: bytes of the state of each task.
        """
        loads = self._loads.of(acks)
        with self._lock:
            self._costs.take(acks, now)
            span, self._told = max(now - self._told, 0), now
            for ack in acks:
                self._take_task(ack, state.get((ack.stage, ack.partition), 0), now)
            for place, known in self._known.items():
                known.load(loads.get(place, Load()), span)
                known.remember(now)

    def so_far(self, tasks: Sequence[TaskSoFar], now: int) -> None:
        """An epoch goes on: what these tasks have done of it, since it began."""
        news: dict[Place, _SoFar] = {place: _SoFar(load) for place, load in self._loads.in_flow(tasks).items()}
        for task in tasks:
            for report in task.reports:
                vertex = self._of_operator[report.operator]
                takes = report.operator == vertex.head and report.holds_back is None
                news[vertex.id, report.subtask].add(report, report.operator in self._leaving, takes)
        with self._lock:
            span = max(now - self._told, 0)
            for place, known in self._known.items():
                known.goes_on(news.get(place), span, now)

    def forget_epoch(self, now: int) -> None:
        """The epoch that went on has failed: nothing of it counts."""
        with self._lock:
            for known in self._known.values():
                known.forget_epoch(now)

    def _take_task(self, ack: TaskAck, state: int, now: int) -> None:
        owner = self._job.state_vertices.get((ack.stage, ack.partition))
        for report in ack.reports:
            vertex = self._of_operator[report.operator]
            known = self._known[vertex.id, report.subtask]
            is_head = report.operator == vertex.head
            known.add(report, report.operator in self._leaving, is_head and report.source is None)
            if report.heavy_keys is not None:
                known.heavy_keys = report.heavy_keys
            if report.state_sizes:
                known.state_sizes.update(report.state_sizes)
            if is_head:
                source = report.source
                known.finished = report.watermark == MAX_WATERMARK if source is None else source.finished
                known.changed, known.worker = now, ack.worker
                known.state_bytes = state if vertex.id == owner else 0

    def slow(self) -> SlowOperator | None:
        """The operator that the job waits for; None: for none in particular."""
        with self._lock:
            return self._costs.slow()

    def workers(self) -> list[WorkerReport]:
        """The processes that subtasks ran in last, each as it said last."""
        latest = sorted(self.all().values(), key=lambda figures: figures.changed)
        found = {(f.worker.host, f.worker.pid): f.worker for f in latest if f.worker is not None}
        return list(found.values())

    def all(self) -> dict[Place, SubtaskFigures]:
        """The figures of this moment."""
        with self._lock:
            return {place: known.figures() for place, known in self._known.items()}


def _shares(load: Load, span: float) -> tuple[float, float, float]:
    """How long (ms) a subtask was busy, back-pressured and idle. No more is counted than has passed."""
    busy = min(load.busy, span)
    backpressured = min(load.backpressured, span - busy)
    return busy, backpressured, span - busy - backpressured
