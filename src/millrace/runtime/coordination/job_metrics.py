"""Metrics and accumulators of a whole job, on the driver, and the report of all its metrics by Flink's names.

They are added up from the reports of completed epochs.
"""

from __future__ import annotations

import socket
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.accumulators import Accumulator
from millrace.common.jobs import JobStatus
from millrace.metrics.metricbase import Measured, MetricGroup
from millrace.metrics.report import (
    CounterSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricEntry,
    MetricSnapshot,
    MetricsReport,
)
from millrace.runtime.bases.epoch_protocol import OperatorReport, OperatorSoFar
from millrace.runtime.bases.runtime_context import Accumulators, MeasureState
from millrace.runtime.clocks import JUMPS_METRIC, steady_of
from millrace.runtime.coordination.checkpoints import CheckpointLog, CheckpointStatus
from millrace.runtime.coordination.figures import Figures, Place, SubtaskFigures
from millrace.runtime.coordination.history import JobHistory
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.operators.specs import Source
from millrace.runtime.windows.window_operator import LATE_METRIC
from millrace.util.skipped import SKIPPED_METRIC

WORKERS = "spark"
"""``<tm_id>`` of metrics while the executor of a subtask is not known."""


class AccumulatorConflictError(ValueError):
    """Two operators use one accumulator name for different types."""


LATENCIES = 128
"""The number of values in a histogram of latencies, as in Flink."""


class Recent:
    """The most recent values of a series."""

    def __init__(self) -> None:
        self._count = 0
        self._values: deque[int] = deque(maxlen=LATENCIES)

    def add(self, value: int) -> None:
        self._count += 1
        self._values.append(value)

    def snapshot(self) -> HistogramSnapshot:
        return HistogramSnapshot(self._count, tuple(sorted(self._values)))


