"""How busy the subtasks of each vertex were in an epoch, and what an epoch's time went into.

Where stages run one after the other, what a subtask waits for is known: the stages before it (idle), those after it
that take its elements (back-pressured), its own packets until they are taken (back-pressured, too). A source that reads
nothing, or keeps what it has read, because something further down has no time for more is back-pressured all the time.
Tasks in flow measure what they wait for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.specs import ReadsSplits
from millrace.runtime.jobs.vertices import Vertex
from millrace.runtime.protocol.epoch import TaskAck
from millrace.runtime.protocol.so_far import TaskSoFar

Place = tuple[str, int]
"""(id of a vertex, subtask)"""


class Load(NamedTuple):
    """What a subtask of a vertex did in an epoch, in ms. The rest of the time it was idle. More than has passed stands
    for all that is left."""

    busy: float = 0.0
    backpressured: float = 0.0
    pools: tuple[float, float] | None = None
    """how full what comes in and what goes out was, 0 to 1; None: nothing waits there"""


NO_LOAD = Load()


class Loads:
    """Knows which vertices come after which."""

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
        """ids of the vertices that had something waiting when the epoch began"""

    def of(self, acks: Sequence[TaskAck]) -> dict[Place, Load]:
        """The load of each subtask. Epochs come one after the other: sources read nothing while something waits."""
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
        """Of tasks that work at the same time: what a task waits for it has measured itself."""
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
        """The subtasks of sources that could have read, or have read more than they could hand on."""
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
        """What the tasks' part of an epoch went into.

        :param run: how long it took (ms). What the slowest task of each stage does not explain is Spark's: to start
            tasks, and to let them wait for a core.
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
    """What a vertex that takes a subtask's elements in the same task has taken: the subtask waits for it."""
    busy, write = own.get((lower.id, vertex.offset + index - lower.offset), (0.0, 0.0))
    return busy + write
