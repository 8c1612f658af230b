"""Runs epochs as marks in a stream that never stops (``millrace.epoch.execution: flow``), over connections to the job's
owners."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.runtime.bases.epoch_protocol import EpochPlan, Result, TaskAck, TaskSoFar, flowing
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import TaskId
from millrace.spark.jobs.connections import ConnectionServer, described, lost
from millrace.spark.sessions.session import Workplace, on_batches
from millrace.spark.workers.flow_messages import (
    Acked,
    Begin,
    Broken,
    Collected,
    End,
    EpochProgress,
    First,
    Limits,
    Listening,
    Peers,
    Printed,
    Taken,
    Wanted,
)
from millrace.spark.workers.frames import receive, send
from millrace.spark.workers.pipe import OwnerLostError
from millrace.spark.workers.provision import interpreter
from millrace.spark.workers.shipping import ShippedJob, digest
from millrace.spark.workers.stage import OwnerPlacement, Owners

_SECRET_BYTES = 32
AHEAD_OF_TASK = 64
"""The most parts of collected elements that a task sends before the program has taken any; then it processes no more
elements."""
LOOK_SECONDS = 0.02
"""Seconds between two looks at whether the program has room for more collected elements."""
LOST_SECONDS = 1.0
"""Seconds that the driver waits for the cause when an owner reports that it cannot go on."""


@dataclass(frozen=True)
class LiveOutput:
    """Callbacks for the output and progress of tasks while their epoch goes on. None of them blocks."""

    printed: Callable[[tuple[str, ...]], None]
    """takes lines of ``DataStream.print``"""
    collected: Callable[[tuple[Result, ...]], None] | None
    """takes elements for the program; None: elements wait for the end of their epoch, since that may be retried"""
    has_room: Callable[[], bool]
    """says whether the program takes its elements as fast as they come"""
    so_far: Callable[[Sequence[TaskSoFar]], dict[int, int]]
    """takes what tasks have done so far, and returns new limits for sources, see ``Coordinator.so_far``"""


class OwnerConnections:
    """The driver's connections to the owners of a job, from their start until one is lost, or all are ended.

    :param links: to each owner, by its number.
    :param tasks: all of the job.
    :param given: takes what the tasks show.
    """

    def __init__(self, links: Sequence[socket.socket], tasks: Sequence[TaskId], given: LiveOutput) -> None:
        self._links = links
        self._by_file = {link.fileno(): link for link in links}
        self._tasks = frozenset(tasks)
        self._given = given
        self._untaken: list[tuple[socket.socket, Taken]] = []
        """(connection, credit) that is sent back to a task once the program has room for more collected elements"""
        self._woken, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        self._poller = select.poll()
        for link in (*links, self._woken):
            self._poller.register(link, select.POLLIN)
        self._finish = False
        self.pending: frozenset[TaskId] | set[TaskId] = frozenset()
        """tasks that have not acknowledged the running epoch"""
        paths = []
        for link in links:
            listening = self._heard(link)
            assert isinstance(listening, Listening)
            paths.append(listening.path)
        ahead = 0 if given.collected is None else AHEAD_OF_TASK
        self._say(Peers(tuple(paths), secrets.token_bytes(_SECRET_BYTES), ahead))

    def run(self, run: int, text: str, at_once: bool, seconds: float, idle_seconds: float) -> list[TaskAck]:
        """Run one epoch and return the acknowledgements: those of all tasks, or fewer if one has failed.

        :param run: a number that no other run has.
        :param at_once: whether a caller waits for the end of the epoch.
        :param seconds: how long the epoch takes from its first record on.
        :param idle_seconds: how long the epoch takes if no record comes.
        :raises OwnerLostError: an owner has ended.
        """
        self.pending = set(self._tasks)
        acks: list[TaskAck] = []
        self._finish = False
        self._say(Begin(run, text))
        end: float | None = time.monotonic() + (0.0 if at_once else idle_seconds)
        first = at_once
        while self.pending:
            now = time.monotonic()
            if end is not None and (self._finish or now >= end):
                end = None
                self._say(End(run))
            self._give_credit()
            for link, message in self._hear(None if end is None else end - now):
                if isinstance(message, Acked):
                    ack = TaskAck.decode(message.ack)
                    acks.append(ack)
                    self.pending -= {(ack.stage, ack.partition)}
                    if ack.failure is not None:
                        return acks
                elif isinstance(message, Printed):
                    self._given.printed(message.lines)
                elif isinstance(message, Collected):
                    assert self._given.collected is not None
                    self._given.collected(message.results)
                    self._untaken.append((link, Taken(message.task, len(message.results))))
                elif isinstance(message, EpochProgress) and message.run == run:
                    if limits := self._given.so_far(message.tasks):
                        self._say(Limits(run, limits))
                elif isinstance(message, First) and message.run == run and not first and end is not None:
                    first = True
                    end = time.monotonic() + seconds
                elif isinstance(message, Wanted) and message.run == run and end is not None:
                    end = 0.0
        return acks

    def _give_credit(self) -> None:
        if self._untaken and self._given.has_room():
            untaken, self._untaken = self._untaken, []
            for link, taken in untaken:
                self._tell(link, taken)

    def finish(self) -> None:
        """Let the running epoch end soon; may be called from any thread."""
        self._finish = True
        with contextlib.suppress(OSError):
            self._waker.send(b"x")

    def intact(self) -> bool:
        """Whether all connections are open."""
        return not any(event & (select.POLLHUP | select.POLLERR) for _, event in self._poller.poll(0))

    def waits_for(self) -> str:
        return described(set(self.pending))

    def _hear(self, seconds: float | None) -> list[tuple[socket.socket, object]]:
        if self._untaken:
            seconds = LOOK_SECONDS if seconds is None else min(seconds, LOOK_SECONDS)
        found: list[tuple[socket.socket, object]] = []
        for file, _ in self._poller.poll(None if seconds is None else max(0.0, seconds * 1000)):
            if file == self._woken.fileno():
                self._woken.recv(1024)
            else:
                link = self._by_file[file]
                found.append((link, self._heard(link)))
        return found

    def _heard(self, link: socket.socket) -> object:
        try:
            message, _ = receive(link)
        except (EOFError, OSError):
            raise self._lost(link) from None
        if isinstance(message, Broken):
            self._raise_if_lost(link)
            last = message.text.rstrip().rpartition("\n")[2]
            raise OwnerLostError(f"a process of the job's tasks could not go on: {last}\n{message.text}", begun=True)
        return message

    def _raise_if_lost(self, link: socket.socket) -> None:
        """Raise ``OwnerLostError`` if an owner has died while this one could not go on: the death may be the cause, and
        may be noticed a moment later. An owner that has ended itself has sent ``Broken`` before and is not the cause.
        """
        at_end = {link}
        until = time.monotonic() + LOST_SECONDS
        while (left := until - time.monotonic()) > 0 and len(at_end) < len(self._links):
            for file, event in self._poller.poll(left * 1000):
                other = self._by_file.get(file)
                if other is not None and other not in at_end and event & (select.POLLHUP | select.POLLERR):
                    if not _says_why(other):
                        raise self._lost(other)
                    at_end.add(other)
            time.sleep(0.01)

    def _say(self, message: object) -> None:
        for link in self._links:
            self._tell(link, message)

    def _tell(self, link: socket.socket, message: object) -> None:
        try:
            send(link, message)
        except OSError:
            raise self._lost(link) from None

    def _lost(self, link: socket.socket) -> OwnerLostError:
        number = self._links.index(link)
        return lost([task for task in self._tasks if task[1] % len(self._links) == number])

    def break_off(self) -> None:
        """Make ``run`` raise, by closing the connections; may be called from any thread."""
        for link in self._links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Close all connections, which lets the owners stop."""
        self.break_off()
        for link in (*self._links, self._woken, self._waker):
            link.close()


