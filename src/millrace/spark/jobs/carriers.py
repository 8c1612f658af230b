"""Carriers bring the orders of an epoch to the tasks of a job, and the tasks' acknowledgements back to the driver.

``make_carrier`` chooses the carrier of a job. ``SparkJobs`` runs each epoch as a job of Spark: one linear query with a
stage for each of the job's stages, joined by packed exchanges. Some settings of Spark let tasks leave the executor that
has their state; only a new SparkContext can change these settings, so ``warning_about`` words a warning.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from pyspark import SparkContext, StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millrace.configuration import own_options as options
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.exchange.exchange import ACK
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.operators.specs import Iterate
from millrace.spark.errors import jvm_answers
from millrace.spark.jobs.flow_carrier import FlowCarrier, LiveOutput
from millrace.spark.jobs.flow_places import HeldPlaces, LocalPlaces, Places
from millrace.spark.jobs.resident_carrier import ResidentCarrier
from millrace.spark.sessions.session import Workplace, on_batches
from millrace.spark.workers.frames import OwnerReport, Request
from millrace.spark.workers.pipe import SCHEMA, SPARK_SCHEMA
from millrace.spark.workers.provision import interpreter
from millrace.spark.workers.shipping import ShippedJob, digest
from millrace.spark.workers.stage import EPOCH_PROPERTY, ORDER_PROPERTY, Owners, StageFunction
from millrace.util.threads import JobThread

# What a carrier is


class Carrier(Protocol):
    """Runs the epochs of one job. Only the driver's thread calls it, except for the methods that say "from another
    thread"."""

    def ready(self, epoch: int) -> str | None:
        """Get what the epochs need; called once, before the first one.

        :return: why it cannot be had on this Spark; None: it is there, or each epoch sees to that.
        """

    def prepared(self, plan: EpochPlan) -> EpochPlan:
        """Return the plan of the next epoch in the form that the carrier's tasks get."""

    def run(self, text: str, epoch: int) -> list[TaskAck]:
        """Run all tasks for an epoch.

        :param text: what ``Orders`` has published for it.
        """

    def waits_for(self) -> str:
        """Say in words what the running epoch waits for; called from another thread."""

    def look(self, request: Request, patience: float) -> list[OwnerReport] | None:
        """Ask the processes of the tasks, on other machines, what their threads do; called from another thread.

        :param patience: seconds that a process has to answer, beyond the time that it is to watch.
        :return: None: the carrier has no connections to them.
        """

    def finish(self) -> None:
        """Let the running epoch end soon, if the carrier can tell its tasks to; called from another thread."""

    def break_off(self) -> None:
        """Make ``run`` raise; called from another thread."""

    def cancel(self) -> None:
        """Break off the running epoch and let no other one run; called from another thread."""

    def end(self) -> None:
        """Release what the carrier holds: the job is over."""


# Where tasks run

REDUCE_LOCALITY = "spark.shuffle.reduceLocality.enabled"
WAIT = "spark.locality.wait"
WAIT_PROCESS = "spark.locality.wait.process"


def warning_about(setting: Callable[[str], str | None], exchanges: bool) -> str | None:
    """Return a warning about a cluster's settings that let tasks lose their state; None: the settings are fine.

    :param setting: gives the value of a setting; None: it is not set.
    :param exchanges: whether a job has tasks that read what others have sent.
    """
    found = []
    if exchanges and (setting(REDUCE_LOCALITY) or "true").strip().lower() == "true":
        found.append((f"{REDUCE_LOCALITY} is true", f"{REDUCE_LOCALITY}=false"))
    for name in (WAIT_PROCESS, WAIT):
        value = setting(name)
        if value is not None:
            if _is_nothing(value):
                found.append((f"{name} is {value}", f"{name}=3s"))
            break  # the first one that is set counts
    if not found:
        return None
    facts, remedies = (" and ".join(texts) for texts in zip(*found))
    return (
        f"{facts}, so tasks may leave the executor that has their state, and read it from files elsewhere (metric "
        f"numTaskMoves): begin the Spark application with {remedies}, or let Millrace begin it (millrace.master)"
    )


