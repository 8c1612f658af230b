"""Where the owners of a job in flow are placed, and how.

On a master that is one process no core is held: one small job of Spark starts the owners and ends (``LocalPlaces``). On
a cluster a barrier stage that lasts holds the cores of the owners (``HeldPlaces``).
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Protocol
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import DataFrame

from millrace.runtime.operators.job_graph import JobGraph
from millrace.spark.jobs.certificates import job_certificate
from millrace.spark.jobs.connections import ConnectionServer, ends_of, links_of
from millrace.spark.jobs.lasting_job import LastingJob, cores_of, running_tasks
from millrace.spark.sessions.session import Workplace, on_batches
from millrace.spark.workers.encryption import Certificate, Link
from millrace.spark.workers.pipe import OwnerLostError
from millrace.spark.workers.provision import interpreter
from millrace.spark.workers.shipping import ShippedJob, digest
from millrace.spark.workers.stage import HeldOwners, LocalOwners, Owners

YOUNG_SECONDS = 30.0
"""Age of a SparkContext (s) up to which executors may still be on their way."""
SLOT_SECONDS = 10.0
"""Seconds that Spark has to start the tasks that hold the cores of a job."""
EXECUTOR_SECONDS = 60.0
"""The most seconds that executors of a cluster may take to register, each within ``SLOT_SECONDS`` of the one before."""
PROCESS_SECONDS = 60.0
"""The most seconds that processes take to start and to reach the driver once Spark has started its tasks."""
_LOOK_SECONDS = 0.1
_PAUSE_SECONDS = 0.5
"""Seconds between two attempts to place owners."""


class NoSlotsError(Exception):
    """The owners of a job are not there in time.

    :param answered: number of Spark's tasks whose owners have come.
    """

    def __init__(self, text: str, answered: int) -> None:
        super().__init__(text)
        self.answered = answered


class Places(Protocol):
    """Places the owners of one job. Only ``break_off`` and ``waits_for`` may be called from other threads."""

    lease_seconds: float
    """seconds that owners and driver go on without a word from each other; 0: the death of one is seen at once"""
    on_loss: Callable[[], None]
    """is called on another thread when cores are not held any more, so that owners may be lost"""

    def first(self, epoch: int) -> Sequence[Link]:
        """Place the owners before the first epoch: connections to all of them, in the order of their numbers.

        :raises NoSlotsError: Spark has no room for them.
        :raises CertificateError: see ``job_certificate``.
        :raises OwnerLostError: the attempt was broken off.
        """

    def again(self, epoch: int) -> Sequence[Link]:
        """Place the owners after a failure; waits for room.

        :raises OwnerLostError: the attempt was broken off.
        """

    def waits_for(self) -> str:
        """Say in words what the placing waits for."""

    def break_off(self) -> None:
        """Let the method raise that waits for owners."""

    def cancel(self) -> None:
        """Let that method raise, now and later."""

    def leave(self) -> None:
        """Release what the owners hold. All connections to them are closed."""


def _nothing() -> None:
    """No core is held, so none is lost."""


class LocalPlaces:
    """Owners on this machine: as many as processors, none of which is held."""

    lease_seconds = 0.0

    def __init__(
        self, place: Workplace, job: JobGraph, shipped: ShippedJob, owners: Owners, python: str | None
    ) -> None:
        self.on_loss = _nothing
        self._session = place.session
        self._context = place.session.sparkContext
        self._job_id = job.job_id
        self._number = min(len(os.sched_getaffinity(0)), max(job.partitions))
        self._payload = shipped.encode()
        self._owners = owners
        self._python = python
        self._lock = threading.Lock()
        self._reception: ConnectionServer | None = None

    def first(self, epoch: int) -> Sequence[Link]:
        return self.again(epoch)

    def again(self, epoch: int) -> Sequence[Link]:
        reception = ConnectionServer.of(self._context, ends_of(self._number, None))
        with self._lock:
            self._reception = reception
        name = digest(self._payload)
        placing = LocalOwners(self._job_id, self._number, epoch, reception.address, self._payload, name, self._owners)
        rows = self._session.range(0, 1, 1, 1)
        with interpreter(self._context, self._python), on_batches():
            rows.mapInArrow(placing, "id long").collect()
        found = reception.wait()
        if found is None:
            raise OwnerLostError("the job was broken off before its owners were there")
        return links_of(self._number, found)

    def waits_for(self) -> str:
        return "Spark to place the owners of the job"

    def break_off(self) -> None:
        with self._lock:
            if self._reception is not None:
                self._reception.close()

    def cancel(self) -> None:
        self.break_off()

    def leave(self) -> None:
        self.break_off()


class HeldCores:
    """The cores that jobs of this driver hold on one Spark, by the job's name, for messages."""

    _of_context: WeakKeyDictionary[SparkContext, HeldCores] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, int]] = {}

    @classmethod
    def of(cls, context: SparkContext) -> HeldCores:
        return cls._of_context.setdefault(context, cls())

    def hold(self, job: JobGraph, cores: int) -> None:
        self._held[job.job_id] = (job.name, cores)

    def release(self, job: JobGraph) -> None:
        self._held.pop(job.job_id, None)

    def beside(self, job: JobGraph) -> str:
        """Say in words which other jobs hold cores; empty: none does."""
        others = [each for job_id, each in list(self._held.items()) if job_id != job.job_id]
        return " and ".join(f"job {name!r} holds {cores}" for name, cores in others)


