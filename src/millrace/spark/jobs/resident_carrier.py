"""Epochs over connections that stay (``millrace.epoch.execution: resident``).

One job of Spark stays: it holds the places, and the driver has connections to its tasks, from the start to the first
failure.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.util import InheritableThread

from millrace.configuration import own_options as options
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.operators.job_graph import JobGraph
from millrace.spark.jobs.connections import ConnectionServer, EpochExchange, described
from millrace.spark.sessions.session import Workplace, on_batches
from millrace.spark.sessions.settings import one_machine
from millrace.spark.workers.pipe import OwnerLostError
from millrace.spark.workers.provision import interpreter
from millrace.spark.workers.shipping import ShippedJob, digest
from millrace.spark.workers.stage import Owners, ResidentTask

END_SECONDS = 2.0
"""How long Spark's tasks have to leave by themselves: one may hang in a function."""


class ResidentJob:
    """From the start of its tasks until one of them fails, or it is ended.

    :param posts: the plan whose tasks connect to ``reception``.
    :param tag: by which Spark's job is cancelled.
    """

    def __init__(
        self, context: SparkContext, job: JobGraph, reception: ConnectionServer, posts: DataFrame, tag: str
    ) -> None:
        self._context = context
        self._job = job
        self._reception = reception
        self._tag = tag
        self._lock = threading.Lock()
        self._links: list[socket.socket] = []
        self._rounds: EpochExchange | None = None
        self._over = False
        self._error: BaseException | None = None
        """what Spark's job has failed with"""
        self._thread = InheritableThread(target=self._stay, args=(posts,), name="millrace-residency", daemon=True)
        self._thread.start()

    def _stay(self, posts: DataFrame) -> None:
        """On a thread of its own: Spark's job, from its first task to its last."""
        self._context.addJobTag(self._tag)
        try:
            posts.collect()
        except BaseException as error:
            self._error = error
        finally:
            with contextlib.suppress(Exception):  # the JVM may be gone
                self._context.removeJobTag(self._tag)
            self.break_off()

    def holds(self) -> bool:
        """Whether all tasks are there, or on their way."""
        with self._lock:
            over = self._over
        return not over and (self._rounds is None or self._rounds.intact())

    def run(self, run: int, text: str) -> list[TaskAck]:
        """One epoch, see ``Rounds.run``.

        :raises OwnerLostError: a task has not come to its end. Whatever Spark raised, if its job has failed.
        """
        try:
            if self._rounds is None:
                self._rounds = EpochExchange(self._job, self._arrived())
            return self._rounds.run(run, text)
        except OwnerLostError:
            if self._error is not None:
                raise self._error from None
            raise

    def _arrived(self) -> dict[tuple[int, int], socket.socket]:
        links = self._reception.wait()
        if links is None:
            raise OwnerLostError("Spark's job that holds the places of the tasks has ended")
        with self._lock:
            self._links = list(links.values())
            if self._over:
                _shut(self._links)
        return links

    def waits_for(self) -> str:
        """What an epoch waits for, in words."""
        if self._rounds is None:
            return f"Spark to start {described(self._reception.missing)}"
        return described(self._rounds.pending)

    def break_off(self) -> None:
        """Let those raise that wait for a task; to be called from any thread."""
        with self._lock:
            self._over = True
            _shut(self._links)
        self._reception.close()

    def end(self) -> None:
        """Let the tasks leave; those that do not are cancelled."""
        self.break_off()
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            with contextlib.suppress(Exception):
                self._context.cancelJobsWithTag(self._tag)
        for link in self._links:
            link.close()


def _shut(links: list[socket.socket]) -> None:
    for link in links:
        with contextlib.suppress(OSError):
            link.shutdown(socket.SHUT_RDWR)


ROOM_SECONDS = 60.0
"""How long a cluster may take until it has as many cores as a job needs at the same time."""
_LOOK_SECONDS = 0.1
_ENCRYPTED = ("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption", "spark.ssl.rpc.enabled")


class NoRoomError(ValueError):
    """Spark has fewer cores than the tasks of the job hold at the same time."""


class ResidentCarrier:
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
        self._residency: ResidentJob | None = None
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

    def _staying(self, epoch: int) -> ResidentJob:
        """The tasks that stay. Whatever has died since the last epoch is no failure: they find their state in files."""
        if self._residency is not None and not self._residency.holds():
            self._leave()
        return self._residency or self._begin(epoch)

    def _begin(self, epoch: int) -> ResidentJob:
        self._await_room()
        context, job = self._context, self._job
        tasks = [(stage, partition) for stage, width in enumerate(job.partitions) for partition in range(width)]
        reception = ConnectionServer.of(context, tasks)
        posts = ResidentTask(
            job.job_id, job.partitions, epoch, reception.address, self._payload, digest(self._payload), self._owners
        )
        rows = self._session.range(0, self._width, 1, self._width)
        with interpreter(context, self._python), on_batches():
            plan = rows.mapInArrow(posts, "id long", barrier=True)
        residency = ResidentJob(context, job, reception, plan, f"millrace-{job.job_id}-stays-{epoch}")
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