def _is_nothing(duration: str) -> bool:
    return duration.strip().lower().rstrip("abcdefghijklmnopqrstuvwxyz ") in ("0", "")


# Epochs as jobs of Spark

SLOT = "slot"
CANCEL_SECONDS = 0.2
"""Seconds between two attempts to cancel a job of Spark."""


def plain_input(session: SparkSession, job: JobGraph) -> DataFrame:
    """A frame with one row, in a partition of its own, for every task of stage 0."""
    width = job.partitions[0]
    return session.range(0, width, 1, width)


def anchor(session: SparkSession, width: int) -> DataFrame:
    """A frame to be cached, with one row in each of ``width`` partitions. Spark runs what is joined with the frame
    where the frame's blocks lie, so a task comes back to the executor that it was on. If the executor is lost, Spark
    makes the block again on another one."""
    return session.range(0, width, 1, width).select(f.col("id").cast("int").alias(SLOT)).repartitionById(width, SLOT)


def job_plan(
    source: DataFrame,
    job: JobGraph,
    shipped: ShippedJob,
    owners: Owners | None,
    anchors: Mapping[int, DataFrame] | None = None,
) -> DataFrame:
    """Build the query that runs all stages over ``source``; its rows are the acknowledgements.

    :param anchors: number of partitions -> what holds its tasks on their executors.
    """
    frame, payload = source, shipped.encode()
    name = digest(payload)
    for stage, width in enumerate(job.partitions):
        if stage:
            frame = frame.repartitionById(width, "target")
            if anchors is not None:
                frame = _held(frame, anchors[width])
        with on_batches():
            frame = frame.mapInArrow(StageFunction(job.job_id, stage, payload, name, owners), SPARK_SCHEMA)
    return frame.select("edge", "payload")


def _held(frame: DataFrame, anchor: DataFrame) -> DataFrame:
    # Both sides are partitioned by these columns, so nothing is shuffled again. A packet on its way to a later stage
    # may match no row: it stays, too. The hint keeps Spark from sorting packets.
    joined = frame.join(anchor.hint("shuffle_hash"), f.col("target") == f.col(SLOT), "left")
    return joined.select(*SCHEMA.names)


def run_plan(frame: DataFrame) -> list[TaskAck]:
    """Run one epoch: one Spark action."""
    return [TaskAck.decode(bytes(row.payload)) for row in frame.collect() if row.edge == ACK]


class SparkJobs:
    """The ``Carrier`` that runs each epoch as one job of Spark.

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

    def ready(self, epoch: int) -> str | None:
        return None

    def look(self, request: Request, patience: float) -> list[OwnerReport] | None:
        return None

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
        """Tag the jobs that Spark runs inside the block, so that ``break_off`` and ``cancel`` can cancel them."""
        self._context.addJobTag(tag)
        with self._lock:
            self._running = tag
            cancelled = self._cancelled
        if cancelled:
            self.break_off()
        try:
            yield
        finally:
            with self._lock:
                self._running = None
            self._context.removeJobTag(tag)

    def waits_for(self) -> str:
        return _running_tasks(self._context)

    def finish(self) -> None:
        """Does nothing: the tasks look for the file of ``FinishMarks`` themselves."""

    def break_off(self) -> None:
        with self._lock:
            tag = self._running
        if tag is not None:
            JobThread(target=self._cancel_until_it_ends, args=(tag,), name="millrace-cancelling", daemon=True).start()

    def _cancel_until_it_ends(self, tag: str) -> None:
        """Cancel Spark's jobs with a tag again and again: Spark may not have heard of them yet."""
        while True:
            with self._lock:
                if self._running != tag:
                    return
                with contextlib.suppress(Exception):  # the JVM may be gone, and then the run ends by that
                    self._context.cancelJobsWithTag(tag)
            time.sleep(CANCEL_SECONDS)

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
        self.break_off()

    def end(self) -> None:
        if not jvm_answers(self._context):
            return
        for frame in self._anchors.values():
            with contextlib.suppress(Exception):
                frame.unpersist()