class HeldPlaces:
    """Owners on the executors of a cluster, each with a core that a task of Spark holds for it. One core of Spark's is
    never held, so that other jobs, batch queries and questions to executors get on; the owners are as many as cores.

    :param ports: where owners and driver listen; 0: any free port.
    :param lease_seconds: see ``Places``.
    """

    def __init__(
        self,
        place: Workplace,
        job: JobGraph,
        shipped: ShippedJob,
        owners: Owners,
        python: str | None,
        ports: Sequence[int],
        lease_seconds: float,
    ) -> None:
        self.lease_seconds = lease_seconds
        self.on_loss = _nothing
        self._session = place.session
        self._context = place.session.sparkContext
        self._job = job
        self._width = max(job.partitions)
        self._payload = shipped.encode()
        self._owners = owners
        self._python = python
        self._ports = tuple(ports)
        self._held = HeldCores.of(self._context)
        self._lock = threading.Lock()
        self._tries = itertools.count(1)
        self._try = 0
        """number of the latest attempt to place the owners"""
        self._reception: ConnectionServer | None = None
        self._spark: LastingJob | None = None
        self._broken_off = threading.Event()
        self._cancelled = False
        self._usual = 0
        """cores that Spark had when the owners were placed last"""
        self._waiting = "executors of Spark"

    @cached_property
    def _tls(self) -> Certificate | None:
        return job_certificate(self._context)

    def first(self, epoch: int) -> Sequence[Link]:
        young = time.time() - self._context.startTime / 1000 < YOUNG_SECONDS
        return self._place(epoch, self._await_cores(self._width if young else 1))

    def again(self, epoch: int) -> Sequence[Link]:
        self._broken_off.clear()
        cores = self._await_cores(self._usual)
        while True:
            try:
                return self._place(epoch, cores)
            except NoSlotsError as error:
                answered = error.answered
            self._wait(_PAUSE_SECONDS)
            cores = cores_of(self._context)
            if answered:  # Spark may have placed the others on an executor that does not answer any more
                cores = min(cores, answered + 1)

    def _await_cores(self, wanted: int) -> int:
        """Wait for executors that come with a cluster that has just been started, or in place of lost ones; returns
        the number of cores that Spark has: fewer than wanted if no more come."""
        began = changed = time.monotonic()
        cores = cores_of(self._context)
        while cores < wanted:
            now = time.monotonic()
            if now - began > EXECUTOR_SECONDS or (cores and now - changed > SLOT_SECONDS):
                break
            self._waiting = f"executors of Spark: it has {cores} cores, and the job wants {wanted}"
            self._wait(_LOOK_SECONDS)
            before, cores = cores, cores_of(self._context)
            changed = now if cores != before else changed
        return cores

    def _wait(self, seconds: float) -> None:
        if self._broken_off.wait(seconds) or self._cancelled:
            raise OwnerLostError("no task has been started")

    def _place(self, epoch: int, cores: int) -> Sequence[Link]:
        """Let Spark start the tasks that hold the cores; returns the connections to the owners."""
        tasks, number = self._tasks(cores), min(self._width, cores)
        if tasks < 1:
            raise NoSlotsError(f"{self._context.master} has {cores} cores, one of which is left for other work", 0)
        reception = ConnectionServer.of(self._context, ends_of(number, self._tls), self._ports, self._tls)
        self._waiting = f"Spark to start {tasks} tasks that hold its cores, of which it has {cores}"
        with self._lock:
            self._reception = reception
            self._try = attempt = next(self._tries)
        if self._broken_off.is_set() or self._cancelled:
            reception.close()
        tag = f"millrace-{self._job.job_id}-holds-{attempt}"
        plan = self._plan(epoch, tasks, number, reception)
        spark = self._spark = LastingJob(self._context, plan, tag, partial(self._ended, attempt, reception))
        links = reception.wait(SLOT_SECONDS)
        has_room = links is not None or self._has_room(spark, tasks, cores)
        if links is None and has_room:  # Spark or Python takes its time
            links = reception.wait(PROCESS_SECONDS)
        if links is not None:
            self._usual = cores
            self._held.hold(self._job, tasks)
            return links_of(number, links)
        missing, error = {each for _, each in reception.missing}, spark.error
        spark.cancel()
        self.leave()
        if self._broken_off.is_set() or self._cancelled:
            raise OwnerLostError("the job was broken off before its owners were there")
        if error is not None:
            raise error
        address = f"{reception.address.host}:{reception.address.port}"
        text = f"{len(missing)} of {number} processes of the job did not reach the driver at {address}"
        raise NoSlotsError(text if has_room else self._no_slots(cores), len(set(range(tasks)) - missing))

    def _has_room(self, spark: LastingJob, tasks: int, cores: int) -> bool:
        """Whether Spark has started the tasks, or has as many cores that no task is on."""
        return spark.running() >= tasks or cores - running_tasks(self._context) >= tasks

    def _plan(self, epoch: int, tasks: int, number: int, reception: ConnectionServer) -> DataFrame:
        held = HeldOwners(
            self._job.job_id,
            number,
            epoch,
            reception.address,
            self._payload,
            digest(self._payload),
            self._owners,
            self._ports,
        )
        rows = self._session.range(0, tasks, 1, tasks)
        with interpreter(self._context, self._python), on_batches():
            return rows.mapInArrow(held, "id long", barrier=True)

    def _ended(self, attempt: int, reception: ConnectionServer) -> None:
        """Spark's job has ended; on a thread of its own."""
        reception.close()
        with self._lock:
            latest = attempt == self._try
        if latest:
            self._held.release(self._job)
            self.on_loss()

    def _tasks(self, cores: int) -> int:
        return min(self._width, cores - 1)

    def _no_slots(self, cores: int) -> str:
        beside = self._held.beside(self._job)
        return (
            f"{self._tasks(cores)} free cores of Spark were wanted and not there within {SLOT_SECONDS:g} s: it has "
            f"{cores}{', of which ' + beside if beside else ''}"
        )

    def waits_for(self) -> str:
        return self._waiting

    def break_off(self) -> None:
        self._broken_off.set()
        with self._lock:
            reception = self._reception
        if reception is not None:
            reception.close()

    def cancel(self) -> None:
        self._cancelled = True
        self.break_off()

    def leave(self) -> None:
        with self._lock:
            spark, self._spark = self._spark, None
            reception, self._reception = self._reception, None
            self._try = 0
        if reception is not None:
            reception.close()
        if spark is not None:
            spark.end()
        self._held.release(self._job)
