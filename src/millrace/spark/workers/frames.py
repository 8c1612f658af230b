"""Messages between a worker, the keeper and an owner: a length and a pickle, with open files beside it.

The sockets lie in a folder of this user alone, and ``same_user`` asks the kernel who is at the other end: nothing is
unpickled that another user could have sent. Orders for tasks that stay come from the driver over a connection of which
both ends have proved that they know the job's secret (``spark/workers/stage.py``).
"""

from __future__ import annotations

import pickle
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.runtime.bases.epoch_protocol import SavedSubtask
from millrace.runtime.coordination.snapshot import OperatorPlace, TaskFiles, WholeFile
from millrace.spark.workers.encryption import Certificate, Link

_HEAD = struct.Struct(">I")
MAX_FILES = 4

TaskId = tuple[int, int]
"""(stage, partition)"""


@dataclass(frozen=True)
class Address:
    """Where a job's driver waits for its tasks."""

    host: str
    port: int
    secret: bytes = field(repr=False)
    tls: Certificate | None = field(default=None, repr=False)
    """what both ends show each other; None: the connection is not encrypted"""


@dataclass(frozen=True)
class Greeting:
    """The first message of a connection: for whom it is. The keeper passes the connection on to that owner."""

    job_id: str
    task: TaskId
    epoch: int
    owners: int
    """most owner processes of this job here; 0: as many as there are cores"""
    idle_seconds: float
    """seconds without a request after which owners of this job end"""
    cancel_seconds: float
    """seconds that a run may go on after a newer one of its task has begun; 0: no limit"""
    stays: bool = False
    """whether the task stays: then not in a process in which a run hangs, since that is ended only when nothing else
    is at work there"""


@dataclass(frozen=True)
class Passed:
    """The keeper passes a connection on to an owner, which tells it the number when the run has ended (``ENDED``)."""

    number: int


ENDED = struct.Struct(">I")


@dataclass(frozen=True)
class Moved:
    """The keeper tells an owner that a task of its own lives elsewhere from now on."""

    task: TaskId


@dataclass(frozen=True)
class Forget:
    """The first message of a connection that asks the keeper to end the owners of a job. It answers with ``Done``."""

    job_id: str


@dataclass(frozen=True)
class Look:
    """The first message of a connection that wants to know what an owner of a job does. The keeper passes it on, and
    closes it if there is no such owner; the request follows."""

    job_id: str
    number: int
    """counts from 0"""


@dataclass(frozen=True)
class Watched:
    """The keeper passes such a connection on to an owner."""


@dataclass(frozen=True)
class Stacks:
    """A request: what do all threads do at this moment."""


@dataclass(frozen=True)
class Sampling:
    """A request: what do the threads that run tasks do over a while."""

    seconds: float
    hertz: int
    tasks: tuple[TaskId, ...]


@dataclass(frozen=True)
class Positions:
    """A request: how far are the tasks that run."""

    stacks: bool = False
    """whether to tell their stacks, too"""


Request = Stacks | Sampling | Positions


@dataclass(frozen=True)
class TaskPosition:
    """The position of a running task. It has made progress if ``steps`` or ``place`` has changed."""

    task: TaskId
    steps: int
    """changes whenever an operator begins or ends a piece"""
    place: int
    """changes within a piece, where there is a loop over its elements"""
    operator: str
    """name of the operator at work; empty: none is"""
    subtask: int
    parallelism: int
    millis: int
    """ms since the operator began its current piece"""
    elements: int
    """elements of the current piece; 0: the task is doing something else than processing elements"""
    before: int
    """elements that wait to be handed to it"""
    packets: int
    """packets that wait, too; how many elements they hold is unknown"""
    stack: str = ""
    """a line a frame, the last call first; empty unless it was asked for"""


@dataclass(frozen=True)
class Sampled:
    """A stack of a task, and how often it was seen."""

    task: TaskId
    on_cpu: bool
    frames: tuple[str, ...]
    """the first call first"""
    count: int


@dataclass(frozen=True)
class OwnerReport:
    """The answer of an owner to a request."""

    host: str
    executor: str
    pid: int
    stacks: tuple[tuple[str, str], ...] = ()
    """name and stack of each thread"""
    samples: tuple[Sampled, ...] = ()
    positions: tuple[TaskPosition, ...] = ()


