"""An owner of a job in flow: its tasks, and its connections to the driver and other owners.

The owner's loop turns the tasks and reads all connections, which never waits: a sender has credit, so there is room.
Tasks write to other owners themselves. Once a second the owner reports to the driver what its tasks have done of an
epoch that goes on.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import socket
import string
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.shared_folder import first_write
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.checkpoint.task_storage import FolderStorage, TaskResults
from millrace.runtime.bases.epoch_protocol import OperatorSoFar, TaskAck, TaskSoFar
from millrace.runtime.clocks import now_millis
from millrace.runtime.exchange.flow_writer import EpochMark, SenderMarks
from millrace.runtime.failure import full_traceback
from millrace.runtime.storage import TaskId
from millrace.runtime.tasks.flow import FlowTask, Frame, destination
from millrace.runtime.tasks.flow_worker import FlowWorker
from millrace.spark.workers import orders
from millrace.spark.workers.encryption import Link, come, cut, held
from millrace.spark.workers.flow_loop import FlowLoop
from millrace.spark.workers.flow_meeting import LocalMeeting, Meeting, NetworkMeeting
from millrace.spark.workers.flow_messages import (
    Acked,
    Alive,
    Ask,
    Begin,
    Broken,
    Collected,
    Decoder,
    End,
    EpochProgress,
    First,
    Limits,
    Listening,
    Peers,
    Printed,
    Reached,
    Sent,
    Taken,
    Told,
    Wanted,
    encoded,
)
from millrace.spark.workers.flow_tasks import FlowTaskRunner, Marks, divided
from millrace.spark.workers.frames import Join, receive, send
from millrace.spark.workers.inspection import recent_report, tell
from millrace.spark.workers.lease import BEAT_SECONDS, Lease, LeaseError
from millrace.spark.workers.running_tasks import Running
from millrace.util.threads import JobPool, JobThread

FIRST_SECONDS = 1.5
"""Seconds from the beginning of an epoch to its first report; shorter epochs report by their acknowledgements only."""
SECONDS = 1.0


class Reports:
    """Reports the progress of an owner's tasks to the driver. The owner's loop calls it, which no long step of a task
    holds up, so tasks that are busy are reported, too.

    :param tasks: those of the owner.
    :param say: tells the driver.
    """

    def __init__(
        self,
        tasks: Mapping[TaskId, FlowTaskRunner],
        say: Callable[[EpochProgress], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tasks = tasks
        self._say = say
        self._clock = clock
        self._run = 0
        self._at: float | None = None
        """when the next report is due (seconds of ``clock``); None: no epoch runs"""
        self._known: dict[TaskId, tuple[tuple[OperatorSoFar, ...], int | None]] = {}

    def begin(self, run: int) -> None:
        """An epoch begins."""
        self._run = run
        self._at = self._clock() + FIRST_SECONDS
        self._known.clear()

    def left(self) -> float | None:
        """Seconds until the next report is due; None: no more reports in this epoch."""
        return None if self._at is None else max(0.0, self._at - self._clock())

    def look(self) -> None:
        """Report what has changed, if a report is due."""
        if self._at is None or self._clock() < self._at:
            return
        found = [(name, task.so_far()) for name, task in self._tasks.items()]
        at_work = {name: so_far for name, so_far in found if so_far is not None}
        self._at = self._clock() + SECONDS if at_work else None
        if news := tuple(so_far for name, so_far in at_work.items() if self._is_new(name, so_far)):
            self._say(EpochProgress(self._run, news))

    def _is_new(self, name: TaskId, so_far: TaskSoFar) -> bool:
        known = so_far.reports, so_far.times.pressed
        before = self._known.get(name)
        self._known[name] = known
        return before != known


SWITCH_SECONDS = 0.0005
"""Seconds that a busy thread keeps the interpreter (``sys.setswitchinterval``): packets for other tasks wait that long.
"""
_READ = 1 << 18
_CONNECTING = 32
"""connections to other owners that are made at the same time"""
_CLOSING = 32
"""tasks that are closed at the same time"""
_lives = itertools.count()
"""numbers the ``FlowOwner`` objects of this process, for the names of their sockets"""


def flow(call: Join, driver: Link, running: Running) -> None:
    """Serve a job in flow until the driver closes the connection.

    :param driver: that connection.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    with contextlib.suppress(EOFError, OSError):
        FlowOwner(call, driver, running).serve()


def _meeting(call: Join, folder: str) -> Meeting:
    """Begin to listen for other owners.

    :param folder: of the keeper, which deletes what a killed owner leaves there.
    """
    if call.host:
        return NetworkMeeting(call.host, call.ports, call.address.tls)
    # Few characters, since the path of a socket may not be long.
    return LocalMeeting(os.path.join(folder, f"{os.getpid():x}{string.ascii_lowercase[next(_lives) % 26]}"))


