"""Epochs as jobs of Spark: each is a query with a stage for each of the job's stages."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from pyspark import SparkContext, StorageLevel
from pyspark.sql import DataFrame

from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.protocol.epoch import EpochPlan, TaskAck
from millrace.spark.errors import jvm_answers
from millrace.spark.jobs.plan import anchor, job_plan, plain_input, run_plan
from millrace.spark.sessions.session import Workplace
from millrace.spark.shipping.provision import interpreter
from millrace.spark.shipping.shipped import ShippedJob
from millrace.spark.workers.stage import EPOCH_PROPERTY, ORDER_PROPERTY, Owners


class SparkJobs:
    """A ``Carrier``.

    :param owners: None: tasks run in Spark's workers themselves.
    :param python: the interpreter of the workers, None for that of the session.
    """

    def __init__(
        self,
        place: Workplace,
        job: JobGraph,
        shipped: ShippedJob,
        owners: Owners | None,
        python: str | None,
    ) -> None:
        self._place = place
        self._context = place.session.sparkContext
        self._job = job
        self._shipped = shipped
        self._owners = owners
        self._python = python
        self._anchors: dict[int, DataFrame] = {}
        self._frame: DataFrame | None = None
        self._running: str | None = None
        self._lock = threading.Lock()
        self._cancelled = False

    def prepared(self, plan: EpochPlan) -> EpochPlan:
        return plan

    def run(self, text: str, epoch: int) -> list[TaskAck]:
        context = self._context
        if self._frame is None:
            self._frame = self._plan()
        context.setLocalProperty(ORDER_PROPERTY, text)
        context.setLocalProperty(EPOCH_PROPERTY, str(epoch))
        tag = f"millrace-{self._job.job_id}-{epoch}"
        try:
            with self._tagged(tag):
                # A new query each time: one that runs again would answer from the shuffle files of its first time.
                return run_plan(self._frame.select("edge", "payload"))
        except BaseException:
            self._frame = None
            raise
        finally:
            for name in (ORDER_PROPERTY, EPOCH_PROPERTY):
                context.setLocalProperty(name, None)  # None unsets it

    def _plan(self) -> DataFrame:
        session, job = self._place.session, self._job
        with interpreter(self._context, self._python):
            if self._owners is None or self._place.local:
                return job_plan(plain_input(session, job), job, self._shipped, self._owners)
            for width in set(job.partitions) - set(self._anchors):
                self._anchors[width] = anchor(session, width).persist(StorageLevel.MEMORY_AND_DISK)
                self._anchors[width].count()
            return job_plan(self._anchors[job.partitions[0]], job, self._shipped, self._owners, self._anchors)

    @contextlib.contextmanager
    def _tagged(self, tag: str) -> Iterator[None]:
        """What Spark runs inside can be cancelled."""
        self._context.addJobTag(tag)
        with self._lock:
            self._running = tag
            if self._cancelled:
                self._context.cancelJobsWithTag(tag)
        try:
            yield
        finally:
            with self._lock:
                self._running = None
            self._context.removeJobTag(tag)

    def waits_for(self) -> str:
        return _running_tasks(self._context)

    def finish(self) -> None:
        """Tasks look for a file."""

    def break_off(self) -> None:
        with self._lock:
            if self._running is not None:
                self._context.cancelJobsWithTag(self._running)

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._running is not None:
                self._context.cancelJobsWithTag(self._running)

    def end(self) -> None:
        if not jvm_answers(self._context):
            return
        for frame in self._anchors.values():
            with contextlib.suppress(Exception):
                frame.unpersist()


def _running_tasks(context: SparkContext) -> str:
    """Which tasks of Spark have not ended."""
    found = []
    tracker = context.statusTracker()
    for number in tracker.getActiveStageIds():
        stage = tracker.getStageInfo(number)
        if stage is not None:
            found.append(
                f"{stage.numActiveTasks} running and {stage.numCompletedTasks} completed of {stage.numTasks} tasks "
                f"of Spark's stage {number}"
            )
    return ", ".join(found) or "Spark, which runs no task"