def _running_tasks(context: SparkContext) -> str:
    """Say in words how many tasks of Spark's active stages are running and completed."""
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


# The choice

logger = logging.getLogger("millrace")

IDLE_SECONDS = 1_800.0
"""Seconds after which owners end that have had no request: those of a job whose driver was lost on another machine."""


def make_carrier(
    execution: str,
    place: Workplace,
    job: JobGraph,
    shipped: ShippedJob,
    lasting: bool,
    python: str | None,
    cancel_ms: int,
    epoch_seconds: float,
    bounded: bool,
    given: LiveOutput,
    ports: Sequence[int],
    lease_ms: int,
) -> Carrier:
    """Make the carrier that ``millrace.epoch.execution`` names. A batch job that needs nothing of its tasks after its
    only epoch runs as a job of Spark in any case.

    :param lasting: whether tasks live in owners.
    :param cancel_ms: how long a run may go on when a newer one of its task has begun; 0: no limit.
    :param epoch_seconds: how long it takes in flow from the end of one epoch to that of the next one.
    :param bounded: whether the job comes to an end by itself.
    :param given: takes what tasks in flow have to show while their epoch goes on.
    :param ports: where driver and tasks in flow listen on a cluster; 0: any free port.
    :param lease_ms: how long they go on there without a word from each other.
    :raises ValueError: it cannot be had on this Spark.
    """
    if not lasting:
        return SparkJobs(place, job, shipped, None, python)
    owners = Owners(_cores_of_executors(place), IDLE_SECONDS, cancel_ms / 1000)
    if execution == options.FLOW:
        places: Places
        if place.local:
            places = LocalPlaces(place, job, shipped, owners, python)
        else:
            places = HeldPlaces(place, job, shipped, owners, python, ports, lease_ms / 1000)
        return FlowCarrier(job, places, epoch_seconds, bounded, given)
    if execution == options.RESIDENT:
        return ResidentCarrier(place, job, shipped, owners, python)
    return SparkJobs(place, job, shipped, owners, python)


def chosen(execution: str, place: Workplace, job: JobGraph) -> str:
    """What carries the epochs of a job for which ``execution`` is wanted: ``resident`` is flow where that can be."""
    if execution == options.SPARK_JOBS:
        return execution
    why = _why_no_flow(place, job)
    if why is None:
        return options.FLOW
    if execution == options.RESIDENT:
        return execution
    logger.warning("%s", not_in_flow(job, why))
    return options.SPARK_JOBS


def not_in_flow(job: JobGraph, why: str) -> str:
    """Say in one line that the epochs of a job are jobs of Spark, and why."""
    key, instead = options.EPOCH_EXECUTION.key, options.SPARK_JOBS
    return f"job {job.name!r}: its epochs are {instead}, not {options.FLOW} ({key}): {why}"


_DYNAMIC = "spark.dynamicAllocation.enabled"


def _why_no_flow(place: Workplace, job: JobGraph) -> str | None:
    """Say why a job cannot run in flow; None: it can."""
    dynamic = place.session.sparkContext.getConf().get(_DYNAMIC) or "false"
    if not place.local and dynamic.strip().lower() == "true":
        return f"{_DYNAMIC} is true, and Spark holds no cores for tasks that last then"
    loop = next((info for info in job.operators if isinstance(info.spec, Iterate)), None)
    return None if loop is None else f"{loop.name!r}, made at {loop.origin}, is a loop"


def _cores_of_executors(place: Workplace) -> int:
    """The number of cores of an executor; 0: as many as its machine has."""
    context = place.session.sparkContext
    if place.local:
        return int(context.defaultParallelism)
    return int(context.getConf().get("spark.executor.cores") or 0)
