"""Figures of the subtasks of each vertex, on the driver: records, times, rates, and which operator is slow.

They are added up from the acknowledgements of complete epochs, and from the reports of tasks in flow on the epoch that
is running.

Where stages run one after the other, the waiting time of a subtask is derived: while earlier stages run it is idle;
while later stages process its elements, or its own packets wait to be taken, it is back-pressured. A source that reads
nothing, or holds records that it has read, because a later operator has no time for more, is back-pressured all the
time. Tasks in flow measure what they wait for. An operator is called slow by its time per record in the last seconds,
and only if records wait for it.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from millrace.runtime.bases.epoch_protocol import OperatorReport, OperatorSoFar, TaskAck, TaskSoFar, WorkerReport
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.operators.job_graph import JobGraph, Vertex
from millrace.runtime.operators.specs import ReadsSplits
from millrace.runtime.storage import TaskId

# Slow operators

RECENT_MS = 5_000
"""Shares and rates are those of the last epochs that cover this time, as Flink computes them."""
MOST = 0.5
"""The share of the working time of all operators from which on one operator is called slow."""
NOTICED_MILLIS = 1.0
"""Time per record (ms) from which on an operator is called slow when a source has more to read but no packet waits at a
gate."""


class SlowOperator(NamedTuple):
    """The operator that limits the job's throughput."""

    operator: int
    name: str
    millis: float
    """working time per record (ms)"""
    share: float
    """the operator's share of the working time of all operators of the job, 0 to 1"""


class _Epoch(NamedTuple):
    at: int
    work: dict[int, float]
    records: dict[int, int]
    waits: bool


class Costs:
    """Working time and number of records of each operator of a job, over the last ``RECENT_MS``."""

    def __init__(self, job: JobGraph) -> None:
        self._job = job
        self._readers = {info.id for info in job.operators if isinstance(info.spec, ReadsSplits)}
        self._recent: deque[_Epoch] = deque()
        self._work = dict.fromkeys(job.by_id, 0.0)
        """operator id -> working time of all its subtasks in the recent epochs (ms)"""
        self._records = dict.fromkeys(job.by_id, 0)
        """operator id -> elements that it received in the recent epochs; for sources, elements that it read"""
        self._waiting = 0
        """number of recent epochs that ended while packets waited at a gate"""
        self._more = False
        """whether a source had more to read at the end of the last epoch"""

    def take(self, acks: Sequence[TaskAck], now: int) -> None:
        """Add a complete epoch.

        :param now: the time of its end (ms).
        """
        reports = [report for ack in acks for report in ack.reports]
        work: dict[int, float] = defaultdict(float)
        records: dict[int, int] = defaultdict(int)
        for report in reports:
            work[report.operator] += report.times.work / 1000
            records[report.operator] += self._given(report)
        self._recent.append(_Epoch(now, work, records, any(report.waiting for report in reports)))
        self._count(self._recent[-1], 1)
        self._more = any(report.source is not None and report.source.more for report in reports)
        while len(self._recent) > 1 and self._recent[0].at <= now - RECENT_MS:
            self._count(self._recent.popleft(), -1)

    def _given(self, report: OperatorReport) -> int:
        return report.records_out if report.operator in self._readers else report.records_in

    def _count(self, epoch: _Epoch, sign: int) -> None:
        for operator, millis in epoch.work.items():
            self._work[operator] += sign * millis
            self._records[operator] += sign * epoch.records[operator]
        self._waiting += sign * epoch.waits

    def slow(self) -> SlowOperator | None:
        """The operator that takes most of the time while records wait; None: no operator does, or no records wait."""
        total = sum(self._work.values())
        slowest = max(self._work, key=lambda operator: self._work[operator], default=None)
        if slowest is None or total <= 0 or self._work[slowest] < MOST * total or not self._records[slowest]:
            return None
        millis = self._work[slowest] / self._records[slowest]
        if not self._waiting and not (self._more and millis >= NOTICED_MILLIS):
            return None
        return SlowOperator(slowest, self._job.by_id[slowest].name, millis, self._work[slowest] / total)


