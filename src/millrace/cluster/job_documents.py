"""Makes the ``JobDocument`` of a job of this process: of a stream, of a query in batch mode, or of a plan only; with
the documents of its vertices and their subtasks, and metrics named as in Flink's REST API.

The vertices of a query in batch mode are Spark's stages. Secrets in options and in texts of exceptions are masked.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from millrace.cluster.documents import (
    AccumulatorDocument,
    CheckpointConfigDocument,
    CheckpointDocument,
    CheckpointsDocument,
    EpochDocument,
    ExceptionDocument,
    HeavyKey,
    InputDocument,
    JobDocument,
    MetricDocument,
    OperatorDocument,
    RestoredDocument,
    SlowDocument,
    SubtaskDocument,
    TaskCheckpointDocument,
    VertexDocument,
)
from millrace.common.accumulators import Accumulator
from millrace.common.jobs import JobStatus
from millrace.common.state.storage import ExternalizedCheckpointRetention
from millrace.datastream.job_settings import JobSettings
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
from millrace.runtime.coordination.checkpoints import CheckpointStats, CheckpointStatus, Pending, TaskBytes
from millrace.runtime.coordination.figures import SubtaskFigures
from millrace.runtime.coordination.history import EpochRecord, FailureRecord, JobHistory
from millrace.runtime.coordination.job_metrics import task_metrics
from millrace.runtime.coordination.restart import PREFIX, TYPE, NoRestart, RestartPolicy
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.operators.job_graph import JobGraph, Vertex, hex_id
from millrace.runtime.storage import TaskId
from millrace.runtime.tasks.task_figures import LEAST_SHARE, SHOWN
from millrace.spark.jobs.runner import JobRunner
from millrace.spark.tables.batch_job import BatchJobClient, StageCount
from millrace.util.secrets import mask_options, mask_text

# Vertices and subtasks

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


# Jobs: states and restarts


def timestamps(history: JobHistory) -> dict[str, int]:
    """Name of each state -> when the job entered it last (ms), 0 if never."""
    entered = history.entered()
    return {"INITIALIZING": history.created, **{status.name: entered.get(status, 0) for status in JobStatus}}


def ended(history: JobHistory) -> int:
    """When the job ended (ms), -1 if it has not."""
    status = history.status
    return history.entered()[status] if status.is_globally_terminal_state() else -1


def describe_restarts(policy: RestartPolicy, configuration: Mapping[str, str]) -> str:
    """The restart strategy in Flink's words.

    :param configuration: what the user has set; without any strategy in it, Flink says only that.
    """
    if TYPE not in configuration and PREFIX not in configuration:
        return "Cluster level default restart strategy"
    values = policy.configuration
    kind = values[TYPE]

    def value(name: str) -> str:
        return values[f"{PREFIX}.{kind}.{name}"]

    if kind == "fixed-delay":
        return f"Restart with fixed delay ({_duration(value('delay'))}). #{value('attempts')} restart attempts."
    if kind == "failure-rate":
        return (
            f"Failure rate restart with maximum of {value('max-failures-per-interval')} failures within interval "
            f"{_duration(value('failure-rate-interval'))} and fixed delay {_duration(value('delay'))}."
        )
    if kind == "exponential-delay":
        return (
            f"Restart with exponential delay: starting at {_duration(value('initial-backoff'))}, increasing by "
            f"{float(value('backoff-multiplier')):f}, with maximum {_duration(value('max-backoff'))}. Delay resets "
            f"after {_duration(value('reset-backoff-threshold'))} with jitter {float(value('jitter-factor')):f}"
        )
    return "Restart deactivated."


def _duration(millis: str) -> str:
    """A duration in ISO 8601, as Java writes it: ``PT1M30S``."""
    left = Decimal(millis.removesuffix(" ms")) / 1000
    hours, left = divmod(left, 3600)
    minutes, seconds = divmod(left, 60)
    parts = [f"{int(hours)}H"] * bool(hours) + [f"{int(minutes)}M"] * bool(minutes)
    if seconds or not parts:
        parts.append(f"{seconds.normalize():f}S")
    return "PT" + "".join(parts)


# Failures


def exception_documents(runner: JobRunner) -> tuple[ExceptionDocument, ...]:
    """The failures of a job, the newest first."""
    return tuple(_exception_document(record, runner) for record in runner.history.failures())


def _exception_document(record: FailureRecord, runner: JobRunner) -> ExceptionDocument:
    task = task_of(runner.job, record)
    figures = None if task is None else runner.coordinator.figures.all().get((task.vertex.id, task.subtask))
    worker = None if figures is None else figures.worker
    return ExceptionDocument(
        name=record.name,
        text=mask_text(record.text),
        stacktrace=mask_text(record.stacktrace),
        at=record.at,
        task=None if task is None else task.name,
        host=None if worker is None else worker.host,
        task_manager=None if worker is None else worker.executor,
        concurrent=tuple(_exception_document(each, runner) for each in record.concurrent),
        root=record.root,
    )


def plain_exceptions(history: JobHistory) -> tuple[ExceptionDocument, ...]:
    """The failures of a query in batch mode, which has no tasks of its own; the newest first."""
    return tuple(
        ExceptionDocument(record.name, mask_text(record.text), mask_text(record.stacktrace), record.at)
        for record in history.failures()
    )


# Checkpoints and savepoints

_RETAINED = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
_PREFIX = "execution.checkpointing."


def checkpoints_document(runner: JobRunner) -> CheckpointsDocument:
    """All that is known of the checkpoints of a job."""
    log = runner.coordinator.log
    counts, pending, restored = log.counts, log.pending, log.last_restored
    history = [
        replace(
            _checkpoint_document(stats, runner.job),
            ends_job=stats.path is not None and stats.path == runner.savepoints.last,
        )
        for stats in log.history()
    ]
    if pending is not None:
        history.append(_in_progress(pending))
    return CheckpointsDocument(
        config=_config(runner),
        restored_count=counts.restored,
        total=counts.total,
        in_progress=counts.in_progress,
        completed=counts.completed,
        failed=counts.failed,
        history=tuple(reversed(history)),
        restored=None
        if restored is None
        else RestoredDocument(restored.checkpoint_id, restored.at, restored.savepoint, restored.path),
    )


def _config(runner: JobRunner) -> CheckpointConfigDocument:
    settings, plan = runner.settings, runner.settings.checkpoints
    backend = "HashMapStateBackend" if runner.job.state.in_memory else "EmbeddedRocksDBStateBackend"
    described = settings.described
    if plan is None:
        return CheckpointConfigDocument(state_backend=backend, storage=_storage(described.get(f"{_PREFIX}dir")))
    own = plan.settings
    return CheckpointConfigDocument(
        mode=described.get(f"{_PREFIX}mode", "EXACTLY_ONCE").lower(),
        interval=own.interval,
        timeout=own.timeout,
        min_pause=own.min_pause,
        max_concurrent=int(described.get(f"{_PREFIX}max-concurrent-checkpoints", "1")),
        tolerable_failures=own.tolerable_failures,
        retained_on_cancellation=plan.retention is _RETAINED,
        externalized=plan.retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
        state_backend=backend,
        storage=_storage(plan.directory),
        unaligned=described.get(f"{_PREFIX}unaligned.enabled", "false").lower() == "true",
    )


def _storage(directory: object) -> str:
    return "FileSystemCheckpointStorage" if directory else "JobManagerCheckpointStorage"


def _in_progress(pending: Pending) -> CheckpointDocument:
    return CheckpointDocument(pending.epoch, pending.savepoint, "IN_PROGRESS", pending.began)


def _checkpoint_document(stats: CheckpointStats, job: JobGraph) -> CheckpointDocument:
    failed = stats.status is CheckpointStatus.FAILED
    began = stats.trigger_time if stats.began < 0 else stats.began
    return CheckpointDocument(
        id=stats.checkpoint_id,
        savepoint=stats.savepoint,
        status=stats.status.value,
        triggered=began,
        latest_ack=max((task.acknowledged for task in stats.tasks.values()), default=-1),
        duration=stats.end_to_end,
        size=stats.new_bytes,
        full_size=stats.bytes,
        path=stats.path,
        discarded=stats.discarded,
        failed=began + stats.end_to_end if failed else -1,
        failure=stats.cause,
        tasks=tuple(_task(vertex, began, stats.tasks, job.state_vertices) for vertex in job.vertices)
        if stats.tasks
        else (),
    )


def _task(
    vertex: Vertex, began: int, tasks: Mapping[TaskId, TaskBytes], owners: Mapping[TaskId, str]
) -> TaskCheckpointDocument:
    own = []
    for partition in range(vertex.offset, vertex.offset + vertex.parallelism):
        place = (vertex.stage, partition)
        task = tasks.get(place, TaskBytes(0, 0, -1))
        own.append(task if owners.get(place) == vertex.id else TaskBytes(0, 0, task.acknowledged))
    latest = max((task.acknowledged for task in own), default=-1)
    return TaskCheckpointDocument(
        vertex=vertex.id,
        subtasks=vertex.parallelism,
        acknowledged=sum(task.acknowledged >= 0 for task in own),
        latest_ack=latest,
        size=sum(task.new for task in own),
        full_size=sum(task.full for task in own),
        duration=max(latest - began, 0) if latest >= 0 else 0,
        sizes=tuple(task.new for task in own),
    )


# Streams


def job_document(runner: JobRunner) -> JobDocument:
    """The document of a running or ended job, made now; may be called from any thread."""
    job, history, settings = runner.job, runner.history, runner.settings
    coordinator = runner.coordinator
    # Not all that ``coordinator.report`` puts together: what tasks have done is in their figures.
    report = MetricsReport((*coordinator.metrics.report(), *coordinator.reporter.of_job()))
    return JobDocument(
        id=job.job_id,
        name=job.name,
        state=history.status.name,
        batch=settings.batch,
        parallelism=settings.parallelism,
        max_parallelism=int(settings.described.get("pipeline.max-parallelism", -1)),  # as set: -1 where it is not
        started=history.created,
        ended=ended(history),
        written=now_millis(),
        timestamps=timestamps(history),
        vertices=vertex_documents(runner, report),
        checkpoints=checkpoints_document(runner),
        exceptions=exception_documents(runner),
        exceptions_truncated=history.truncated,
        epochs=tuple(map(_epoch, history.epochs())),
        accumulators=accumulator_documents(coordinator.metrics.merged_accumulators()),
        metrics=job_metrics(report),
        restart_strategy=describe_restarts(settings.restart, settings.described),
        parameters=dict(mask_options(job.parameters)),
        configuration=mask_options(settings.described or settings.configuration),
        object_reuse=settings.object_reuse,
        stoppable=not settings.batch,
        log_file=runner.log_file,
        spark_page=runner.web_page,
        process=os.getpid(),
        slow=_slow(runner),
        at_work=runner.at_work(),
    )


def _slow(runner: JobRunner) -> SlowDocument | None:
    slow = runner.coordinator.figures.slow()
    if slow is None:
        return None
    vertex = next(each for each in runner.job.vertices if slow.operator in each.operators)
    return SlowDocument(vertex.id, slow.name, slow.millis, slow.share)


def _epoch(record: EpochRecord) -> EpochDocument:
    return EpochDocument(
        record.number,
        record.began,
        record.duration,
        record.records,
        None if record.watermark == MIN_TIMESTAMP else record.watermark,
        dict(record.phases),
        record.checkpoint,
    )


# Queries in batch mode

_BEFORE = ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING")
"""states that a task has passed before it ended"""


def batch_document(client: BatchJobClient) -> JobDocument:
    """The document of a query in batch mode, made now; may be called from any thread."""
    history, context = client.history, client.context
    configuration = dict(context.surroundings.configuration)
    return JobDocument(
        id=context.job_id,
        name=context.job_name,
        state=history.status.name,
        batch=True,
        parallelism=context.parallelism,
        max_parallelism=-1,
        started=history.created,
        ended=ended(history),
        written=now_millis(),
        timestamps=timestamps(history),
        vertices=tuple(_vertex(stage, history) for stage in client.stages()),
        exceptions=plain_exceptions(history),
        exceptions_truncated=history.truncated,
        metrics=job_metrics(client.get_metrics()),
        restart_strategy=describe_restarts(NoRestart(), {}),
        configuration=mask_options(configuration),
        spark_page=client.web_page,
        process=os.getpid(),
    )


def _vertex(stage: StageCount, history: JobHistory) -> VertexDocument:
    """A stage of Spark as a vertex. Spark says how many tasks have ended, not which: the first subtasks stand for them,
    and tasks that end with the job get its end time."""
    over = history.status.is_globally_terminal_state()
    rest = "CANCELED" if over else "SCHEDULED"
    working = "CANCELED" if over else "RUNNING"
    states = ["FINISHED"] * stage.done + [working] * stage.active
    states += [rest] * (stage.tasks - len(states))
    end = ended(history)
    began = history.entered().get(JobStatus.RUNNING, history.created)
    return VertexDocument(
        id=hex_id(f"stage {stage.id}"),
        name=stage.name,
        parallelism=stage.tasks,
        max_parallelism=stage.tasks,
        slot_sharing_group=hex_id("slot sharing group default"),
        operators=(OperatorDocument(str(stage.id), stage.name, ""),),
        subtasks=tuple(
            SubtaskDocument(index, state, 0, "", "", _entered(state, began, end), started=began, ended=end)
            for index, state in enumerate(states[: stage.tasks])
        ),
    )


def _entered(state: str, began: int, end: int) -> dict[str, int]:
    """When a task entered its states: the times of its job, since Spark does not report those of tasks."""
    before = _BEFORE[: _BEFORE.index(state)] if state in _BEFORE else _BEFORE
    return {**dict.fromkeys(before, began), state: began if end < 0 else end}


# Jobs that have not been started


def planned_document(job: JobGraph, settings: JobSettings) -> JobDocument:
    """The document of a job that is planned and not started."""
    now = now_millis()
    return JobDocument(
        id=job.job_id,
        name=job.name,
        state=JobStatus.CREATED.name,
        batch=settings.batch,
        parallelism=settings.parallelism,
        max_parallelism=int(settings.described.get("pipeline.max-parallelism", -1)),  # as set: -1 where it is not
        started=now,
        ended=-1,
        written=now,
        timestamps={JobStatus.CREATED.name: now},
        vertices=tuple(planned_vertex(job, vertex) for vertex in job.vertices),
        restart_strategy=describe_restarts(settings.restart, settings.described),
        parameters=dict(mask_options(job.parameters)),
        configuration=mask_options(settings.described or settings.configuration),
    )
