"""The vertices of a job of this process and their subtasks, as documents, with metrics named as in Flink's REST API."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from millrace.cluster.documents import (
    AccumulatorDocument,
    HeavyKey,
    InputDocument,
    MetricDocument,
    OperatorDocument,
    SubtaskDocument,
    VertexDocument,
)
from millrace.common.accumulators import Accumulator
from millrace.common.jobs import JobStatus
from millrace.metrics.report import (
    CounterSnapshot,
    DistributionSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricEntry,
    MetricSnapshot,
    MetricsReport,
)
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.figures import SubtaskFigures
from millrace.runtime.coordination.history import FailureRecord
from millrace.runtime.coordination.job_metrics import task_metrics
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.operators.job_graph import JobGraph, Vertex, hex_id
from millrace.runtime.tasks.task_figures import LEAST_SHARE, SHOWN
from millrace.spark.jobs.runner import JobRunner

_INVALID = re.compile(r"[ .:,]")
"""Characters that Flink's REST API replaces in the parts of a metric's name."""
NUMBERS = (int, float)


def job_metrics(report: MetricsReport) -> tuple[MetricDocument, ...]:
    """The metrics of the job itself, without those of its operators."""
    return tuple(document for entry in _of_job(report) for document in _named(entry, ""))


def _of_job(report: MetricsReport) -> Iterator[MetricEntry]:
    return (entry for entry in report if entry.operator is None and entry.vertex is None)


def subtask_metrics(report: MetricsReport) -> Mapping[tuple[str, int], list[MetricDocument]]:
    """(uid of an operator, subtask) -> its metrics, with the operator's name before each."""
    found: dict[tuple[str, int], list[MetricDocument]] = {}
    for entry in report:
        if entry.operator is not None and entry.uid is not None and entry.subtask is not None:
            prefix = f"{_INVALID.sub('_', entry.operator)}."
            found.setdefault((entry.uid, entry.subtask), []).extend(_named(entry, prefix))
    return found


def _named(entry: MetricEntry, prefix: str) -> Iterable[MetricDocument]:
    name = prefix + ".".join(_INVALID.sub("_", part) for part in entry.path)
    return documents(name, entry.value)


def documents(name: str, value: MetricSnapshot) -> Iterator[MetricDocument]:
    """The documents of one metric: a distribution becomes several numbers."""
    if isinstance(value, CounterSnapshot):
        yield MetricDocument(name, value.count, "counter")
    elif isinstance(value, MeterSnapshot):
        yield MetricDocument(name, value.rate, "meter")
    elif isinstance(value, DistributionSnapshot):
        parts = {"count": value.count, "sum": value.sum, "min": value.min, "max": value.max, "mean": value.mean}
        for part, number in parts.items():
            yield MetricDocument(f"{name}_{part}", number, "histogram")
    elif isinstance(value, HistogramSnapshot):
        for part, number in value.statistics().items():
            yield MetricDocument(f"{name}_{part}", number, "histogram")
    else:
        shown = value.value
        plain = shown if shown is None or isinstance(shown, (*NUMBERS, str)) else str(shown)
        yield MetricDocument(name, plain, "gauge")


def accumulator_documents(accumulators: Mapping[str, Accumulator[Any, Any]]) -> tuple[AccumulatorDocument, ...]:
    """The documents of accumulators."""
    return tuple(
        AccumulatorDocument(name, type(accumulator).__name__, str(accumulator.get_local_value()))
        for name, accumulator in accumulators.items()
    )


@dataclass(frozen=True)
class FailedTask:
    """A failed attempt of a subtask of a vertex."""

    vertex: Vertex
    subtask: int
    attempt: int

    @property
    def name(self) -> str:
        """The task's name in Flink: ``Map -> Sink (1/2) - execution #0``."""
        vertex = self.vertex
        return f"{vertex.name} ({self.subtask + 1}/{vertex.parallelism}) - execution #{self.attempt}"


def task_of(job: JobGraph, record: FailureRecord) -> FailedTask | None:
    """The task that an error names; None if no single task failed."""
    failure = record.failure
    if failure is None or failure.subtask < 0:
        return None
    named = [info for info in job.operators if info.name == failure.operator]
    info = next((info for info in named if info.origin == failure.origin), named[0] if named else None)
    if info is None:
        return None
    vertex = next(vertex for vertex in job.vertices if info.id in vertex.operators)
    return FailedTask(vertex, failure.subtask, record.attempt)


EXECUTION_STATES = {
    JobStatus.CREATED: "CREATED",
    JobStatus.RUNNING: "RUNNING",
    JobStatus.FAILING: "CANCELING",
    JobStatus.FAILED: "FAILED",
    JobStatus.CANCELLING: "CANCELING",
    JobStatus.CANCELED: "CANCELED",
    JobStatus.FINISHED: "FINISHED",
    JobStatus.RESTARTING: "CANCELED",
    JobStatus.SUSPENDED: "CANCELED",
    JobStatus.RECONCILING: "RECONCILING",
}
"""State of a job -> state of its subtasks, which live and end with the job, except those whose input ended earlier."""


_AFTER_A_FAILURE = (JobStatus.FAILED, JobStatus.RESTARTING)
ENDED = ("FINISHED", "FAILED", "CANCELED")


def vertex_documents(runner: JobRunner, report: MetricsReport) -> tuple[VertexDocument, ...]:
    """All vertices, in topological order."""
    known = _Known(runner, report)
    return tuple(known.vertex(vertex) for vertex in runner.job.vertices)


