"""A batch query, or the inserts of a statement set, as a job with a client, and how far Spark has come with its
stages.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark import SparkContext

from millrace.common.jobs import CompletableFuture, JobStatus
from millrace.metrics.report import CounterSnapshot, GaugeSnapshot, MetricEntry
from millrace.metrics.reporters.scheduling import Reporters
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.history import JobHistory
from millrace.runtime.coordination.job_metrics import job_times
from millrace.spark.jobs.client import POLL_SECONDS, JobCancelledError, LocalJobClient
from millrace.spark.jobs.listeners import JobStarted, get_listener, left_out
from millrace.spark.tables.child_session import active
from millrace.spark.tables.steps.context import Context
from millrace.util.skipped import SKIPPED_METRIC

if TYPE_CHECKING:
    from millrace.metrics.report import MetricsReport


@dataclass(frozen=True)
class StageCount:
    """A stage of Spark that has begun, and its tasks."""

    id: int
    name: str
    tasks: int
    active: int
    done: int


def stages_of(context: SparkContext, group: str) -> list[StageCount]:
    """The stages of all jobs of a group that Spark still remembers, in the order in which they were made."""
    tracker = context.statusTracker()
    found: dict[int, StageCount] = {}
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in () if info is None else info.stageIds:
            told = tracker.getStageInfo(stage)
            if told is not None:
                done = min(told.numCompletedTasks, told.numTasks)
                active = min(told.numActiveTasks, told.numTasks - done)
                found[stage] = StageCount(stage, told.name, told.numTasks, active, done)
    return [found[stage] for stage in sorted(found)]


logger = logging.getLogger("millrace")


class BatchJobClient(LocalJobClient):
    """One job. What Spark runs for it is one job group, named by the job's id.

    :param work: does it all, on the thread of the job.
    """

    def __init__(self, context: Context, work: Callable[[], Any]) -> None:
        super().__init__(context.job_id)
        self.context = context
        self.history = JobHistory(now_millis)
        self._spark = context.session.sparkContext
        self._work = work
        self.web_page: str | None = self._spark.uiWebUrl
        self._stages: list[StageCount] = []
        self._cancelled = threading.Event()
        self._outcome: Any = None
        self._listener = get_listener()
        self._reporters = Reporters(context.surroundings.configuration, context.job_name, self._entries)

    def outcome(self) -> Any:
        """What ``work`` has returned. Waits for it, and raises what it has raised."""
        with self.ended_by_ctrl_c():
            while not self._result.done():
                self._thread.join(POLL_SECONDS)
        self._result.result()
        return self._outcome

    def _drive(self) -> None:
        context = self.context
        self._listener.started(JobStarted(context.job_id, context.job_name, self.web_page, None))
        if not self._cancelled.is_set():
            self.history.enter(JobStatus.RUNNING)
        try:
            self._reporters.open()
            self._spark.setJobGroup(context.job_id, context.job_name, interruptOnCancel=True)
            with active(context.session):
                self._outcome = self._work()
            self.history.enter(JobStatus.FINISHED)
        except BaseException as error:
            if not self._cancelled.is_set():
                self.history.failed(error, 0)
                self.history.enter(JobStatus.FAILED)
                raise error
            self.history.enter(JobStatus.CANCELED)
            raise JobCancelledError(f"job {context.job_name!r} ({context.job_id}) was cancelled") from None
        finally:
            self._reporters.close()
            self._warn_of_left_out()
            self._listener.ended(self.history.status)

    def _warn_of_left_out(self) -> None:
        """Rows that are missing in the results are no secret, as of a streaming job."""
        counted = (entry.value for entry in self.get_metrics() if entry.path == (SKIPPED_METRIC,))
        skipped = sum(value.count for value in counted if isinstance(value, CounterSnapshot))
        if skipped:
            logger.warning("job %r is %s%s", self.context.job_name, self.history.status.name, left_out(skipped, 0))

    def _status(self) -> JobStatus:
        return self.history.status

    def _stop(self) -> None:
        self._cancelled.set()
        if not self.history.status.is_globally_terminal_state():
            self.history.enter(JobStatus.CANCELLING)
            with contextlib.suppress(Exception):  # Spark may be gone, which ends the job, too
                self._spark._jsc.sc().cancelJobGroupAndFutureJobs(self.context.job_id)

    def stages(self) -> list[StageCount]:
        """The stages that Spark has begun; those that it has told of last, if it is gone."""
        with contextlib.suppress(Exception):
            self._stages = stages_of(self._spark, self.context.job_id)
        return self._stages

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """None: functions of tables cannot have any."""
        return CompletableFuture.of({})

    def get_metrics(self) -> MetricsReport:
        """What functions have counted in tasks that have ended."""
        assert self.context.metrics is not None, "the context is that of a job"
        return self.context.metrics.report(self.context.job_id, self.context.job_name)

    def _entries(self) -> Iterator[MetricEntry]:
        """What reporters report: what functions have counted, and the times of the job."""
        yield from self.get_metrics()
        context = self.context
        job = {"<host>": socket.gethostname(), "<job_id>": context.job_id, "<job_name>": context.job_name}
        for name, value in job_times(self.history, 0).items():
            yield MetricEntry((name,), GaugeSnapshot(value), job)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """:raises ValueError: batch mode has no savepoints."""
        self._refuse_savepoint()

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """:raises ValueError: batch mode has no savepoints."""
        self._refuse_savepoint()

    def _refuse_savepoint(self) -> NoReturn:
        name = self.context.job_name
        raise ValueError(f"job {name!r} runs in batch mode, which has no savepoints: use streaming mode")
