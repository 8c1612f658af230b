"""Functions that Spark's tasks run: a stage of an epoch, a task that stays, and the start of the owners of a job in
flow.

``StageFunction`` (of ``mapInArrow``) finds the process that the task lives in. ``ResidentTask`` belongs to the job of
Spark that stays: each of its tasks holds a core for one subtask of every stage. ``OwnerPlacement`` starts the owners of
a job in flow and ends at once. The owners of the last two connect to the driver; ``connect`` and ``admit`` prove to
both ends that they belong to one job. The secret for that travels with the function, as all of the job does, and never
over the connection itself. Where Spark encrypts its connections, this one is encrypted, too.

Imports little: on a session of the user's own every Python worker imports this module by itself.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import pyarrow as pa

from millrace.spark.workers.encryption import Link, TwoWay, encrypted
from millrace.spark.workers.frames import Address, Call, Greeting, Join, Run, Stay, TaskId, exactly
from millrace.spark.workers.pipe import DriverUnreachedError, begin_stay, end_stay, forget, run_in_owner

# Proof that both ends belong to one job

_TASK = struct.Struct(">II")
_NONCE = 16
_PROOF = 32
SECONDS = 10.0
"""Seconds that each end of a new connection waits for the other."""


class NotProvedError(ConnectionError):
    """The other end of a connection has not proved that it knows the job's secret."""


def connect(address: Address, task: TaskId) -> socket.socket:
    """A connection to the driver, for a task; encrypted if the address has a certificate.

    :raises OSError: nothing listens there, or it is not the driver (``NotProvedError``).
    """
    link = socket.create_connection((address.host, address.port), SECONDS)
    try:
        link = encrypted(link, address.tls, server=False)
        hello = secrets.token_bytes(_NONCE) + _TASK.pack(*task)
        link.sendall(hello)
        challenge, proof = exactly(link, _NONCE), exactly(link, _PROOF)
        if not hmac.compare_digest(proof, _proof(address.secret, b"driver", hello, challenge)):
            raise NotProvedError(f"{address.host}:{address.port} is not the driver of this job")
        link.sendall(_proof(address.secret, b"task", hello, challenge))
    except EOFError:
        link.close()
        raise NotProvedError(f"{address.host}:{address.port} has closed the connection") from None
    except BaseException:
        link.close()
        raise
    settle(link)
    return link


DOWN, UP = range(2)
"""In place of the stage of a task, for the connections of an owner: what goes to it, what comes from it."""


def connect_owner(address: Address, owner: int) -> Link:
    """A connection of an owner to the driver, for one thread that receives and others that send.

    :raises OSError: see ``connect``.
    """
    down = connect(address, (DOWN, owner))
    if address.tls is None:
        return down
    try:
        return TwoWay(down, connect(address, (UP, owner)))
    except BaseException:
        down.close()
        raise


def admit(link: socket.socket, secret: bytes) -> TaskId:
    """The task at the other end of a connection that was accepted.

    :raises OSError: it is none of this job (``NotProvedError``), or says nothing.
    """
    link.settimeout(SECONDS)
    try:
        hello = exactly(link, _NONCE + _TASK.size)
        challenge = secrets.token_bytes(_NONCE)
        link.sendall(challenge + _proof(secret, b"driver", hello, challenge))
        proof = exactly(link, _PROOF)
    except EOFError:
        raise NotProvedError("who connected has gone") from None
    if not hmac.compare_digest(proof, _proof(secret, b"task", hello, challenge)):
        raise NotProvedError("who connected does not know the secret")
    settle(link)
    stage, partition = _TASK.unpack(hello[_NONCE:])
    return stage, partition


def settle(link: socket.socket) -> None:
    """From here on it waits as long as it takes, small messages leave at once, and a lost machine is noticed."""
    link.settimeout(None)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _proof(secret: bytes, who: bytes, hello: bytes, challenge: bytes) -> bytes:
    return hmac.digest(secret, who + hello + challenge, "sha256")


ORDER_PROPERTY = "millrace.epoch"
"""Local property of Spark's job that carries the order of the epoch to its tasks."""
EPOCH_PROPERTY = "millrace.epoch.number"
"""Local property with the number of the epoch."""
RUNS = 2**31 - 1
"""Numbers of Spark's task attempts may be larger, a column has so many."""


@dataclass(frozen=True)
class Owners:
    """How the tasks of a job live on between epochs."""

    most: int
    """owner processes of a job on one executor: as many as it has cores; 0: as its machine has"""
    idle_seconds: float
    """seconds without a request after which owners end"""
    cancel_seconds: float
    """seconds that a run may go on after a newer one has begun (``task.cancellation.timeout``); 0: no limit"""


@dataclass(frozen=True)
class StageFunction:
    """One stage of a job; an instance is pickled into the plan."""

    job_id: str
    stage: int
    payload: bytes
    """the encoded ``ShippedJob``"""
    digest: str
    """digest of ``payload``"""
    owners: Owners | None
    """None: tasks run in Spark's workers themselves, since nothing of them is needed later"""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import SparkFiles, TaskContext

        context = TaskContext.get()
        assert context is not None, "a stage runs inside a Spark task"
        task = (self.stage, context.partitionId())
        run = context.taskAttemptId() % RUNS + 1
        order = context.getLocalProperty(ORDER_PROPERTY) or ""
        if self.owners is None:
            from millrace.spark.workers.running_tasks import run_here

            return run_here(self.digest, self.payload, Run(task, run, context.attemptNumber()), order, batches)
        epoch, owners = int(context.getLocalProperty(EPOCH_PROPERTY) or 0), self.owners
        greeting = Greeting(self.job_id, task, epoch, owners.most, owners.idle_seconds, owners.cancel_seconds)
        made = Run(task, run, context.attemptNumber())
        call = Call(self.digest, made, order, SparkFiles.getRootDirectory(), b"", False)
        return run_in_owner(greeting, call, self.payload, batches)