class CutError(RuntimeError):
    """The connection to another owner was cut: that owner has ended, or the network has failed."""


class FlowOwner:
    """The owner's side of one set of connections: to the driver and to the other owners."""

    def __init__(self, call: Join, driver: Link, running: Running) -> None:
        self._number = call.owner
        self._driver = driver
        self._writing = threading.Lock()
        """lock for writing to the driver's connection"""
        self._shipped = running.prepared(call.job)
        self._process = running.process
        self._digest, self._introduced = call.job, running.introduced
        self._meeting = _meeting(call, running.folder)
        self._folder = open_folder(self._shipped.state)
        self._storage = FolderStorage(self._folder, self._shipped.key_groups, self._shipped.job_id)
        self._shares = self._shipped.token is not None and call.job not in running.introduced
        """whether the driver still has to check that this process and the driver share the folder"""
        self._job = self._shipped.load()
        self._loop = FlowLoop(self._left, self._look)
        self._peers = Peers((), b"", 0)
        self._lease = Lease(0)
        self._beat_at: float | None = None
        """when the next sign of life is due (seconds of the monotonic clock); None: none is"""
        self._connecting: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)
        """number of an owner -> lock for connecting to it"""
        self._out: dict[int, tuple[socket.socket, threading.Lock]] = {}
        """number of an owner -> the connection to it"""
        self._tasks: dict[TaskId, FlowTaskRunner] = {}
        self._marks = Marks(self._job)
        self._reports = Reports(self._tasks, self._say)
        self._run = 0
        self._error: BaseException | None = None

    def serve(self) -> None:
        """Serve until the driver closes the connection, or has been silent for longer than the lease."""
        try:
            send(self._driver, Listening(self._meeting.place))
            peers, _ = receive(self._driver)
            assert isinstance(peers, Peers)
            self._meet(peers)
            self._make_tasks()
            self._loop.selector.register(self._meeting.ready, selectors.EVENT_READ, self._accept)
            self._loop.selector.register(self._driver, selectors.EVENT_READ, self._order)
            self._loop.run()
        except (EOFError, ConnectionError):
            raise
        except Exception as error:
            self._broken(error)  # the driver says so, if it still wants to know
        finally:
            self._meeting.close()
            self._stop()

    def _meet(self, peers: Peers) -> None:
        """Take the places of the other owners and, where that is not left for later, connect to them."""
        self._peers = peers
        self._meeting.begin(peers.secret)
        missed: list[str] = []
        if self._meeting.at_once:
            others = [number for number in range(len(peers.places)) if number != self._number]
            with JobPool(min(_CONNECTING, max(len(others), 1))) as pool:
                missed = [text for text in pool.map(self._reach, others) if text]
        self._say(Reached(tuple(missed)))
        self._lease = Lease(peers.lease_seconds)
        if peers.lease_seconds:
            self._beat_at = time.monotonic()

    def _reach(self, owner: int) -> str:
        """Connect to an owner; returns what is wrong with that, or nothing."""
        try:
            self._connection(owner)
        except OSError as error:
            return f"{self._meeting.place} does not reach {self._peers.places[owner]}: {error}"
        return ""

    def _left(self) -> float | None:
        """Seconds until a report or a sign of life is due."""
        report = self._reports.left()
        if self._beat_at is None:
            return report
        beat = max(0.0, self._beat_at - time.monotonic())
        return beat if report is None else min(beat, report)

    def _look(self) -> None:
        """Report and say that this process lives, if that is due."""
        if self._lease.over:
            raise LeaseError(f"the driver has been silent for {self._peers.lease_seconds:g} s")
        self._reports.look()
        self._beat()

    def _beat(self) -> None:
        if self._beat_at is not None and time.monotonic() >= self._beat_at:
            self._beat_at = time.monotonic() + BEAT_SECONDS
            self._say(Alive())

    def _stop(self) -> None:
        """Stop all tasks; the loop has ended."""
        for task in self._tasks.values():
            task.stop()
        for link, _ in self._out.values():
            cut(link)  # wakes a task that writes
        for task in self._tasks.values():
            task.join()
        with JobPool(min(_CLOSING, max(len(self._tasks), 1))) as pool:
            deque(pool.map(FlowTaskRunner.close, self._tasks.values()), maxlen=0)
        for link, _ in self._out.values():
            link.close()
        for key in list(self._loop.selector.get_map().values()):
            if key.fileobj not in (self._driver, self._meeting.ready) and isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._loop.close()

    # -- tasks -----------------------------------------------------------------------------------------------------

    def _owner_of(self, task: TaskId) -> int:
        return task[1] % len(self._peers.places)

    def _make_tasks(self) -> None:
        for stage, width in enumerate(self._job.partitions):
            for partition in range(width):
                task = (stage, partition)
                if self._owner_of(task) == self._number:
                    self._tasks[task] = self._make_task(task)

    def _make_task(self, task: TaskId) -> FlowTaskRunner:
        worker = FlowWorker(
            task,
            self._shipped.load,
            self._storage,
            now_millis,
            partial(FlowTask, ahead=self._peers.ahead),
            process=self._process,
            worker=recent_report,
        )
        return FlowTaskRunner(
            worker,
            self._loop,
            self._send,
            self._acknowledge,
            lambda lines: self._say(Printed(lines)),
            lambda results: self._say(Collected(task, results)),
            lambda: self._say(First(self._run)),
            lambda: self._say(Wanted(self._run)),
            self._broken,
            self._peers.ahead,
            self._lease,
        )

    def _acknowledge(self, ack: TaskAck) -> None:
        if self._shares:
            self._shares = False
            assert self._shipped.token is not None
            self._introduced.add(self._digest)
            ack = replace(ack, first_write=first_write(self._folder, self._shipped.token))
        self._say(Acked(ack.encode()))

    def _say(self, message: object) -> None:
        with self._writing, contextlib.suppress(OSError):  # the thread that reads sees that the driver is gone
            send(self._driver, message)

    def _broken(self, error: BaseException) -> None:
        self._say(Broken(full_traceback(error)))

    # -- what the driver says --------------------------------------------------------------------------------------

    def _order(self) -> None:
        self._obey(receive(self._driver)[0])
        while held(self._driver):
            self._obey(receive(self._driver)[0])

    def _obey(self, message: object) -> None:
        self._lease.renew()
        if isinstance(message, Begin):
            self._begin(message)
        elif isinstance(message, End):
            for task in self._tasks.values():
                task.end()
        elif isinstance(message, Limits):
            if message.run == self._run:
                for task in self._tasks.values():
                    task.align(message.limits)
        elif isinstance(message, Taken):
            self._tasks[message.task].taken(message.parts)
        elif isinstance(message, Ask):
            JobThread(target=self._tell, args=(message,), name="millrace-show", daemon=True).start()

    def _tell(self, question: Ask) -> None:
        """Answer a question about the threads of this process; takes as long as they are to be watched."""
        self._say(Told(question.number, tell(question.request)))

    def _begin(self, begin: Begin) -> None:
        run = self._run = begin.run
        for name, task in self._tasks.items():
            order, own = orders.read(begin.text, self._folder, name)
            results = TaskResults(self._folder, order.epoch, name, run) if self._shipped.result_files else None
            task.begin(order, own, run, FolderSnapshots(run), results)
        self._reports.begin(run)

    # -- packets ---------------------------------------------------------------------------------------------------

    def _send(self, frames: list[Frame]) -> None:
        """From the thread of a task."""
        here: list[Sent] = []
        away: dict[int, list[Sent]] = {}
        marks: list[EpochMark] = []
        for frame in frames:
            if isinstance(frame, EpochMark):
                marks.append(frame)
                continue
            owner = self._owner_of(destination(self._job, frame))
            if owner == self._number:
                here.append(frame)
            else:
                away.setdefault(owner, []).append(frame)
        for owner, sent in divided(marks, len(self._peers.places)) if marks else ():
            (here if owner == self._number else away.setdefault(owner, [])).append(sent)
        self._deliver(here)
        for owner, gathered in away.items():
            try:
                link, writing = self._connection(owner)
                with writing:
                    link.sendall(encoded(gathered))
            except OSError as error:
                raise CutError(f"the connection to process {owner} of the job was cut: {error}") from error

    def _connection(self, owner: int) -> tuple[socket.socket, threading.Lock]:
        found = self._out.get(owner)
        if found is not None:
            return found
        with self._connecting[owner]:
            if owner not in self._out:
                link = self._meeting.connect(self._peers.places[owner], self._number)
                self._out[owner] = link, threading.Lock()
            return self._out[owner]

    def _accept(self) -> None:
        for link in self._meeting.arrived():
            link.setblocking(False)
            self._loop.selector.register(link, selectors.EVENT_READ, partial(self._hear, link, Decoder()))

    def _hear(self, link: socket.socket, decoder: Decoder) -> None:
        try:
            content = come(link, _READ)
        except ConnectionError:
            content = b""
        if content is None:
            return
        if not content:
            raise CutError("a connection from another process of the job was cut")
        self._deliver(decoder.add(content))

    def _deliver(self, frames: Iterable[Sent]) -> None:
        for frame in frames:
            if isinstance(frame, SenderMarks):
                for whole in self._marks.add(frame):
                    self._tasks[self._job.edge_stages[whole.edge], whole.target].deliver_marks(whole)
            else:
                self._tasks[destination(self._job, frame)].deliver(frame)