class _Subtask:
    """The metrics and accumulators of one subtask, as the driver knows them."""

    def __init__(self, info: OperatorInfo, clock: Callable[[], float], wall: Callable[[], int]) -> None:
        self.users = MetricGroup(clock=clock)
        self.accumulators = Accumulators()
        self._watermark = self._watermark_out = MIN_TIMESTAMP
        self._system = MetricGroup(clock=clock)
        counted = {"numRecordsIn", "numRecordsOut"}
        if isinstance(info.spec, Source):
            counted.remove("numRecordsIn")
        else:
            self._system.gauge("currentInputWatermark", lambda: self._watermark)
        self._counters = {name: self._system.counter(name) for name in sorted(counted)}
        self._meters = {name: self._system.meter(f"{name}PerSecond") for name in sorted(counted)}
        self._so_far = dict.fromkeys(counted, 0)
        """the part of each counter that comes from the running epoch"""
        self._system.gauge("currentOutputWatermark", lambda: self._watermark_out)
        self._work = self._exchange = 0
        """time in microseconds"""
        self._system.gauge("workTimeMs", lambda: self._work // 1000)
        self._system.gauge("exchangeTimeMs", lambda: self._exchange // 1000)
        self._read_last = clock()
        """when a source last had something to read (s)"""
        self._idle = False
        self._splits = 0
        self.skipped = 0
        """records that a source could not read and has skipped"""
        self.late = 0
        """records that came too late and were dropped"""
        self.jumps = 0
        """records so far in the future that the watermark does not follow them"""
        if isinstance(info.spec, Source):
            self._system.gauge("watermarkLag", lambda: self._lag(wall()))
            self._system.gauge("sourceIdleTime", lambda: int((clock() - self._read_last) * 1000))
            self._system.gauge("isIdle", lambda: int(self._idle))
            self._system.gauge("numSplits", lambda: self._splits)
        self._clock = clock

    def _lag(self, now: int) -> int | None:
        """How far the watermark is behind the clock (ms); None before the first one, and after the last."""
        known = MIN_TIMESTAMP < self._watermark_out < MAX_WATERMARK
        return now - self._watermark_out if known else None

    def so_far(self, report: OperatorReport | OperatorSoFar) -> None:
        """Take what the subtask has done since the running epoch began."""
        if report.records_out > self._so_far.get("numRecordsOut", 0):
            self._read_last = self._clock()
        for name, records in (("numRecordsIn", report.records_in), ("numRecordsOut", report.records_out)):
            new = records - self._so_far.get(name, records)
            if new:
                self._counters[name].inc(new)
                self._meters[name].mark_event(new)
                self._so_far[name] = records
        # Each copy of a subtask knows only the watermark that it has sent itself.
        self._watermark = max(self._watermark, report.watermark)
        self._watermark_out = max(self._watermark_out, report.watermark_out)

    def forget_epoch(self) -> None:
        """The running epoch has failed: take its counts back."""
        for name, records in self._so_far.items():
            self._counters[name].dec(records)
            self._so_far[name] = 0

    def take(self, report: OperatorReport) -> None:
        """Take the report of a complete epoch."""
        self.so_far(report)
        self._so_far = dict.fromkeys(self._so_far, 0)
        self._work += report.times.work
        self._exchange += report.times.sort + report.times.write
        if report.source is not None:
            self._idle, self._splits = report.source.idle, len(report.source.splits)
        if report.measures is not None:
            for metric in report.measures.metrics:
                self.users.restore(metric)
                if metric.path == (SKIPPED_METRIC,) and isinstance(metric.value, CounterSnapshot):
                    self.skipped = metric.value.count
                elif metric.path == (LATE_METRIC,) and isinstance(metric.value, CounterSnapshot):
                    self.late = metric.value.count
                elif metric.path == (JUMPS_METRIC,) and isinstance(metric.value, CounterSnapshot):
                    self.jumps = metric.value.count
            self.accumulators.apply(report.measures.accumulators)

    def measured(self) -> Iterator[Measured]:
        system = {metric.path: metric for metric in self._system.measured()}
        yield from system.values()
        # As in Flink, a system metric hides a user's metric of the same name.
        yield from (metric for metric in self.users.measured() if metric.path not in system)


@dataclass(frozen=True)
class LeftOut:
    """The number of records that the job's results lack, or that do not count for its watermark, since the job
    began.
    """

    skipped: int = 0
    """records that a source could not read"""
    late: int = 0
    """records that came after their window was deleted"""
    jumps: int = 0
    """records in the results whose timestamp is so far ahead that the watermark does not follow it"""


class JobMetrics:
    """The metrics of all subtasks, from the reports of completed epochs. Reports and readers may be in different
    threads."""

    def __init__(self, job: JobGraph, clock: Callable[[], int]) -> None:
        """``clock``: processing time in ms."""
        self._job = job
        self._clock = steady_of(clock)
        self._host = socket.gethostname()
        self._lock = threading.Lock()
        self._now = self._clock() / 1000
        """seconds; read once for all subtasks"""
        self._subtasks = {
            (info.id, subtask): _Subtask(info, self._seconds, clock)
            for info in job.operators
            for subtask in range(info.parallelism)
        }
        self._latencies: dict[tuple[int, int, int], Recent] = defaultdict(Recent)
        """(source, operator, subtask of the operator) -> times in ms that latency marks were under way"""
        self._kinds: dict[str, tuple[type, OperatorInfo]] = {}
        """name of an accumulator -> its type, and the operator that it was first seen in"""
        self._began = 0
        self._epochs = 0
        self._moves = 0
        self._last_millis = 0

    def begin_epoch(self) -> None:
        """An epoch is planned: its time counts from now on."""
        self._began = self._clock()

    def take(self, reports: Iterable[OperatorReport]) -> None:
        """Take the reports of a complete epoch.

        :raises AccumulatorConflictError: two operators use one accumulator name for different types.
        """
        with self._lock:
            self._now = self._clock() / 1000
            for report in reports:
                self._subtasks[report.operator, report.subtask].take(report)
                for source, _, millis in report.latencies:
                    self._latencies[source, report.operator, report.subtask].add(millis)
                if report.measures is not None:
                    self._check(self._job.by_id[report.operator], report, report.measures)
            self._epochs += 1
            self._last_millis = self._clock() - self._began

    def so_far(self, reports: Iterable[OperatorSoFar]) -> None:
        """Take what was done in the running epoch since it began."""
        with self._lock:
            self._now = self._clock() / 1000
            for report in reports:
                self._subtasks[report.operator, report.subtask].so_far(report)

    def forget_epoch(self) -> None:
        """The running epoch has failed: take its counts back."""
        with self._lock:
            for subtask in self._subtasks.values():
                subtask.forget_epoch()

    def left_out(self) -> LeftOut:
        """The numbers of records that were skipped, late, or ignored for the watermark."""
        with self._lock:
            subtasks = self._subtasks.values()
            skipped, late, jumps = zip(*((each.skipped, each.late, each.jumps) for each in subtasks))
            return LeftOut(sum(skipped), sum(late), sum(jumps))

    def moved(self, tasks: int) -> None:
        """Count tasks that run in another process than in the epoch before."""
        with self._lock:
            self._moves += tasks

    def _seconds(self) -> float:
        return self._now

    def _check(self, info: OperatorInfo, report: OperatorReport, measures: MeasureState) -> None:
        for name in measures.accumulators:
            kind = type(self._subtasks[report.operator, report.subtask].accumulators.get(name))
            known, other = self._kinds.setdefault(name, (kind, info))
            if known is not kind:
                raise AccumulatorConflictError(
                    f"the accumulator {name!r} has two types: {known.__name__} in operator {other.name!r} at "
                    f"{other.origin}, {kind.__name__} in operator {info.name!r} at {info.origin}"
                )

    def accumulators(self) -> dict[str, Any]:
        """Accumulator -> value, all subtasks of all operators merged."""
        return {name: accumulator.get_local_value() for name, accumulator in self.merged_accumulators().items()}

    def merged_accumulators(self) -> dict[str, Accumulator[Any, Any]]:
        """Accumulator -> the accumulator object, all subtasks of all operators merged."""
        merged: dict[str, Accumulator[Any, Any]] = {}
        for accumulators in self.accumulators_by_subtask().values():
            for name, accumulator in accumulators.items():
                if name in merged:
                    merged[name].merge(accumulator)
                else:
                    merged[name] = accumulator
        return merged

    def accumulators_by_subtask(self) -> dict[tuple[int, int], dict[str, Accumulator[Any, Any]]]:
        """(operator id, subtask) -> copies of its accumulators; subtasks without accumulators have no entry."""
        with self._lock:
            found = {
                place: {name: accumulator.clone() for name, accumulator in subtask.accumulators.items()}
                for place, subtask in self._subtasks.items()
            }
        return {place: accumulators for place, accumulators in found.items() if accumulators}

    def report(self) -> MetricsReport:
        """All metrics of the subtasks at this moment."""
        with self._lock:
            self._now = self._clock() / 1000
            return MetricsReport((*self._job_entries(), *self._operator_entries()))

    def _job_entries(self) -> Iterator[MetricEntry]:
        group = MetricGroup()
        group.counter("numEpochs").inc(self._epochs)
        group.counter("numTaskMoves").inc(self._moves)
        group.gauge("lastEpochDuration", lambda: self._last_millis)
        for path, _, value in group.measured():
            yield MetricEntry(path, value, self.job_variables())
        for (source, operator, subtask), recent in self._latencies.items():
            of, to = self._job.by_id[source].uid, self._job.by_id[operator].uid
            group_path = ("latency", "source_id", of, "operator_id", to, "operator_subtask_index", str(subtask))
            variables = {"<source_id>": of, "<operator_id>": to, "<operator_subtask_index>": str(subtask)}
            yield MetricEntry((*group_path, "latency"), recent.snapshot(), self.job_variables() | variables)

    def _operator_entries(self) -> Iterator[MetricEntry]:
        for (operator, index), subtask in self._subtasks.items():
            info = self._job.by_id[operator]
            variables = self.job_variables() | {
                "<tm_id>": WORKERS,
                "<task_name>": info.chain,
                "<operator_id>": info.uid,
                "<operator_name>": info.name,
                "<subtask_index>": str(index),
            }
            for path, own, value in subtask.measured():
                named = {f"<{key}>": text for key, text in own.items()}
                yield MetricEntry(path, value, variables | named, info.name, info.uid, index)

    def job_variables(self) -> dict[str, str]:
        """The scope variables of the job."""
        return {"<host>": self._host, "<job_id>": self._job.job_id, "<job_name>": self._job.name}


# The report

STATES = ("CREATED", "RUNNING", "RESTARTING", "FAILING", "CANCELLING")
"""States of a job whose time is measured (``runningTime``, ``runningTimeTotal``, ...)."""
RATE_SECONDS = 5
NONE = -1
"""The value that Flink reports for the figures of a checkpoint where there was none."""


class JobReporter:
    """Builds the report of all metrics from what other objects count. May be called from any thread.

    :param clock: gives the time in ms.
    :param restarts: gives the number of restarts of the job.
    """

    def __init__(
        self,
        job: JobGraph,
        clock: Callable[[], int],
        metrics: JobMetrics,
        figures: Figures,
        history: JobHistory,
        log: CheckpointLog,
        restarts: Callable[[], int],
    ) -> None:
        self._job = job
        self._clock = clock
        self._metrics = metrics
        self._figures = figures
        self._history = history
        self._log = log
        self._restarts = restarts
        self._vertices = {job.by_id[id].uid: vertex.id for vertex in job.vertices for id in vertex.operators}

    def report(self) -> MetricsReport:
        """All metrics of the job at this moment."""
        known = self._figures.all()
        of_operators = (self._placed(entry, known) for entry in self._metrics.report())
        return MetricsReport((*of_operators, *self.of_job(), *self._of_tasks(known)))

    def _placed(self, entry: MetricEntry, known: Mapping[Place, SubtaskFigures]) -> MetricEntry:
        """The entry with the worker that its subtask ran on last."""
        if entry.uid is None or entry.subtask is None:
            return entry
        worker = known[self._vertices[entry.uid], entry.subtask].worker
        if worker is None:
            return entry
        return replace(entry, variables=entry.variables | {"<host>": worker.host, "<tm_id>": worker.executor})

    def of_job(self) -> Iterator[MetricEntry]:
        """The metrics of the job as a whole: checkpoints, restarts, times by status."""
        variables = self._metrics.job_variables()
        for name, value in {**self._times(), **self._checkpoints(), **self._workers()}.items():
            yield MetricEntry((name,), GaugeSnapshot(value), variables)
        epochs = self._history.epochs()
        for phase, millis in (epochs[-1].phases if epochs else {}).items():
            yield MetricEntry(("lastEpochPhase", phase), GaugeSnapshot(round(millis, 3)), variables)

    def _times(self) -> dict[str, Any]:
        return job_times(self._history, self._restarts())

    def _checkpoints(self) -> dict[str, Any]:
        log = self._log
        counts, restored = log.counts, log.last_restored
        completed = (stats for stats in reversed(log.history()) if stats.status is CheckpointStatus.COMPLETED)
        last = next(completed, None)
        return {
            "totalNumberOfCheckpoints": counts.total,
            "numberOfInProgressCheckpoints": counts.in_progress,
            "numberOfCompletedCheckpoints": counts.completed,
            "numberOfFailedCheckpoints": counts.failed,
            "lastCompletedCheckpointId": NONE if last is None else last.checkpoint_id,
            "lastCheckpointDuration": NONE if last is None else last.end_to_end,
            "lastCheckpointSize": NONE if last is None else last.new_bytes,
            "lastCheckpointFullSize": NONE if last is None else last.bytes,
            "lastCheckpointExternalPath": "n/a" if last is None else last.path or "n/a",
            "lastCheckpointRestoreTimestamp": NONE if restored is None else restored.at,
        }

    def _workers(self) -> dict[str, Any]:
        workers = self._figures.workers()
        return {
            "numWorkers": len(workers),
            "workerMemory": sum(max(worker.memory, 0) for worker in workers),
            "workerProcessorTime": sum(max(worker.cpu_ms, 0) for worker in workers),
        }

    def _of_tasks(self, known: Mapping[Place, SubtaskFigures]) -> Iterator[MetricEntry]:
        now, attempt = self._clock(), self._restarts()
        common = self._metrics.job_variables()
        for vertex in self._job.vertices:
            for index in range(vertex.parallelism):
                figures = known[vertex.id, index]
                worker = figures.worker
                variables = common | {
                    "<tm_id>": WORKERS if worker is None else worker.executor,
                    "<task_name>": vertex.name,
                    "<task_id>": vertex.id,
                    "<task_attempt_num>": str(attempt),
                    "<subtask_index>": str(index),
                }
                if worker is not None:
                    variables["<host>"] = worker.host
                for name, value in task_metrics(figures, now).items():
                    yield MetricEntry((name,), value, variables, subtask=index, vertex=vertex.id)


def job_times(history: JobHistory, restarts: int) -> dict[str, Any]:
    """How long a job has been in each status (ms), and how often it was restarted."""
    found: dict[str, Any] = {"numRestarts": restarts, "fullRestarts": restarts}
    for name in STATES:
        status = JobStatus[name]
        found[f"{name.lower()}Time"] = history.current(status)
        found[f"{name.lower()}TimeTotal"] = history.total(status)
    over = history.status.is_globally_terminal_state()
    found["uptime"] = NONE if over else found["runningTime"]
    found["downtime"] = NONE if over else found["restartingTime"] + found["failingTime"]
    return found


def task_metrics(figures: SubtaskFigures, now: int) -> dict[str, MetricSnapshot]:
    """Name of each metric of a task -> its value at this moment (ms)."""
    counted = {
        "numRecordsIn": (figures.records_in, figures.records_in_rate),
        "numRecordsOut": (figures.records_out, figures.records_out_rate),
        "numBytesIn": (figures.bytes_in, figures.bytes_in_rate),
        "numBytesOut": (figures.bytes_out, figures.bytes_out_rate),
    }
    found: dict[str, MetricSnapshot] = {}
    for name, (count, rate) in counted.items():
        found[name] = CounterSnapshot(count)
        found[f"{name}PerSecond"] = MeterSnapshot(count, rate, RATE_SECONDS)
    shares = {
        "busy": (figures.busy, figures.busy_ms),
        "backPressured": (figures.backpressured, figures.backpressured_ms),
        "idle": (figures.idle, figures.idle_ms),
    }
    for name, (share, millis) in shares.items():
        found[f"{name}TimeMsPerSecond"] = GaugeSnapshot(round(share * 1000))
        found[f"accumulate{name[0].upper()}{name[1:]}TimeMs"] = GaugeSnapshot(round(millis))
    for name, usage in zip(("inPoolUsage", "outPoolUsage"), figures.pools or ()):
        found[f"buffers.{name}"] = GaugeSnapshot(round(usage, 3))
    watermark = figures.watermark
    found["currentInputWatermark"] = GaugeSnapshot(watermark)
    if MIN_TIMESTAMP < watermark < MAX_WATERMARK:
        found["watermarkLag"] = GaugeSnapshot(now - watermark)
    found["stateBytes"] = GaugeSnapshot(figures.state_bytes)
    return found