# Busy, back-pressured, idle

Place = tuple[str, int]
"""(id of a vertex, subtask)"""


class Load(NamedTuple):
    """How long a subtask of a vertex was busy and back-pressured in an epoch (ms); the rest of the epoch it was idle. A
    value longer than the epoch means all of the rest."""

    busy: float = 0.0
    backpressured: float = 0.0
    pools: tuple[float, float] | None = None
    """fill ratio of the subtask's inboxes and outboxes, 0 to 1; None: not known, since its task does not run in flow"""


NO_LOAD = Load()


class Loads:
    """Computes the load of subtasks; knows which vertices come after which."""

    def __init__(self, job: JobGraph) -> None:
        self._job = job
        self._of_operator = {id: vertex for vertex in job.vertices for id in vertex.operators}
        below: dict[str, set[str]] = {vertex.id: set() for vertex in job.vertices}
        for vertex in reversed(job.vertices):
            for given in vertex.inputs:
                below[given.vertex] |= {vertex.id} | below[vertex.id]
        by_id = {vertex.id: vertex for vertex in job.vertices}
        self._below: dict[str, list[Vertex]] = {id: [by_id[name] for name in names] for id, names in below.items()}
        self._waited: set[str] = set()
        """ids of the vertices at whose gates packets waited when the epoch began"""

    def of(self, acks: Sequence[TaskAck]) -> dict[Place, Load]:
        """The load of each subtask. Acknowledgements must come in the order of epochs: what waited at the end of one
        epoch counts for the next."""
        if acks and all(ack.times.pressed is not None for ack in acks):
            return self.in_flow(acks)
        own: dict[Place, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for ack in acks:
            for report in ack.reports:
                spent = own[self._of_operator[report.operator].id, report.subtask]
                spent[0] += (report.times.work + report.times.sort) / 1000
                spent[1] += report.times.write / 1000
        held = self._held(acks)
        slowest: dict[str, float] = defaultdict(float)
        for (id, _), (busy, write) in own.items():
            slowest[id] = max(slowest[id], busy + write)
        found = {}
        for vertex in self._job.vertices:
            below = self._below[vertex.id]
            later: dict[int, float] = defaultdict(float)
            for lower in below:
                if lower.stage != vertex.stage:
                    later[lower.stage] = max(later[lower.stage], slowest[lower.id])
            waiting = sum(later.values())
            for index in range(vertex.parallelism):
                busy, write = own.get((vertex.id, index), (0.0, 0.0))
                same_task = sum(_beside(vertex, index, lower, own) for lower in below if lower.stage == vertex.stage)
                pressed = inf if (vertex.id, index) in held else write + waiting + same_task
                found[vertex.id, index] = Load(busy, pressed)
        return found

    def in_flow(self, acks: Sequence[TaskAck] | Sequence[TaskSoFar]) -> dict[Place, Load]:
        """The load of subtasks whose tasks run at the same time, from the waiting times that the tasks have
        measured.
        """
        busy: dict[Place, float] = defaultdict(float)
        pressed: dict[Place, float] = defaultdict(float)
        pools: dict[Place, tuple[float, float] | None] = {}
        for ack in acks:
            for report in ack.reports:
                place = self._of_operator[report.operator].id, report.subtask
                busy[place] += (report.times.work + report.times.sort) / 1000
                pressed[place] = (ack.times.pressed or 0) / 1000
                pools[place] = ack.times.pools
        return {place: Load(spent, pressed[place], pools[place]) for place, spent in busy.items()}

    def _held(self, acks: Sequence[TaskAck]) -> set[Place]:
        """The source subtasks that were kept from reading, or have read more than the later operators could process."""
        reports = [report for ack in acks for report in ack.reports]
        waited = self._waited
        self._waited = {self._of_operator[report.operator].id for report in reports if report.waiting}
        found = set()
        for report in reports:
            if report.source is None or report.source.finished:
                continue
            vertex = self._of_operator[report.operator].id
            reach = {vertex, *(lower.id for lower in self._below[vertex])}
            if reach & waited or (report.source.more and reach & self._waited):
                found.add((vertex, report.subtask))
        return found

    def phases(self, acks: Sequence[TaskAck], run: float) -> dict[str, float]:
        """Name of each phase of the tasks' part of an epoch -> its duration (ms).

        :param run: how long that part took (ms). The rest beyond the slowest task of each stage is "start": Spark's
            time to start tasks, and to let them wait for a core.
        """
        phases = dict.fromkeys(("start", "read", "process", "exchange", "record"), 0.0)
        stages: dict[int, list[dict[str, float]]] = defaultdict(list)
        for ack in acks:
            stages[ack.stage].append(self._task_phases(ack))
        for tasks in stages.values():
            for name, spent in max(tasks, key=lambda parts: sum(parts.values())).items():
                phases[name] += spent
        return phases | {"start": max(run - sum(phases.values()), 0.0)}

    def _task_phases(self, ack: TaskAck) -> dict[str, float]:
        times = ack.times
        read, process = times.read + times.wait, times.other
        exchange = times.passing
        for report in ack.reports:
            if isinstance(self._job.by_id[report.operator].spec, ReadsSplits):
                read += report.times.work
            else:
                process += report.times.work
            exchange += report.times.sort + report.times.write
        spent = {"read": read, "process": process, "exchange": exchange, "record": times.record}
        return {name: microseconds / 1000 for name, microseconds in spent.items()}


def _beside(vertex: Vertex, index: int, lower: Vertex, own: Mapping[Place, Sequence[float]]) -> float:
    """Time (ms) of the subtask of ``lower`` in the same task that processes a subtask's elements, which waits
    meanwhile."""
    busy, write = own.get((lower.id, vertex.offset + index - lower.offset), (0.0, 0.0))
    return busy + write


# Figures of vertices


@dataclass(frozen=True)
class SubtaskFigures:
    """Figures of one subtask of a vertex since the job's start."""

    records_in: int = 0
    """elements that the first operator of the vertex has received; a source receives none"""
    records_out: int = 0
    """elements that have left the chain"""
    watermark: int = MIN_TIMESTAMP
    """the input watermark (ms)"""
    finished: bool = False
    """whether the subtask has ended"""
    bytes_in: int = 0
    """size of the packets that have arrived; elements that stay in their task are not packed"""
    bytes_out: int = 0
    busy_ms: float = 0.0
    backpressured_ms: float = 0.0
    idle_ms: float = 0.0
    busy: float = 0.0
    """share of the last ``RECENT_MS`` that the subtask was busy, 0 to 1"""
    backpressured: float = 0.0
    idle: float = 1.0
    records_in_rate: float = 0.0
    """records per second, over the same time"""
    records_out_rate: float = 0.0
    bytes_in_rate: float = 0.0
    bytes_out_rate: float = 0.0
    state_bytes: int = 0
    """size of the files that its task's state consists of"""
    heavy_keys: tuple[tuple[str, float], ...] = ()
    """keys with a large share of its input, each with that share (0 to 1)"""
    state_sizes: dict[str, int] = field(default_factory=dict)
    """name of a state -> its approximate size in bytes"""
    changed: int = -1
    """when the subtask last reported (ms); -1: never"""
    worker: WorkerReport | None = None
    """the process that it ran in last"""
    pools: tuple[float, float] | None = None
    """fill ratio of its inboxes and outboxes in the last epoch, 0 to 1; None: its task does not run in flow"""


class _Moving(NamedTuple):
    """The figures of a subtask that only grow while a job runs; rates are computed from them."""

    busy_ms: float = 0.0
    backpressured_ms: float = 0.0
    idle_ms: float = 0.0
    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class _Work:
    """The work of a subtask of a vertex, added up from the reports of its operators."""

    __slots__ = ("bytes_in", "bytes_out", "records_in", "records_out", "watermark")

    def __init__(self) -> None:
        self.records_in = self.records_out = self.bytes_in = self.bytes_out = 0
        self.watermark = MIN_TIMESTAMP

    def add(self, report: OperatorReport | OperatorSoFar, leaves: bool, takes: bool) -> None:
        """Add the report of one operator.

        :param leaves: whether the elements that the operator emits leave the chain.
        :param takes: whether the operator is the first of the chain, so that its input is the chain's; not for a
            source, which has no input.
        """
        self.bytes_in += report.bytes_in
        self.bytes_out += report.bytes_out
        if leaves:
            self.records_out += report.records_out
        if takes:
            self.records_in += report.records_in
            self.watermark = max(self.watermark, report.watermark)


class _SoFar(_Work):
    """The work of a subtask in the epoch that is running."""

    __slots__ = ("load",)

    def __init__(self, load: Load = NO_LOAD) -> None:
        super().__init__()
        self.load = load

    def moving(self, span: float) -> _Moving:
        """What the running epoch has added so far.

        :param span: time since the end of the epoch before (ms).
        """
        return _Moving(*_shares(self.load, span), self.records_in, self.records_out, self.bytes_in, self.bytes_out)


class _Counted(_Work):
    """The growing figures of a subtask. They are updated in each epoch, so only cheap ones are here."""

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
        """work in the running epoch; None: nothing was reported of it"""
        self._ahead = _Moving()
        """what the running epoch has added, by its latest report"""
        self.recent: deque[tuple[int, _Moving]] = deque([(began, self._moving())])
        """(time in ms, figures at that time) for the last ``RECENT_MS``, and the one entry before"""

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
        """Add the load of an epoch that ends.

        :param span: time since the end of the epoch before (ms).
        """
        busy, backpressured, idle = _shares(load, span)
        self.busy_ms += busy
        self.backpressured_ms += backpressured
        self.idle_ms += idle
        self.pools = load.pools
        self._so_far, self._ahead = None, _Moving()

    def goes_on(self, so_far: _SoFar | None, span: float, now: int) -> None:
        """Update the figures while an epoch is running.

        :param so_far: the work in this epoch so far; None: nothing new was reported. :param span: time since the end of
            the epoch before (ms). :param now: the time of the report (ms).
        """
        self._so_far = so_far or self._so_far or _SoFar()
        self._ahead = self._so_far.moving(span)
        if so_far is not None:
            self.pools, self.changed = so_far.load.pools, now
        self.remember(now)

    def forget_epoch(self, now: int) -> None:
        """The running epoch has failed: drop what it had added."""
        self._so_far, self._ahead = None, _Moving()
        self.recent = deque([(now, self._moving())])

    def remember(self, now: int) -> None:
        """Remember the present figures with the time ``now`` (ms); shares and rates are computed up to it."""
        recent = self.recent
        recent.append((now, self._moving()))
        while len(recent) > 2 and recent[1][0] <= now - RECENT_MS:
            recent.popleft()

    def figures(self) -> SubtaskFigures:
        """The figures of this subtask at this moment: totals so far, and rates since the oldest kept moment."""
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
    """The figures of all subtasks of a job. The thread that drives the job writes them, other threads read them."""

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
        """Add a complete epoch.

        :param state: size of the state of each task in bytes.
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
        """Take what some tasks have done in the running epoch since it began."""
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
        """The running epoch has failed: drop what it had added."""
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
        """The operator that limits the job's throughput; None: there is none in particular."""
        with self._lock:
            return self._costs.slow()

    def workers(self) -> list[WorkerReport]:
        """The processes that subtasks ran in last, each with its latest report."""
        latest = sorted(self.all().values(), key=lambda figures: figures.changed)
        found = {(f.worker.host, f.worker.pid): f.worker for f in latest if f.worker is not None}
        return list(found.values())

    def all(self) -> dict[Place, SubtaskFigures]:
        """The figures of all subtasks at this moment."""
        with self._lock:
            return {place: known.figures() for place, known in self._known.items()}


def _shares(load: Load, span: float) -> tuple[float, float, float]:
    """How long (ms) a subtask was busy, back-pressured and idle; the three add up to at most ``span``."""
    busy = min(load.busy, span)
    backpressured = min(load.backpressured, span - busy)
    return busy, backpressured, span - busy - backpressured