def _says_why(link: socket.socket) -> bool:
    """Whether an owner had sent ``Broken``, which says that it cannot go on, before it closed its connection."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            message, _ = receive(link)
            if isinstance(message, Broken):
                return True
    return False


IDLE_SECONDS = 2.0
"""Seconds that an epoch takes if no record comes."""


class FlowCarrier:
    """The carrier of a job in flow: all tasks work at the same time, and are connected with each other.

    :param seconds: how long an epoch takes from its first record on.
    :param bounded: whether the job comes to an end by itself: then its first epoch is aligned.
    :param given: takes what tasks have to show before their epoch ends.
    :param python: the interpreter of the workers, None for that of the session.
    """

    def __init__(
        self,
        place: Workplace,
        job: JobGraph,
        shipped: ShippedJob,
        owners: Owners,
        python: str | None,
        seconds: float,
        bounded: bool,
        given: LiveOutput,
    ) -> None:
        self._session = place.session
        self._context = place.session.sparkContext
        self._job = job
        self._tasks = [(stage, part) for stage, width in enumerate(job.partitions) for part in range(width)]
        self._number = min(len(os.sched_getaffinity(0)), max(job.partitions))
        self._payload = shipped.encode()
        self._owners = owners
        self._python = python
        self._seconds = seconds
        self._aligned = bounded
        self._given = given
        self._at_once = False
        self._runs = itertools.count(1)
        self._lock = threading.Lock()
        self._links: OwnerConnections | None = None
        self._reception: ConnectionServer | None = None
        self._broken_off = False
        self._cancelled = False

    def prepared(self, plan: EpochPlan) -> EpochPlan:
        order = plan.order
        self._at_once = bool(order.restore or order.savepoint or order.checkpoint or order.queries)
        return flowing(plan, self._aligned and order.restore is None)

    def run(self, text: str, epoch: int) -> list[TaskAck]:
        with self._lock:
            self._broken_off = False
        try:
            links = self._joined(epoch)
            acks = links.run(next(self._runs), text, self._at_once, self._seconds, IDLE_SECONDS)
        except BaseException:
            self._leave()
            raise
        if any(ack.failure is not None for ack in acks):
            self._leave()  # nothing of it is used again
        elif not self._at_once:
            self._aligned = False
        return acks

    def _joined(self, epoch: int) -> OwnerConnections:
        """Return the connections to the owners; place the owners again if any was lost. A process that has died since
        the last epoch is no failure, since its state is in files."""
        if self._links is not None and not self._links.intact():
            self._leave()
        return self._links or self._join(epoch)

    def _join(self, epoch: int) -> OwnerConnections:
        reception = ConnectionServer.of(self._context, [(0, number) for number in range(self._number)])
        with self._lock:
            if self._broken_off or self._cancelled:
                reception.close()
                raise OwnerLostError("no task has been started")
            self._reception = reception
        placing = OwnerPlacement(
            self._job.job_id,
            self._number,
            epoch,
            reception.address,
            self._payload,
            digest(self._payload),
            self._owners,
        )
        rows = self._session.range(0, 1, 1, 1)
        with interpreter(self._context, self._python), on_batches():
            rows.mapInArrow(placing, "id long").collect()
        found = reception.wait()
        if found is None:
            raise OwnerLostError("the job was broken off before its owners were there")
        links = OwnerConnections([found[0, number] for number in range(self._number)], self._tasks, self._given)
        with self._lock:
            self._links, self._reception = links, None
            broken_off = self._broken_off or self._cancelled
        if broken_off:
            links.break_off()
        return links

    def waits_for(self) -> str:
        links = self._links
        return "Spark to place the owners of the job" if links is None else links.waits_for()

    def finish(self) -> None:
        with self._lock:
            if self._links is not None:
                self._links.finish()

    def break_off(self) -> None:
        with self._lock:
            self._broken_off = True
            if self._reception is not None:
                self._reception.close()
            if self._links is not None:
                self._links.break_off()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
        self.break_off()

    def end(self) -> None:
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            links, self._links = self._links, None
            reception, self._reception = self._reception, None
        if reception is not None:
            reception.close()
        if links is not None:
            links.end()
