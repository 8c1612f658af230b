"""Runs epochs as marks in a stream that never stops (``millrace.epoch.execution: flow``), over connections to the job's
owners."""

from __future__ import annotations

import contextlib
import itertools
import math
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.configuration import own_options as options
from millrace.runtime.bases.epoch_protocol import EpochPlan, Result, TaskAck, TaskSoFar, flowing
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import TaskId
from millrace.spark.jobs.beside import Conclusion
from millrace.spark.jobs.certificates import CertificateError
from millrace.spark.jobs.connections import described, lost
from millrace.spark.jobs.flow_places import NoSlotsError, Places
from millrace.spark.workers.encryption import Link, comes, cut, held, takes
from millrace.spark.workers.flow_messages import (
    Acked,
    Alive,
    Ask,
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
    Reached,
    Taken,
    Told,
    Wanted,
)
from millrace.spark.workers.frames import OwnerReport, Request, Sampling, receive, send
from millrace.spark.workers.lease import BEAT_SECONDS
from millrace.spark.workers.pipe import OwnerLostError
from millrace.spark.workers.stage import SECONDS
from millrace.util.threads import JobThread

_SECRET_BYTES = 32
AHEAD_OF_TASK = 64
"""The most parts of collected elements that a task sends before the program has taken any; then it processes no more
elements."""
LOOK_SECONDS = 0.02
"""Seconds between two looks at whether the program has room for more collected elements."""
MEETING_SECONDS = 3 * SECONDS
"""Seconds that owners have to connect to each other."""
HELD_SECONDS = 1.0
"""Seconds that an epoch goes on beyond its time while the epoch before it is recorded and committed. Afterwards its
tasks end it and wait, so that what they hold does not grow without limit."""
MOST_OF_EPOCH = 0.75
"""The least part of an epoch's time between the acknowledgements of the epoch before and its end: when so much of their
interval is over, checkpoints are due."""
LOST_SECONDS = 1.0
"""Seconds that the driver waits for the cause when an owner reports that it cannot go on."""


class UnreachedError(Exception):
    """An owner cannot connect to another one."""


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
    before: Conclusion
    """the epoch before, which is recorded and committed meanwhile"""


