"""Epochs over connections that stay (``millrace.epoch.execution: resident``)."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from typing import Any

from pyspark import SparkContext

from millrace.datastream.settings import options
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.protocol.epoch import EpochPlan, TaskAck
from millrace.spark.owners.pipe import OwnerLostError
from millrace.spark.resident.posts import Posts
from millrace.spark.resident.reception import Reception
from millrace.spark.resident.residency import Residency
from millrace.spark.sessions.session import Workplace, one_machine
from millrace.spark.sessions.sparing import on_batches
from millrace.spark.shipping.provision import interpreter
from millrace.spark.shipping.shipped import ShippedJob, digest
from millrace.spark.workers.stage import Owners

ROOM_SECONDS = 60.0
"""How long a cluster may take until it has as many cores as a job needs at the same time."""
_LOOK_SECONDS = 0.1
_ENCRYPTED = ("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption", "spark.ssl.rpc.enabled")


class NoRoomError(ValueError):
    """Spark has fewer cores than the tasks of the job hold at the same time."""


class Residents:
    """A carrier whose tasks stay: they hold as many cores as the widest stage has subtasks, from the first epoch on,
    and no epoch waits for Spark. After a failure new ones start.

    :param python: the interpreter of the workers, None for that of the session.
    :raises NoRoomError: Spark runs in one process, which has too few cores.
    :raises ValueError: connections between the machines have to be encrypted.
    """

    def __init__(
        self,
        place: Workplace,
        job: JobGraph,
        shipped: ShippedJob,
        owners: Owners,
        python: str | None,
    ) -> None:
        self._session = place.session
        self._context = place.session.sparkContext
        self._job = job
        self._width = max(job.partitions)
        self._payload = shipped.encode()
        self._owners = owners
        self._python = python
        self._runs = itertools.count(1)
        self._residency: Residency | None = None
        self._lock = threading.Lock()
        self._cancelled = False
        self._broken_off = threading.Event()
        """the epoch that begins is not wanted"""
        _require_plain(self._context)
        if place.local and _cores(self._context) < self._width:
            raise self._no_room()

    def prepared(self, plan: EpochPlan) -> EpochPlan:
        return plan

    def run(self, text: str, epoch: int) -> list[TaskAck]:
        self._broken_off.clear()
        try:
            return self._staying(epoch).run(next(self._runs), text)
        except BaseException:
            self._leave()
            raise

    def _staying(self, epoch: int) -> Residency:
        """The tasks that stay. Whatever has died since the last epoch is no failure: they find their state in files."""
        if self._residency is not None and not self._residency.holds():
            self._leave()
        return self._residency or self._begin(epoch)

    def _begin(self, epoch: int) -> Residency:
        self._await_room()
        context, job = self._context, self._job
        tasks = [(stage, partition) for stage, width in enumerate(job.partitions) for partition in range(width)]
        reception = Reception.of(context, tasks)
        posts = Posts(
            job.job_id, job.partitions, epoch, reception.address, self._payload, digest(self._payload), self._owners
        )
        rows = self._session.range(0, self._width, 1, self._width)
        with interpreter(context, self._python), on_batches():
            plan = rows.mapInArrow(posts, "id long", barrier=True)
        residency = Residency(context, job, reception, plan, f"millrace-{job.job_id}-stays-{epoch}")
        with self._lock:
            self._residency = residency
            broken_off = self._cancelled or self._broken_off.is_set()
        if broken_off:
            residency.break_off()
        return residency

    def _await_room(self) -> None:
        """Wait for the executors of a cluster that has just been started."""
        until = time.monotonic() + ROOM_SECONDS
        while _cores(self._context) < self._width:
            if time.monotonic() > until:
                raise self._no_room()
            if self._cancelled or self._broken_off.wait(_LOOK_SECONDS):
                raise OwnerLostError("no task has been started")

    def _no_room(self) -> NoRoomError:
        return NoRoomError(
            f"{options.EPOCH_EXECUTION.key} is {options.RESIDENT}, so the job holds {self._width} cores at the same "
            f"time, as its widest stage has subtasks, and {self._context.master} has {_cores(self._context)}: give it "
            f"more, or lower the parallelism"
        )

    def waits_for(self) -> str:
        residency = self._residency
        if residency is None:
            return f"{self._width} cores of Spark"
        return residency.waits_for()

    def finish(self) -> None:
        """Tasks look for a file."""

    def break_off(self) -> None:
        self._broken_off.set()
        with self._lock:
            if self._residency is not None:
                self._residency.break_off()

    def _leave(self) -> None:
        with self._lock:
            residency, self._residency = self._residency, None
        if residency is not None:
            residency.end()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
        self.break_off()

    def end(self) -> None:
        self._leave()


def _cores(context: SparkContext) -> int:
    """How many tasks of Spark can run at the same time, be the cores free now or not."""
    spark: Any = context._jsc.sc()
    with contextlib.suppress(Exception):  # no public method; what is there has been the same since 3.1
        return int(spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile()))
    return int(context.defaultParallelism)


def _require_plain(context: SparkContext) -> None:
    settings = context.getConf()
    if one_machine(context.master):
        return
    for key in _ENCRYPTED:
        if (settings.get(key) or "false").strip().lower() == "true":
            raise ValueError(
                f"{key} is true, and {options.EPOCH_EXECUTION.key}={options.RESIDENT} sends packets between driver and "
                f"tasks without encryption: use {options.SPARK_JOBS} there"
            )