def planned_vertex(job: JobGraph, vertex: Vertex) -> VertexDocument:
    """The document of a vertex in a plan, without any running subtask."""
    infos = [job.by_id[id] for id in vertex.operators]
    return VertexDocument(
        id=vertex.id,
        name=vertex.name,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        slot_sharing_group=hex_id(f"slot sharing group {vertex.slot_group}"),
        operators=tuple(OperatorDocument(i.uid, i.name, i.origin, i.description or i.name) for i in infos),
        inputs=tuple(
            InputDocument(given.vertex, given.ship_strategy, number) for number, given in enumerate(vertex.inputs)
        ),
    )


class _Known:
    """A snapshot of the driver's knowledge of a job's subtasks."""

    def __init__(self, runner: JobRunner, report: MetricsReport) -> None:
        coordinator = runner.coordinator
        self._job = runner.job
        self._history = runner.history
        self._attempt = coordinator.attempt
        self._figures = coordinator.figures.all()
        self._metrics = subtask_metrics(report)
        self._now = now_millis()
        self._accumulators = coordinator.metrics.accumulators_by_subtask()
        self._failed = _failed_tasks(runner)

    def vertex(self, vertex: Vertex) -> VertexDocument:
        return replace(
            planned_vertex(self._job, vertex),
            subtasks=tuple(self._subtask(vertex, index) for index in range(vertex.parallelism)),
            heavy_keys=self._heavy_keys(vertex),
            states=self._states_of(vertex),
        )

    def _states_of(self, vertex: Vertex) -> dict[str, int]:
        """Size of each state that a function has asked for: name -> approximate bytes over all subtasks."""
        sizes: Counter[str] = Counter()
        for index in range(vertex.parallelism):
            sizes.update(self._figures[vertex.id, index].state_sizes)
        return dict(sorted(sizes.items()))

    def _heavy_keys(self, vertex: Vertex) -> tuple[HeavyKey, ...]:
        """The heaviest keys of a vertex, over all subtasks. A key belongs to one subtask only, so shares need no
        merging."""
        subtasks = [self._figures[vertex.id, index] for index in range(vertex.parallelism)]
        total = sum(figures.records_in for figures in subtasks)
        shares = [
            HeavyKey(key, share * figures.records_in / total)
            for figures in subtasks
            for key, share in (figures.heavy_keys if total else ())
        ]
        shares.sort(key=lambda heavy: -heavy.share)
        return tuple(heavy for heavy in shares[:SHOWN] if heavy.share >= LEAST_SHARE)

    def _subtask(self, vertex: Vertex, index: int) -> SubtaskDocument:
        figures = self._figures[vertex.id, index]
        state = self._state(vertex, index, figures)
        states = self._states(state, figures)
        accumulators = (self._accumulators.get((id, index), {}) for id in vertex.operators)
        return SubtaskDocument(
            index=index,
            state=state,
            attempt=self._attempt,
            host="" if figures.worker is None else figures.worker.host,
            task_manager="" if figures.worker is None else figures.worker.executor,
            states=states,
            started=states.get("RUNNING", -1),
            ended=states[state] if state in ENDED else -1,
            records_in=figures.records_in,
            records_out=figures.records_out,
            bytes_in=figures.bytes_in,
            bytes_out=figures.bytes_out,
            busy_ms=figures.busy_ms,
            backpressured_ms=figures.backpressured_ms,
            idle_ms=figures.idle_ms,
            busy=figures.busy if self._known(figures) else None,
            backpressured=figures.backpressured if self._known(figures) else None,
            idle=figures.idle if self._known(figures) else None,
            watermark=None if figures.watermark == MIN_TIMESTAMP else figures.watermark,
            state_bytes=figures.state_bytes,
            metrics=self._metrics_of(vertex, index),
            accumulators=tuple(document for own in accumulators for document in accumulator_documents(own)),
        )

    def _known(self, figures: SubtaskFigures) -> bool:
        """Whether a subtask's shares of time are current: its job runs."""
        return figures.changed >= 0 and not self._history.status.is_globally_terminal_state()

    def _metrics_of(self, vertex: Vertex, index: int) -> tuple[MetricDocument, ...]:
        values = task_metrics(self._figures[vertex.id, index], self._now).items()
        own = (document for name, value in values for document in documents(name, value))
        uids = [self._job.by_id[id].uid for id in vertex.operators]
        return (*own, *(metric for uid in uids for metric in self._metrics.get((uid, index), ())))

    def _state(self, vertex: Vertex, index: int, figures: SubtaskFigures) -> str:
        status = self._history.status
        if status is JobStatus.RUNNING and figures.finished:
            return "FINISHED"
        if status in _AFTER_A_FAILURE:
            return "FAILED" if (vertex.id, index) in self._failed else "CANCELED"
        return EXECUTION_STATES[status]

    def _states(self, state: str, figures: SubtaskFigures) -> dict[str, int]:
        """When the subtask entered each of its states (ms)."""
        entered = self._history.entered()
        states = {"CREATED": entered[JobStatus.CREATED]}
        running = entered.get(JobStatus.RUNNING)
        if running is not None:
            # Spark gets all tasks at once: an attempt of the job is an attempt of each subtask.
            states |= {"SCHEDULED": running, "DEPLOYING": running, "INITIALIZING": running, "RUNNING": running}
        if state not in states:
            since = figures.changed if self._history.status is JobStatus.RUNNING else entered[self._history.status]
            states[state] = since
        return states


def _failed_tasks(runner: JobRunner) -> set[tuple[str, int]]:
    """The subtasks whose failure ended or restarted the job."""
    failures = runner.history.failures()
    if runner.history.status not in _AFTER_A_FAILURE or not failures:
        return set()
    places = (task_of(runner.job, record) for record in (failures[0], *failures[0].concurrent))
    return {(place.vertex.id, place.subtask) for place in places if place is not None}