class OwnerConnections:
    """The driver's connections to the owners of a job, from their start until one is lost, or all are ended.

    :param links: to each owner, by its number.
    :param tasks: all of the job.
    :param given: takes what the tasks show.
    :param lease_seconds: how long an owner and the driver go on without a word from each other; 0: as long as it takes.
    :raises OwnerLostError: an owner has ended meanwhile.
    :raises UnreachedError: an owner cannot connect to another one.
    """

    def __init__(
        self, links: Sequence[Link], tasks: Sequence[TaskId], given: LiveOutput, lease_seconds: float = 0.0
    ) -> None:
        self._links = links
        self._locks = {link.fileno(): threading.Lock() for link in links}
        """locks for sending"""
        self._lease_seconds = lease_seconds
        self._heard_at: dict[int, float] = {}
        """when the owner behind a connection has said something (seconds of the monotonic clock)"""
        self._over = threading.Event()
        self._questions = itertools.count(1)
        self._answers: dict[int, list[OwnerReport]] = {}
        """number of a question -> the answers of owners"""
        self._answered = threading.Condition()
        self._by_file = {link.fileno(): link for link in links}
        self._tasks = frozenset(tasks)
        self._given = given
        self._untaken: list[tuple[Link, Taken]] = []
        """(connection, credit) that is sent back to a task once the program has room for more collected elements"""
        self._woken, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        self._poller = select.poll()
        for link in (*links, self._woken):
            self._poller.register(link, select.POLLIN)
        self._finish = False
        self._ended_at = self._acknowledged_at = -math.inf
        """when tasks last got the order to end an epoch, and when all had acknowledged it (s of the monotonic clock)"""
        given.before.on_end = self._wake
        self.pending: frozenset[TaskId] | set[TaskId] = frozenset()
        """tasks that have not acknowledged the running epoch"""
        try:
            self._meet()
        except BaseException:
            self.end()  # nothing else knows the connections
            raise
        if lease_seconds:
            JobThread(target=self._beat, name="millrace-beat", daemon=True).start()

    def _meet(self) -> None:
        """Let the owners connect to each other, all within ``MEETING_SECONDS``."""
        until = time.monotonic() + MEETING_SECONDS
        places = []
        for link in self._links:
            listening = self._met(link, until, ())
            assert isinstance(listening, Listening)
            places.append(listening.place)
        ahead = 0 if self._given.collected is None else AHEAD_OF_TASK
        self._say(Peers(tuple(places), secrets.token_bytes(_SECRET_BYTES), ahead, self._lease_seconds))
        missed: list[str] = []
        # One that says nothing comes last: the others may have missed it, and say where it is.
        for link in sorted(self._links, key=lambda link: not _comes_before(link, until - SECONDS)):
            reached = self._met(link, until, missed)
            assert isinstance(reached, Reached)
            missed += reached.missed
            link.settimeout(self._lease_seconds or None)
        if missed:
            raise UnreachedError(_first(missed))

    def _met(self, link: Link, until: float, missed: Sequence[str]) -> object:
        """Return what an owner says while the owners connect to each other.

        :param until: when it has to have said it (seconds of the monotonic clock).
        :param missed: what the other owners say of those that they do not reach.
        """
        if not _comes_before(link, until):
            beside = f"; {_first(missed)}" if missed else ""
            raise OwnerLostError(
                f"the process that {described(self._tasks_of(self._links.index(link)))} lives in said nothing for "
                f"{MEETING_SECONDS:g} s while the processes of the job connected to each other: it, its machine or "
                f"the network stands still{beside}"
            )
        link.settimeout(SECONDS)
        return self._heard(link)

    def _beat(self) -> None:
        """Send each owner a sign of life every second; on a thread of its own."""
        while not self._over.wait(BEAT_SECONDS):
            for link in self._links:
                lock = self._locks[link.fileno()] if link.fileno() >= 0 else None
                if lock is None or not lock.acquire(blocking=False):
                    continue  # something is being sent
                try:
                    # One that does not take what it was sent is left to its silence.
                    if takes(link):
                        send(link, Alive())
                except (OSError, ValueError):
                    continue  # the thread that reads sees that it is gone
                finally:
                    lock.release()

    def run(self, run: int, text: str, at_once: bool, seconds: float, idle_seconds: float) -> list[TaskAck]:
        """Run one epoch and return the acknowledgements: those of all tasks, or fewer if one has failed.

        :param run: a number that no other run has.
        :param at_once: whether a caller waits for the end of the epoch.
        :param seconds: how long it takes from the end of one epoch to that of the next one, see ``_end``.
        :param idle_seconds: how long the epoch takes if no record comes.
        :raises OwnerLostError: an owner has ended.
        :raises Exception: the epoch before could not be recorded, or not be committed.
        """
        self.pending = set(self._tasks)
        acks: list[TaskAck] = []
        self._finish = False
        self._heard_at = dict.fromkeys(self._by_file, time.monotonic())
        self._say(Begin(run, text))
        end: float | None = time.monotonic() + (0.0 if at_once else idle_seconds)
        first = at_once
        while self.pending:
            now = time.monotonic()
            held = 0.0 if self._given.before.look() else HELD_SECONDS
            if end is not None and (self._finish or now >= end + held):
                end = None
                self._ended_at = now
                self._say(End(run))
            self._give_credit()
            for link, message in self._hear(None if end is None else end + held - now):
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
                    end = self._end(time.monotonic(), seconds)
                elif isinstance(message, Wanted) and message.run == run and end is not None:
                    end = 0.0
        self._acknowledged_at = time.monotonic()
        return acks

    def _end(self, now: float, seconds: float) -> float:
        """Return when an epoch ends whose first record has just come: ``seconds`` after the end of the epoch before, as
        checkpoints are meant, however long its tasks took to record it. A stream that rests between its records has its
        epochs ``seconds`` after these, and no epoch is so short that it costs more than it is worth."""
        end = max(self._ended_at + seconds, self._acknowledged_at + MOST_OF_EPOCH * seconds)
        return max(end, now + seconds / 2) if now < end else now + seconds

    def _give_credit(self) -> None:
        if self._untaken and self._given.has_room():
            untaken, self._untaken = self._untaken, []
            for link, taken in untaken:
                self._tell(link, taken)

    def finish(self) -> None:
        """Let the running epoch end soon; may be called from any thread."""
        self._finish = True
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._waker.send(b"x")

    def intact(self) -> bool:
        """Whether all connections are open."""
        return not any(event & (select.POLLHUP | select.POLLERR) for _, event in self._poller.poll(0))

    def waits_for(self) -> str:
        return described(set(self.pending))

    def _hear(self, seconds: float | None) -> list[tuple[Link, object]]:
        if self._untaken:
            seconds = LOOK_SECONDS if seconds is None else min(seconds, LOOK_SECONDS)
        if self._lease_seconds:
            seconds = BEAT_SECONDS if seconds is None else min(seconds, BEAT_SECONDS)
        found: list[tuple[Link, object]] = []
        readable = self._poller.poll(None if seconds is None else max(0.0, seconds * 1000))
        now = time.monotonic()
        for file, _ in readable:
            if file == self._woken.fileno():
                self._woken.recv(1024)
                continue
            link, more = self._by_file[file], True
            self._heard_at[file] = now
            while more:
                message = self._heard(link)
                more = held(link)
                if isinstance(message, Told):
                    self._take_answer(message)
                elif not isinstance(message, Alive):
                    found.append((link, message))
        if self._lease_seconds:
            self._check_leases(now)
        return found

    def _check_leases(self, now: float) -> None:
        for file, heard in self._heard_at.items():
            # What this process has not read since it was stopped itself is no silence.
            link = self._by_file[file]
            if now - heard > self._lease_seconds and not comes(link):
                number = self._links.index(link)
                raise OwnerLostError(
                    f"the process that {described(self._tasks_of(number))} lives in has not answered for "
                    f"{self._lease_seconds:g} s ({options.FLOW_LEASE.key}): it, its machine or the network stands "
                    f"still, or a function in native code holds its interpreter",
                    begun=True,
                )

    def look(self, request: Request, patience: float) -> list[OwnerReport]:
        """Ask the owners what their threads do; those that do not answer in time are left out. From another thread."""
        number = next(self._questions)
        with self._answered:
            answers = self._answers[number] = []
        for link in self._links:
            with contextlib.suppress(OSError):
                self._send(link, Ask(number, request))
        seconds = patience + (request.seconds if isinstance(request, Sampling) else 0.0)
        with self._answered:
            self._answered.wait_for(lambda: len(answers) == len(self._links) or self._over.is_set(), seconds)
            return list(self._answers.pop(number))

    def _take_answer(self, told: Told) -> None:
        with self._answered:
            if told.number in self._answers:
                self._answers[told.number].append(told.report)
                self._answered.notify_all()

    def _heard(self, link: Link) -> object:
        try:
            message, _ = receive(link)
        except (EOFError, OSError):
            raise self._lost(link) from None
        if isinstance(message, Broken):
            self._raise_if_lost(link)
            last = message.text.rstrip().rpartition("\n")[2]
            raise OwnerLostError(f"a process of the job's tasks could not go on: {last}\n{message.text}", begun=True)
        return message

    def _raise_if_lost(self, link: Link) -> None:
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

    def _tell(self, link: Link, message: object) -> None:
        try:
            self._send(link, message)
        except OSError:
            raise self._lost(link) from None

    def _send(self, link: Link, message: object) -> None:
        lock = self._locks.get(link.fileno())
        if lock is None:
            raise OSError("the connection is closed")
        with lock:
            send(link, message)

    def _lost(self, link: Link) -> OwnerLostError:
        return lost(self._tasks_of(self._links.index(link)))

    def _tasks_of(self, owner: int) -> list[TaskId]:
        return [task for task in self._tasks if task[1] % len(self._links) == owner]

    def break_off(self) -> None:
        """Make ``run`` raise, by closing the connections; may be called from any thread."""
        self._over.set()
        for link in self._links:
            cut(link)

    def end(self) -> None:
        """Close all connections, which lets the owners stop."""
        self.break_off()
        for link in (*self._links, self._woken, self._waker):
            link.close()


