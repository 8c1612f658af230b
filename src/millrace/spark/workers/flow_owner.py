"""An owner of a job in flow: its tasks, each on a thread of its own, and its connections to the driver and other
owners.

One thread reads all connections and never waits: a sender has credit, so there is room. Tasks write to other owners
themselves. Once a second the owner reports to the driver what its tasks have done of an epoch that goes on.
"""

from __future__ import annotations

import contextlib
import hmac
import itertools
import os
import selectors
import socket
import string
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from millrace.checkpoint.folder import open_folder
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
from millrace.spark.workers.flow_messages import (
    Acked,
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
    Sent,
    Taken,
    Wanted,
    encoded,
)
from millrace.spark.workers.flow_tasks import FlowTaskThread, Marks, divided
from millrace.spark.workers.frames import Join, exactly, receive, same_user, send
from millrace.spark.workers.inspection import recent_report
from millrace.spark.workers.running_tasks import Running

FIRST_SECONDS = 1.5
"""Seconds from the beginning of an epoch to its first report; shorter epochs report by their acknowledgements only."""
SECONDS = 1.0


class Reports:
    """Reports the progress of an owner's tasks to the driver. The thread that reads the owner's connections calls it,
    so tasks that are busy are reported, too.

    :param tasks: those of the owner.
    :param say: tells the driver.
    """

    def __init__(
        self,
        tasks: Mapping[TaskId, FlowTaskThread],
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
HELLO_SECONDS = 10.0
_READ = 1 << 18
_lives = itertools.count()
"""numbers the ``FlowOwner`` objects of this process, for the names of their sockets"""


def flow(call: Join, file: int, running: Running) -> None:
    """Serve a job in flow until the driver closes the connection.

    :param file: that connection; it stays open here.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    with socket.socket(fileno=os.dup(file)) as driver, contextlib.suppress(EOFError, OSError):
        FlowOwner(call, driver, running).serve()


class CutError(RuntimeError):
    """The connection to another owner was cut: that owner has ended, or the network has failed."""


class FlowOwner:
    """The owner's side of one set of connections: to the driver and to the other owners."""

    def __init__(self, call: Join, driver: socket.socket, running: Running) -> None:
        self._number = call.owner
        self._driver = driver
        self._writing = threading.Lock()
        """lock for writing to the driver's connection"""
        self._shipped = running.prepared(call.job)
        self._process = running.process
        # Few characters, since the path of a socket may not be long. The keeper deletes what a killed owner leaves.
        self._path = os.path.join(running.folder, f"{os.getpid():x}{string.ascii_lowercase[next(_lives) % 26]}")
        self._folder = open_folder(self._shipped.state)
        self._storage = FolderStorage(self._folder, self._shipped.key_groups, self._shipped.job_id)
        self._job = self._shipped.load()
        self._selector = selectors.DefaultSelector()
        self._peers = Peers((), b"", 0)
        self._out: dict[int, tuple[socket.socket, threading.Lock]] = {}
        """number of an owner -> the connection to it"""
        self._tasks: dict[TaskId, FlowTaskThread] = {}
        self._marks = Marks(self._job)
        self._reports = Reports(self._tasks, self._say)
        self._run = 0
        self._error: BaseException | None = None

    def serve(self) -> None:
        """Serve until the driver closes the connection."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path)
                listener.bind(self._path)
                listener.listen(256)
                send(self._driver, Listening(self._path))
                peers, _ = receive(self._driver)
                assert isinstance(peers, Peers)
                self._peers = peers
                self._make_tasks()
                self._selector.register(listener, selectors.EVENT_READ, partial(self._accept, listener))
                self._selector.register(self._driver, selectors.EVENT_READ, self._order)
                while True:
                    for key, _ in self._selector.select(self._reports.left()):
                        key.data()
                    self._reports.look()
        except (EOFError, ConnectionError):
            raise
        except Exception as error:
            self._broken(error)  # the driver says so, if it still wants to know
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            self._stop()

    def _stop(self) -> None:
        for task in self._tasks.values():
            task.stop()
        for link, _ in self._out.values():
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)  # wakes a task that writes
        for task in self._tasks.values():
            task.join()
        for link, _ in self._out.values():
            link.close()
        for key in list(self._selector.get_map().values()):
            if key.fileobj is not self._driver and isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()

    # -- tasks -----------------------------------------------------------------------------------------------------

    def _owner_of(self, task: TaskId) -> int:
        return task[1] % len(self._peers.paths)

    def _make_tasks(self) -> None:
        for stage, width in enumerate(self._job.partitions):
            for partition in range(width):
                task = (stage, partition)
                if self._owner_of(task) == self._number:
                    self._tasks[task] = self._make_task(task)
        for each in self._tasks.values():
            each.start()

    def _make_task(self, task: TaskId) -> FlowTaskThread:
        worker = FlowWorker(
            task,
            self._shipped.load,
            self._storage,
            now_millis,
            partial(FlowTask, ahead=self._peers.ahead),
            process=self._process,
            worker=recent_report,
        )
        return FlowTaskThread(
            worker,
            self._send,
            self._acknowledge,
            lambda lines: self._say(Printed(lines)),
            lambda results: self._say(Collected(task, results)),
            lambda: self._say(First(self._run)),
            lambda: self._say(Wanted(self._run)),
            self._broken,
            self._peers.ahead,
        )

    def _acknowledge(self, ack: TaskAck) -> None:
        self._say(Acked(ack.encode()))

    def _say(self, message: object) -> None:
        with self._writing, contextlib.suppress(OSError):  # the thread that reads sees that the driver is gone
            send(self._driver, message)

    def _broken(self, error: BaseException) -> None:
        self._say(Broken(full_traceback(error)))

    # -- what the driver says --------------------------------------------------------------------------------------

    def _order(self) -> None:
        message, _ = receive(self._driver)
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
        for owner, sent in divided(marks, len(self._peers.paths)) if marks else ():
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
        with self._writing:
            if owner not in self._out:
                link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                link.connect(self._peers.paths[owner])
                link.sendall(self._peers.secret)
                self._out[owner] = link, threading.Lock()
            return self._out[owner]

    def _accept(self, listener: socket.socket) -> None:
        link, _ = listener.accept()
        link.settimeout(HELLO_SECONDS)
        with contextlib.suppress(OSError, EOFError):
            if same_user(link, os.getuid()):
                secret = exactly(link, len(self._peers.secret))
                if hmac.compare_digest(secret, self._peers.secret):
                    link.settimeout(None)
                    self._selector.register(link, selectors.EVENT_READ, partial(self._hear, link, Decoder()))
                    return
        link.close()

    def _hear(self, link: socket.socket, decoder: Decoder) -> None:
        try:
            content = link.recv(_READ)
        except ConnectionError:
            content = b""
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
