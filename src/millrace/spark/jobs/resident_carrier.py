"""Runs epochs over connections that stay open (``millrace.epoch.execution: resident``).

One job of Spark runs from the start to the first failure: its tasks hold the cores, and the driver has a connection to
each subtask.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time

from pyspark import SparkContext
from pyspark.sql import DataFrame

from millrace.configuration import own_options as options
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.operators.job_graph import JobGraph
from millrace.spark.jobs.certificates import job_certificate
from millrace.spark.jobs.connections import ConnectionServer, EpochExchange, described
from millrace.spark.jobs.lasting_job import LastingJob, cores_of
from millrace.spark.sessions.session import Workplace, on_batches
from millrace.spark.workers.encryption import cut
from millrace.spark.workers.frames import OwnerReport, Request
from millrace.spark.workers.pipe import OwnerLostError
from millrace.spark.workers.provision import interpreter
from millrace.spark.workers.shipping import ShippedJob, digest
from millrace.spark.workers.stage import Owners, ResidentTask


class ResidentJob:
    """The Spark job whose tasks hold the cores, from the start of its tasks until one of them fails or the job is
    ended.

    :param tasks: the plan whose tasks connect to ``server``.
    :param tag: by which Spark's job is cancelled.
    """

    def __init__(
        self, context: SparkContext, job: JobGraph, server: ConnectionServer, tasks: DataFrame, tag: str
    ) -> None:
        self._job = job
        self._server = server
        self._lock = threading.Lock()
        self._links: list[socket.socket] = []
        self._rounds: EpochExchange | None = None
        self._over = False
        self._spark = LastingJob(context, tasks, tag, self.break_off)

    def holds(self) -> bool:
        """Whether all tasks are connected, or are still connecting for the first time."""
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
            if self._spark.error is not None:
                raise self._spark.error from None
            raise

    def _arrived(self) -> dict[tuple[int, int], socket.socket]:
        links = self._server.wait()
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
            return f"Spark to start {described(self._server.missing)}"
        return described(self._rounds.pending)

    def break_off(self) -> None:
        """Let those raise that wait for a task; to be called from any thread."""
        with self._lock:
            self._over = True
            _shut(self._links)
        self._server.close()

    def end(self) -> None:
        """Let the tasks leave; those that do not are cancelled."""
        self.break_off()
        self._spark.end()
        for link in self._links:
            link.close()


def _shut(links: list[socket.socket]) -> None:
    for link in links:
        cut(link)


ROOM_SECONDS = 60.0
"""How long a cluster may take until it has as many cores as a job needs at the same time."""
_LOOK_SECONDS = 0.1


class NoRoomError(ValueError):
    """Spark has fewer cores than the tasks of the job hold at the same time."""


class ResidentCarrier:
    """A carrier whose tasks stay: they hold as many cores as the widest stage has subtasks, from the first epoch on,
    and no epoch waits for Spark. After a failure new ones start.

    :param python: the interpreter of the workers, None for that of the session.
    :raises NoRoomError: Spark runs in one process, which has too few cores.
    :raises CertificateError: connections have to be encrypted, and there is no certificate for that.
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
        self._resident: ResidentJob | None = None
        self._lock = threading.Lock()
        self._cancelled = False
        self._broken_off = threading.Event()
        """the epoch that begins is not wanted"""
        self._tls = job_certificate(self._context)
        if place.local and cores_of(self._context) < self._width:
            raise self._no_room()

    def ready(self, epoch: int) -> str | None:
        return None

    def look(self, request: Request, patience: float) -> list[OwnerReport] | None:
        return None

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
        """Return the job whose tasks hold the cores; begin a new one if a task was lost. What has died since the last
        epoch is no failure, since new tasks find the state in files."""
        if self._resident is not None and not self._resident.holds():
            self._leave()
        return self._resident or self._begin(epoch)

    def _begin(self, epoch: int) -> ResidentJob:
        self._await_room()
        context, job = self._context, self._job
        tasks = [(stage, partition) for stage, width in enumerate(job.partitions) for partition in range(width)]
        server = ConnectionServer.of(context, tasks, tls=self._tls)
        task = ResidentTask(
            job.job_id, job.partitions, epoch, server.address, self._payload, digest(self._payload), self._owners
        )
        rows = self._session.range(0, self._width, 1, self._width)
        with interpreter(context, self._python), on_batches():
            plan = rows.mapInArrow(task, "id long", barrier=True)
        resident = ResidentJob(context, job, server, plan, f"millrace-{job.job_id}-stays-{epoch}")
        with self._lock:
            self._resident = resident
            broken_off = self._cancelled or self._broken_off.is_set()
        if broken_off:
            resident.break_off()
        return resident

    def _await_room(self) -> None:
        """Wait for the executors of a cluster that has just been started."""
        until = time.monotonic() + ROOM_SECONDS
        while cores_of(self._context) < self._width:
            if time.monotonic() > until:
                raise self._no_room()
            if self._cancelled or self._broken_off.wait(_LOOK_SECONDS):
                raise OwnerLostError("no task has been started")

    def _no_room(self) -> NoRoomError:
        cores = cores_of(self._context)
        return NoRoomError(
            f"{options.EPOCH_EXECUTION.key} is {options.RESIDENT}, so the job holds {self._width} cores at the same "
            f"time, as its widest stage has subtasks, and {self._context.master} has {cores}: give it more, or lower "
            f"the parallelism"
        )

    def waits_for(self) -> str:
        resident = self._resident
        if resident is None:
            return f"{self._width} cores of Spark"
        return resident.waits_for()

    def finish(self) -> None:
        """Does nothing: the tasks look for the file of ``FinishMarks`` themselves."""

    def break_off(self) -> None:
        self._broken_off.set()
        with self._lock:
            if self._resident is not None:
                self._resident.break_off()

    def _leave(self) -> None:
        with self._lock:
            resident, self._resident = self._resident, None
        if resident is not None:
            resident.end()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
        self.break_off()

    def end(self) -> None:
        self._leave()