def _comes_before(link: Link, until: float) -> bool:
    """Whether an owner says something, or closes its connection, before a moment of the monotonic clock."""
    while not comes(link):
        left = until - time.monotonic()
        if left <= 0:
            return False
        poller = select.poll()
        poller.register(link, select.POLLIN)
        poller.poll(left * 1000)
    return True


def _first(missed: Sequence[str]) -> str:
    """The first of some sentences, and how many there are beside it."""
    return f"{missed[0]} ({len(missed) - 1} more)" if len(missed) > 1 else missed[0]


def _says_why(link: Link) -> bool:
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

    :param places: places the owners of the job.
    :param seconds: how long it takes from the end of one epoch to that of the next one, see ``OwnerConnections.run``.
    :param bounded: whether the job comes to an end by itself: then its first epoch is aligned.
    :param given: takes what tasks have to show before their epoch ends.
    """

    def __init__(self, job: JobGraph, places: Places, seconds: float, bounded: bool, given: LiveOutput) -> None:
        self._tasks = [(stage, part) for stage, width in enumerate(job.partitions) for part in range(width)]
        self._places = places
        self._seconds = seconds
        self._aligned = bounded
        self._given = given
        self._at_once = False
        self._runs = itertools.count(1)
        self._lock = threading.Lock()
        self._links: OwnerConnections | None = None
        self._broken_off = False
        self._cancelled = False
        places.on_loss = self._lose

    def ready(self, epoch: int) -> str | None:
        try:
            self._join(self._places.first(epoch))
        except (NoSlotsError, UnreachedError, CertificateError) as error:
            self._leave()
            return str(error)
        except Exception:
            self._leave()  # the first epoch meets it again, and is retried as the job's restarts say
        return None

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
        return self._links or self._join(self._places.again(epoch))

    def _join(self, links: Sequence[Link]) -> OwnerConnections:
        joined = OwnerConnections(links, self._tasks, self._given, self._places.lease_seconds)
        with self._lock:
            self._links = joined
            broken_off = self._broken_off or self._cancelled
        if broken_off:
            joined.break_off()
        return joined

    def waits_for(self) -> str:
        links = self._links
        return self._places.waits_for() if links is None else links.waits_for()

    def look(self, request: Request, patience: float) -> list[OwnerReport] | None:
        links = self._links
        return [] if links is None else links.look(request, patience)

    def finish(self) -> None:
        with self._lock:
            if self._links is not None:
                self._links.finish()

    def break_off(self) -> None:
        with self._lock:
            self._broken_off = True
            if self._links is not None:
                self._links.break_off()
        self._places.break_off()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
        self.break_off()
        self._places.cancel()

    def end(self) -> None:
        self._leave()

    def _lose(self) -> None:
        """The cores of the owners are not held any more; called from another thread."""
        with self._lock:
            if self._links is not None:
                self._links.break_off()

    def _leave(self) -> None:
        with self._lock:
            links, self._links = self._links, None
        if links is not None:
            links.end()
        self._places.leave()
