"""Carriers bring an epoch to the tasks of a job and their acknowledgements back; here is chosen which one a job has.

``SparkJobs`` runs each epoch as a job of Spark: one linear query with a stage for each of the job's stages, joined by
packed exchanges. Some settings of Spark let tasks leave the executor that has their state; only a new SparkContext
takes them, so a job warns of them.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
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
from millrace.spark.jobs.resident_carrier import ResidentCarrier
from millrace.spark.sessions.session import Workplace, on_batches
from millrace.spark.workers.pipe import SCHEMA, SPARK_SCHEMA
from millrace.spark.workers.provision import interpreter
from millrace.spark.workers.shipping import ShippedJob, digest
from millrace.spark.workers.stage import EPOCH_PROPERTY, ORDER_PROPERTY, Owners, StageFunction

# What a carrier is


class Carrier(Protocol):
    """One job's, from its first epoch to its last; used by one thread but for what is said to be for others."""

    def prepared(self, plan: EpochPlan) -> EpochPlan:
        """The plan of the next epoch as its tasks get it."""

    def run(self, text: str, epoch: int) -> list[TaskAck]:
        """Run all tasks for an epoch.

        :param text: what ``Orders`` has published for it.
        """

    def waits_for(self) -> str:
        """What the epoch waits for that runs, in words; from another thread."""

    def finish(self) -> None:
        """Let the epoch that runs end soon, from another thread, if the carrier has a way of its own to say so."""

    def break_off(self) -> None:
        """Let ``run`` raise, from another thread."""

    def cancel(self) -> None:
        """Break the epoch off that runs, from another thread; no other one will run."""

    def end(self) -> None:
        """The job is over."""


# Where tasks run

REDUCE_LOCALITY = "spark.shuffle.reduceLocality.enabled"
WAIT = "spark.locality.wait"
WAIT_PROCESS = "spark.locality.wait.process"


def warning_about(setting: Callable[[str], str | None], exchanges: bool) -> str | None:
    """What is to be said about a cluster's settings, if anything.

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


def plain_input(session: SparkSession, job: JobGraph) -> DataFrame:
    """One row for every task of stage 0."""
    width = job.partitions[0]
    return session.range(0, width, 1, width)


def anchor(session: SparkSession, width: int) -> DataFrame:
    """A frame to be cached, with a row in each partition: Spark runs what is joined with it where its blocks lie, so a
    task comes back to the executor that it was on. If the executor is lost, the block is made again on another one."""
    return session.range(0, width, 1, width).select(f.col("id").cast("int").alias(SLOT)).repartitionById(width, SLOT)


def job_plan(
    source: DataFrame,
    job: JobGraph,
    shipped: ShippedJob,
    owners: Owners | None,
    anchors: Mapping[int, DataFrame] | None = None,
) -> DataFrame:
    """All stages over ``source``; its rows are the acknowledgements.

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


# The choice

logger = logging.getLogger("millrace")

IDLE_SECONDS = 1_800.0
"""How long owners stay that nobody asks for: those of a job whose driver was lost on another machine."""


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
) -> Carrier:
    """The carrier that ``millrace.epoch.execution`` names. A job of which nothing lasts beyond its only epoch, in batch
    mode, is a job of Spark in any case.

    :param lasting: whether tasks live in owners.
    :param cancel_ms: how long a run may go on when a newer one of its task has begun; 0: no limit.
    :param epoch_seconds: how long an epoch in flow takes from its first record on.
    :param bounded: whether the job comes to an end by itself.
    :param given: takes what tasks in flow have to show while their epoch goes on.
    :raises ValueError: it cannot be had on this Spark.
    """
    if not lasting:
        return SparkJobs(place, job, shipped, None, python)
    owners = Owners(_cores_of_executors(place), IDLE_SECONDS, cancel_ms / 1000)
    if execution == options.FLOW:
        return FlowCarrier(place, job, shipped, owners, python, epoch_seconds, bounded, given)
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
    key, instead = options.EPOCH_EXECUTION.key, options.SPARK_JOBS
    logger.warning("job %r: its epochs are %s, not %s (%s): %s", job.name, instead, options.FLOW, key, why)
    return instead


def _why_no_flow(place: Workplace, job: JobGraph) -> str | None:
    """Why a job can't be in flow; None: it can."""
    if not place.local:
        return f"{place.session.sparkContext.master} is more than one process"
    loop = next((info for info in job.operators if isinstance(info.spec, Iterate)), None)
    return None if loop is None else f"{loop.name!r}, made at {loop.origin}, is a loop"


def _cores_of_executors(place: Workplace) -> int:
    """0: as many as their machines have."""
    context = place.session.sparkContext
    if place.local:
        return int(context.defaultParallelism)
    return int(context.getConf().get("spark.executor.cores") or 0)
