"""What goes on beside an epoch that runs: the one before is recorded and committed on a thread of its own (ADR 28), and
whole states are made from files in a process of their own (ADR 31).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from millrace.checkpoint.merging import places_of
from millrace.runtime.bases.epoch_protocol import SavedSubtask
from millrace.runtime.coordination.compactions import WholeStates
from millrace.runtime.coordination.coordinator import EndedEpoch, EpochResult
from millrace.runtime.coordination.snapshot import OperatorPlace, TaskFiles, WholeFile
from millrace.runtime.operators.job_graph import OperatorInfo
from millrace.runtime.storage import TaskId
from millrace.spark.workers.frames import Merge, Merged, MergedJob, receive, send
from millrace.spark.workers.shipping import ShippedJob
from millrace.util.threads import JobThread

# The epoch before


class Conclusion:
    """The end of the epoch before the running one: at most one epoch is recorded and committed at a time.

    The thread that drives the job calls all methods.

    :param conclude: records and commits an epoch; called on a thread of its own.
    """

    def __init__(self, conclude: Callable[[EndedEpoch], EpochResult]) -> None:
        self._conclude = conclude
        self._running: tuple[Future[EpochResult], Callable[[EpochResult], None]] | None = None
        self.on_end: Callable[[], None] = _nothing
        """called from another thread when ``look`` has something to do"""

    def begin(self, ended: EndedEpoch, deliver: Callable[[EpochResult], None]) -> None:
        """Begin to record and commit an epoch.

        :param deliver: takes the result; called by ``look`` or ``wait``.
        """
        assert self._running is None, "the epoch before is still recorded"
        done: Future[EpochResult] = Future()
        self._running = done, deliver
        JobThread(target=self._run, args=(ended, done), name="millrace-recording", daemon=True).start()

    def _run(self, ended: EndedEpoch, done: Future[EpochResult]) -> None:
        try:
            result = self._conclude(ended)
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(result)
        self.on_end()

    def look(self) -> bool:
        """Deliver the result once the epoch is recorded and committed; returns whether no epoch is left to be.

        :raises Exception: the error of ``conclude``.
        """
        if self._running is None:
            return True
        done, deliver = self._running
        if not done.done():
            return False
        self._running = None
        deliver(done.result())
        return True

    def wait(self) -> None:
        """Wait until the epoch is recorded and committed, and deliver its result.

        :raises Exception: the error of ``conclude``.
        """
        if self._running is not None:
            done, _ = self._running
            done.exception()
            self.look()


def _nothing() -> None:
    """Nothing waits for the end."""


# Whole states

IDLE_SECONDS = 60.0
"""After so long without a request the process ends: it takes as much memory as that of a task."""


class MergerLostError(Exception):
    """The process has ended before it made what was requested."""


class MergingProcess(WholeStates):
    """A process beside this one that begins with the first request, and ends when there is none for
    ``IDLE_SECONDS``. If it ends sooner, all requests fail that it has not answered. The next request begins another
    process.

    :param shipped: the job, as its tasks get it.
    :param spark_directory: the folder that Spark downloads into on this machine.
    :param on_made: called from another thread after each answer.
    """

    def __init__(
        self,
        shipped: ShippedJob,
        spark_directory: str,
        operators: Iterable[OperatorInfo],
        on_made: Callable[[], None],
    ) -> None:
        self._job = MergedJob(shipped.encode(), spark_directory)
        self._places = [OperatorPlace.of(info) for info in operators]
        self._on_made = on_made
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self.life: _Life | None = None
        """the process of now; None: there is none"""
        self._closed = False

    def write(self, task: TaskId, files: TaskFiles) -> Future[WholeFile]:
        return self._ask(Merge(next(self._numbers), task, files))

    def save(self, task: TaskId, files: TaskFiles, uri: str) -> Future[tuple[SavedSubtask, ...]]:
        return self._ask(Merge(next(self._numbers), task, files, tuple(places_of(task, self._places)), uri))

    def _ask(self, message: Merge) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                future.set_exception(MergerLostError("the job is over"))
                return future
            life = self.life
            if life is None:
                life = self.life = _Life()
                JobThread(target=self._begin, args=(life,), name="millrace-merging", daemon=True).start()
            life.waiting[message.number] = future
            life.messages.put(message)
        return future

    def _begin(self, life: _Life) -> None:
        """Begin a process and send it what is asked: its imports take seconds, for which no epoch waits."""
        ours, theirs = socket.socketpair()
        with contextlib.suppress(OSError), theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "millrace.spark.workers.merger"],
                stdin=theirs.fileno(),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                start_new_session=True,  # a terminal's Ctrl-C is not for it
            )
            with self._lock:
                life.process = process
                if self._closed:
                    process.kill()
        JobThread(target=self._listen, args=(life, ours), name="millrace-merging", daemon=True).start()
        with contextlib.suppress(OSError):
            message: MergedJob | Merge | None = self._job
            while message is not None:
                send(ours, message)
                message = self._next(life)
            ours.shutdown(socket.SHUT_RDWR)

    def _next(self, life: _Life) -> Merge | None:
        """What is to be sent to the process next; None: it has ended, or shall end."""
        while True:
            try:
                return life.messages.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if not life.waiting:
                        if self.life is life:
                            self.life = None
                        return None

    def _listen(self, life: _Life, connection: socket.socket) -> None:
        with connection, contextlib.suppress(EOFError, OSError):
            while True:
                self._answered(life, receive(connection)[0])
        code = None if life.process is None else life.process.wait()
        with self._lock:
            if self.life is life:
                self.life = None
            waiting, life.waiting = life.waiting, {}
        life.messages.put(None)
        for future in waiting.values():
            future.set_exception(MergerLostError(f"the process that merges state files has ended ({code})"))
        self._on_made()

    def _answered(self, life: _Life, answer: Merged) -> None:
        with self._lock:
            future = life.waiting.pop(answer.number)
        if answer.error is None:
            future.set_result(answer.made)
        else:
            future.set_exception(RuntimeError(answer.error))
        self._on_made()

    def close(self) -> None:
        """End the process; what it has not made is not made."""
        with self._lock:
            self._closed = True
            process = None if self.life is None else self.life.process
        if process is not None:
            process.kill()
            process.wait()


class _Life:
    """One process, from its beginning to its end."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        """None: it has not begun, or can't"""
        self.messages: queue.SimpleQueue[Merge | None] = queue.SimpleQueue()
        """what is to be sent to it; None: it has ended"""
        self.waiting: dict[int, Future[Any]] = {}
        """number of a request -> what it has to answer"""
