"""All metrics of a job at one moment: those of its operators, of its tasks, and of the job itself, by Flink's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from millrace.common.jobs.job_status import JobStatus
from millrace.metrics.report import MetricEntry, MetricsReport
from millrace.metrics.snapshot import CounterSnapshot, GaugeSnapshot, MeterSnapshot, MetricSnapshot
from millrace.runtime.coordination.checkpoint_log import CheckpointLog, CheckpointStatus
from millrace.runtime.coordination.figures import Figures, SubtaskFigures
from millrace.runtime.coordination.history import JobHistory
from millrace.runtime.coordination.job_metrics import WORKERS, JobMetrics
from millrace.runtime.coordination.load import Place
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.jobs.job import JobGraph

STATES = ("CREATED", "RUNNING", "RESTARTING", "FAILING", "CANCELLING")
"""States of a job whose time is measured (``runningTime``, ``runningTimeTotal``, ...)."""
RATE_SECONDS = 5
NONE = -1
"""What Flink gives for the figures of a checkpoint where there is none."""


class JobReporter:
    """Puts together what others count. May be called from any thread.

    :param clock: gives ms.
    :param restarts: how often the job was restarted.
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
        """All metrics as they are now."""
        known = self._figures.all()
        of_operators = (self._placed(entry, known) for entry in self._metrics.report())
        return MetricsReport((*of_operators, *self.of_job(), *self._of_tasks(known)))

    def _placed(self, entry: MetricEntry, known: Mapping[Place, SubtaskFigures]) -> MetricEntry:
        """With the worker that its subtask was on last."""
        if entry.uid is None or entry.subtask is None:
            return entry
        worker = known[self._vertices[entry.uid], entry.subtask].worker
        if worker is None:
            return entry
        return replace(entry, variables=entry.variables | {"<host>": worker.host, "<tm_id>": worker.executor})

    def of_job(self) -> Iterator[MetricEntry]:
        """Those of the job alone that are not counted epoch by epoch."""
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
    """How long a job has been in which state (ms), and how often it was restarted."""
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