@dataclass(frozen=True)
class Imported:
    """The only message of a connection: what an owner of a job that is over has imported by itself."""

    modules: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One run of a task in an epoch."""

    task: TaskId
    number: int
    """no other run of this task has it; positive"""
    before: int
    """how often Spark has run the task in this epoch already, and heard that it failed"""


@dataclass(frozen=True)
class Call:
    """One run of a task. The open file beside it is where its data comes from and goes to."""

    job: str
    """digest of the bytes of the shipped job"""
    run: Run
    order: str
    spark_files: str
    """the folder that Spark downloads files into"""
    prefix: bytes
    """bytes of the data that were read ahead"""
    wrapped: bool
    """whether batches hold one column with all fields, as Spark's JVM wants them"""


@dataclass(frozen=True)
class Stay:
    """A task that connects to the driver and waits for its orders."""

    job: str
    """digest of the bytes of the shipped job"""
    task: TaskId
    spark_files: str
    """the folder that Spark downloads into"""
    address: Address


@dataclass(frozen=True)
class Join:
    """An owner of a job in flow, which connects to the driver."""

    job: str
    """digest of the bytes of the shipped job"""
    owner: int
    """number of the owner, from 0"""
    spark_files: str
    """the folder that Spark downloads into"""
    address: Address
    host: str = ""
    """this machine, as owners on other machines reach it; empty: all owners are on this machine"""
    ports: tuple[int, ...] = ()
    """the ports to listen at for other owners, in the order to try; 0: any free one"""


@dataclass(frozen=True)
class Order:
    """One run of a task that stays. It answers with any number of ``Part``, then ``Done`` or ``Failed``."""

    run: int
    """no other run of this task has it; positive"""
    text: str
    """what the driver has published for the epoch"""
    packets: Sequence[Any]
    """packets for this task"""


@dataclass(frozen=True)
class Part:
    """Packets that such a run has sent."""

    packets: Sequence[Any]


@dataclass(frozen=True)
class NeedJob:
    """The owner asks for the bytes of a job that it does not have."""


@dataclass(frozen=True)
class Begun:
    """The owner has all that it needs: the data may follow."""


@dataclass(frozen=True)
class Unreached:
    """The owner has not reached the job's driver."""

    text: str


@dataclass(frozen=True)
class Shipped:
    """The job's bytes, and what the worker imports from."""

    payload: bytes
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Done:
    """The run is over; ``consumed`` bytes of the prefix belonged to its data."""

    consumed: int = 0


@dataclass(frozen=True)
class Failed:
    """The run could not be made."""

    text: str
    begun: bool
    """whether a part of the run's data has been written already"""


@dataclass(frozen=True)
class MergedJob:
    """The job whose whole states a process makes from files; the first message that it gets."""

    shipped: bytes
    spark_directory: str
    """the folder that Spark downloads into on this machine"""


@dataclass(frozen=True)
class Merge:
    """A whole state, or a part of a savepoint, to make from the files of a task."""

    number: int
    task: TaskId
    files: TaskFiles
    places: tuple[OperatorPlace, ...] = ()
    """the operators of the task; for a savepoint"""
    savepoint: str | None = None
    """the folder of the savepoint; None: make a whole state"""


@dataclass(frozen=True)
class Merged:
    """What was made for a ``Merge``."""

    number: int
    made: WholeFile | tuple[SavedSubtask, ...] | None
    error: str | None = None
    """why nothing was made"""


def send(connection: Link, message: Any, files: Sequence[int] = ()) -> None:
    content = pickle.dumps(message, protocol=5)
    head = _HEAD.pack(len(content))
    if files:
        assert isinstance(connection, socket.socket)
        sent = socket.send_fds(connection, [head], list(files))
        assert sent == len(head), "a socket that takes no 4 bytes"
        connection.sendall(content)
    else:
        connection.sendall(head + content)


def receive(connection: Link) -> tuple[Any, list[int]]:
    """A message and the files that came with it; files come only through sockets of this machine.

    :raises EOFError: the other end is gone.
    """
    head = b""
    files: list[int] = []
    if isinstance(connection, socket.socket) and connection.family == socket.AF_UNIX:
        head, files, _, _ = socket.recv_fds(connection, _HEAD.size, MAX_FILES)
    (length,) = _HEAD.unpack(head + exactly(connection, _HEAD.size - len(head)))
    return pickle.loads(exactly(connection, length)), files


def exactly(connection: Link, length: int) -> bytes:
    """Read exactly ``length`` bytes. Raises ``EOFError`` if the other end closes the connection before."""
    parts = []
    while length:
        part = connection.recv(min(length, 1 << 20))
        if not part:
            raise EOFError("the other end has closed the connection")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def same_user(connection: socket.socket, user: int) -> bool:
    """Whether the process at the other end runs as this user; true where the kernel can't tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", credentials)[1] == user)