@dataclass(frozen=True)
class Forgetting:
    """Tells the keeper of an executor that a job is over."""

    job_id: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        forget(self.job_id)
        yield from batches


@dataclass(frozen=True)
class ResidentTask:
    """A function for ``mapInArrow``. Task *i* of Spark connects subtask *i* of every stage with the driver, in the
    owner where it lives, and waits until the driver ends that. It has no part in what they say to each other."""

    job_id: str
    partitions: tuple[int, ...]
    """number of partitions of each stage"""
    epoch: int
    """the first epoch that the tasks run"""
    address: Address
    payload: bytes = field(repr=False)
    """the encoded ``ShippedJob``"""
    digest: str
    """digest of ``payload``"""
    owners: Owners

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import SparkFiles, TaskContext

        for _ in batches:
            pass  # a row, so that Spark runs this
        context = TaskContext.get()
        assert context is not None, "it runs inside a Spark task"
        self.hold(context.partitionId(), SparkFiles.getRootDirectory())
        yield from ()

    def hold(self, partition: int, spark_files: str) -> None:
        """Hold the place of one subtask until the driver ends that.

        :raises OwnerLostError: a process in which it lives has ended, or has not reached this job's driver.
        """
        with ExitStack() as open_ones:
            stays = []
            for stage, width in enumerate(self.partitions):
                if partition < width:
                    task, owners = (stage, partition), self.owners
                    times = owners.idle_seconds, owners.cancel_seconds
                    greeting = Greeting(self.job_id, task, self.epoch, owners.most, *times, stays=True)
                    call = Stay(self.digest, task, spark_files, self.address)
                    stays.append(open_ones.enter_context(begin_stay(greeting, call, self.payload)))
            for stay in stays:
                end_stay(stay)


STAGE = 2**31 - 1
"""In place of the stage of a task, for the keeper: an owner is one for all stages."""


@dataclass(frozen=True)
class OwnerPlacement:
    """A function for ``mapInArrow`` that starts owners of a job on the machine of its task, and connects them with the
    driver. ``LocalOwners`` and ``HeldOwners`` say which ones, and when the task ends."""

    job_id: str
    owners: int
    """number of all owners of the job"""
    epoch: int
    """the first epoch that the owners run"""
    address: Address
    payload: bytes = field(repr=False)
    """the encoded ``ShippedJob``"""
    digest: str
    """digest of ``payload``"""
    staying: Owners

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass  # a row, so that Spark runs this
        self.place()
        yield from ()

    def place(self) -> None:
        """Start the owners of this task, each with its connection.

        :raises OwnerLostError: an owner has refused, or has not reached this job's driver.
        """
        raise NotImplementedError

    def start(self, number: int, spark_files: str, host: str = "", ports: tuple[int, ...] = ()) -> socket.socket:
        """Start one owner; returns the connection to it, at which its end is seen. See ``place`` for the errors."""
        times = self.staying.idle_seconds, self.staying.cancel_seconds
        greeting = Greeting(self.job_id, (STAGE, number), self.epoch, self.owners, *times, stays=True)
        return begin_stay(greeting, Join(self.digest, number, spark_files, self.address, host, ports), self.payload)


@dataclass(frozen=True)
class LocalOwners(OwnerPlacement):
    """All owners on one machine, by one task that ends at once: owners go on after it has closed its connections."""

    def place(self) -> None:
        from pyspark import SparkFiles

        with ExitStack() as connections:
            for number in range(self.owners):
                connections.enter_context(self.start(number, SparkFiles.getRootDirectory()))


@dataclass(frozen=True)
class HeldOwners(OwnerPlacement):
    """Owners on a cluster, by tasks of a barrier stage that hold their cores as long as the owners work; see ``spread``
    for which task has which owners."""

    ports: tuple[int, ...]
    """where owners listen for each other, see ``Join``"""

    def place(self) -> None:
        from pyspark import BarrierTaskContext, SparkFiles

        context = BarrierTaskContext.get()
        part = context.partitionId()
        executors = [info.address for info in context.getTaskInfos()]
        host = executors[part].rpartition(":")[0]
        with ExitStack() as connections:
            links = []
            for number in spread(self.owners, executors)[part]:
                try:
                    links.append(self.start(number, SparkFiles.getRootDirectory(), host, self.ports))
                except DriverUnreachedError as error:
                    # Spark repeats a stage that has failed, and the driver listens elsewhere by then. A driver that
                    # cannot be reached at all says so itself.
                    print(f"millrace: the driver is not there: {error}")
                    return
                connections.enter_context(links[-1])
            for link in links:
                end_stay(link)


def spread(owners: int, executors: Sequence[str]) -> list[list[int]]:
    """Divide the numbers of owners among the tasks that hold cores: each task has one, and more of them go where the
    fewest owners are.

    :param executors: the executor of each task, at most as many as owners.
    """
    found: list[list[int]] = [[number] for number in range(len(executors))]
    load = Counter(executors)
    for number in range(len(executors), owners):
        task = min(range(len(executors)), key=lambda each: (load[executors[each]], len(found[each])))
        found[task].append(number)
        load[executors[task]] += 1
    return found
