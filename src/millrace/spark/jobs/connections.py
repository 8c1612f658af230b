"""Connections of a job's tasks to its driver: where they are accepted, and one epoch over them.

Orders and packets go out stage by stage, packets and acknowledgements come back.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pyspark import SparkContext

from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.operators.job_graph import JobGraph
from millrace.spark.workers.encryption import Certificate, Link, TwoWay, held
from millrace.spark.workers.flow_meeting import admit_each, listen
from millrace.spark.workers.frames import Address, Failed, Order, Part, TaskId, receive, send
from millrace.spark.workers.pipe import OwnerLostError
from millrace.spark.workers.stage import DOWN, UP
from millrace.util.threads import JobThread

SECRET_BYTES = 32


class ConnectionServer:
    """Accepts the connections of a job's tasks until all tasks have connected, or until it is closed.

    :param host: the driver's machine, as the tasks reach it.
    :param bind: the address of it to listen at.
    :param ports: the ports to try; 0: any free one.
    :param tls: what both ends of a connection show each other; None: connections are not encrypted.
    :raises OSError: none of the ports is free.
    """

    def __init__(
        self,
        tasks: Collection[TaskId],
        host: str,
        bind: str,
        ports: Sequence[int] = (0,),
        tls: Certificate | None = None,
    ) -> None:
        self._missing = set(tasks)
        self._links: dict[TaskId, socket.socket] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._listener = listen((bind,), ports)
        secret = secrets.token_bytes(SECRET_BYTES)
        self.address = Address(host.strip("[]"), self._listener.getsockname()[1], secret, tls)
        given = self._listener, secret, tls, self._take
        JobThread(target=admit_each, args=given, name="millrace-admission", daemon=True).start()

    @staticmethod
    def of(
        context: SparkContext,
        tasks: Collection[TaskId],
        ports: Sequence[int] = (0,),
        tls: Certificate | None = None,
    ) -> ConnectionServer:
        """Make a server that listens at the address that Spark's settings give for its driver."""
        settings = context.getConf()
        host = settings.get("spark.driver.host") or "127.0.0.1"
        return ConnectionServer(tasks, host, settings.get("spark.driver.bindAddress") or host, ports, tls)

    @property
    def missing(self) -> list[TaskId]:
        """The tasks that have not connected yet."""
        with self._changed:
            return sorted(self._missing)

    def wait(self, seconds: float | None = None) -> dict[TaskId, socket.socket] | None:
        """Wait for all tasks and return their connections; None: not all came in time, or the server was closed.

        :param seconds: None: as long as it takes.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._missing, seconds)
            if self._missing:
                return None
            links, self._links = self._links, {}
        self.close()
        return links

    def close(self) -> None:
        """Stop listening, and close the accepted connections that ``wait`` has not returned."""
        with self._changed:
            self._closed = True
            links, self._links = self._links, {}
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that listens
        self._listener.close()
        for link in links.values():
            link.close()

    def _take(self, task: TaskId, link: socket.socket) -> bool:
        with self._changed:
            if self._closed or task not in self._missing:
                return False
            self._missing.remove(task)
            self._links[task] = link
            self._changed.notify_all()
            return True


def ends_of(owners: int, tls: Certificate | None) -> list[TaskId]:
    """The connections of owners in flow that a ``ConnectionServer`` waits for: see ``connect_owner``."""
    directions = (DOWN,) if tls is None else (DOWN, UP)
    return [(direction, owner) for direction in directions for owner in range(owners)]


def links_of(owners: int, found: Mapping[TaskId, socket.socket]) -> list[Link]:
    """The connection to each owner, of those that a ``ConnectionServer`` has found for ``ends_of``."""
    downs = [found[DOWN, owner] for owner in range(owners)]
    return [TwoWay(found[UP, n], down) if (UP, n) in found else down for n, down in enumerate(downs)]


class EpochExchange:
    """Runs epochs over the connections of the tasks. Packets go right to the stage that they are for.

    :param links: the connection of each task.
    """

    def __init__(self, job: JobGraph, links: Mapping[TaskId, socket.socket]) -> None:
        self._partitions = job.partitions
        self._stages = job.edge_stages
        self._links = links
        self._tasks = {link.fileno(): task for task, link in links.items()}
        self.pending: set[TaskId] = set()
        """tasks of the current stage that have not answered"""

    def intact(self) -> bool:
        """Whether all connections are open. Tasks send nothing between epochs, so a connection that is readable has
        ended."""
        return not _poller(self._links.values()).poll(0)

    def run(self, run: int, text: str) -> list[TaskAck]:
        """Run one epoch, stage by stage, and return the acknowledgements of all tasks.

        :param run: a number that no other run of its tasks has.
        :param text: what the driver has published for it.
        :raises OwnerLostError: a task has not come to its end.
        """
        inbox: dict[TaskId, list[Packet]] = defaultdict(list)
        acks: list[TaskAck] = []
        for stage, width in enumerate(self._partitions):
            self.pending = {(stage, partition) for partition in range(width)}
            for task in sorted(self.pending):
                self._order(task, Order(run, text, inbox.pop(task, [])))
            for packet in self._answers():
                if packet.edge == ACK:
                    acks.append(TaskAck.decode(packet.payload))
                else:
                    inbox[self._stages[packet.edge], packet.target].append(packet)
        return acks

    def _order(self, task: TaskId, order: Order) -> None:
        try:
            send(self._links[task], order)
        except OSError:
            raise lost([task]) from None

    def _answers(self) -> Iterator[Packet]:
        """Yield the packets that the pending tasks send, until all of these tasks have ended their run."""
        poller = _poller(self._links[task] for task in self.pending)
        while self.pending:
            for file, _ in poller.poll():
                task = self._tasks[file]
                more = True
                while more:
                    message = self._heard(task)
                    if isinstance(message, Part):
                        yield from message.packets
                        more = held(self._links[task])
                    else:
                        poller.unregister(file)
                        self.pending.remove(task)
                        more = False

    def _heard(self, task: TaskId) -> object:
        try:
            message, _ = receive(self._links[task])
        except (EOFError, OSError):
            raise lost([task]) from None
        if isinstance(message, Failed):
            last = message.text.rstrip().rpartition("\n")[2]
            raise OwnerLostError(f"{described([task])} could not be run: {last}\n{message.text}", message.begun)
        return message


def _poller(links: Iterable[socket.socket]) -> select.poll:
    poller = select.poll()
    for link in links:
        poller.register(link, select.POLLIN)
    return poller


def described(tasks: Collection[TaskId]) -> str:
    """Name the tasks in words: at most four, then how many more there are."""
    words = [f"task {partition} of stage {stage}" for stage, partition in sorted(tasks)]
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")


def lost(tasks: Collection[TaskId]) -> OwnerLostError:
    """Make the error for tasks whose process has ended."""
    return OwnerLostError(
        f"the process that {described(tasks)} lives in has ended: it was killed, ran out of memory, or crashed in "
        f"native code",
        begun=True,
    )
