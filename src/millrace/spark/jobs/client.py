"""The client of a job that a thread of this process drives, and the list of such jobs with its watchers.

``CollectedParts`` holds collected elements that the job has given and the program has not taken yet.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Protocol

from pyspark.util import InheritableThread

from millrace.common.jobs import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from millrace.spark.jobs.java_error import as_java_error
from millrace.util.threads import in_this_context

logger = logging.getLogger("millrace")


class JobWatcher(Protocol):
    """Is notified when jobs begin and end: on the thread that starts a job, and on the job's own thread at its end.
    Both wait for the calls, so these must be quick."""

    def begun(self, client: LocalJobClient) -> None: ...

    def ended(self, client: LocalJobClient) -> None:
        """The job's outcome is settled; threads that wait for its result have not been released yet."""


_lock = threading.Lock()
_running: dict[str, LocalJobClient] = {}
_watchers: list[JobWatcher] = []


def _leave_to_parent() -> None:
    """Forget the jobs of the parent in a fork: their threads stay there."""
    _running.clear()
    _watchers.clear()
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_leave_to_parent)


def watch(watcher: JobWatcher) -> None:
    """Notify this watcher of all jobs: those that run already, and those that start later."""
    with _lock:
        _watchers.append(watcher)
        running = list(_running.values())
    for client in running:
        _tell(watcher, client, over=False)


def begun(client: LocalJobClient) -> None:
    """List a job that is about to start, and notify the watchers."""
    with _lock:
        _running[str(client.get_job_id())] = client
        watchers = list(_watchers)
    for watcher in watchers:
        _tell(watcher, client, over=False)


def ended(client: LocalJobClient) -> None:
    """Take a job that is over off the list, and notify the watchers."""
    with _lock:
        _running.pop(str(client.get_job_id()), None)
        watchers = list(_watchers)
    for watcher in watchers:
        _tell(watcher, client, over=True)


def _tell(watcher: JobWatcher, client: LocalJobClient, over: bool) -> None:
    """Notify one watcher. An error that it raises is logged and does not fail the job."""
    try:
        (watcher.ended if over else watcher.begun)(client)
    except Exception:
        logger.exception("the figures of job %s could not be published", client.get_job_id())


AHEAD = 256
"""Parts that may wait in the queue for a slow reader before the job has to wait, too."""
_LOOK_SECONDS = 0.1


class CollectedParts:
    """A queue of pickled lists of values."""

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._changed = threading.Condition()

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def has_room(self) -> bool:
        """Whether the reader keeps up."""
        return len(self._parts) < AHEAD

    def add(self, part: bytes) -> None:
        """Append a part at once, even if the queue is full."""
        with self._changed:
            self._parts.append(part)
            self._changed.notify_all()

    def wait_for_room(self, given_up: Callable[[], bool]) -> None:
        """Wait until the queue has room, or ``given_up`` says that waiting is of no use any more."""
        with self._changed:
            while not self.has_room and not given_up():
                self._changed.wait(_LOOK_SECONDS)

    def take(self, seconds: float) -> bytes:
        """:raises queue.Empty: none has come in that time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._parts, seconds):
                raise queue.Empty
            part = self._parts.popleft()
            self._changed.notify_all()
            return part


POLL_SECONDS = 0.1


class JobCancelledError(Exception):
    """The job was cancelled before its end."""


class LocalJobClient(JobClient):
    """The client of a job that a thread of this process runs; the result is available when that thread has ended."""

    def __init__(self, job_id: str) -> None:
        self._id = JobID(job_id)
        self._started = time.monotonic()
        self._result: Future[JobExecutionResult] = Future()
        self.when_waited: Callable[[JobExecutionResult], None] = lambda _: None
        """told the result when somebody has waited for it"""
        self._thread = InheritableThread(target=in_this_context(self._run), name=f"millrace-{job_id[:8]}", daemon=True)

    def start(self) -> None:
        begun(self)
        self._thread.start()

    def _run(self) -> None:
        try:
            try:
                self._drive()
            finally:
                ended(self)
        except BaseException as error:
            self._result.set_exception(as_java_error(error))
        else:
            elapsed = int((time.monotonic() - self._started) * 1000)
            accumulators = self.get_accumulators().result()
            self._result.set_result(JobExecutionResult(self._id, elapsed, accumulators, self.get_metrics()))

    @abstractmethod
    def _drive(self) -> None:
        """Run the job to its end, on the job's own thread.

        :raises JobCancelledError: somebody has ended it.
        """

    @abstractmethod
    def _status(self) -> JobStatus: ...

    @abstractmethod
    def _stop(self) -> None:
        """End the job soon; what it has not committed does not count."""

    def get_job_id(self) -> JobID:
        return self._id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.of(self._status())

    def cancel(self) -> CompletableFuture[Any]:
        """Stop the job at once; the work of the running epoch is discarded."""
        self._stop()
        return CompletableFuture(self._ended())

    def _ended(self) -> Future[None]:
        ended: Future[None] = Future()
        self._result.add_done_callback(lambda _: ended.set_result(None))
        return ended

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return CompletableFuture(self._result)

    def wait(self) -> JobExecutionResult:
        """Wait for the result and return it. Ctrl-C cancels the job, waits for its end, and raises
        KeyboardInterrupt."""
        with self.ended_by_ctrl_c():
            while self._thread.is_alive():
                self._thread.join(POLL_SECONDS)
        result = self._result.result()
        self.when_waited(result)
        return result

    @contextmanager
    def ended_by_ctrl_c(self) -> Iterator[None]:
        """Stop the job and wait for its end if Ctrl-C, or an interrupted cell of a notebook, interrupts the block."""
        try:
            yield
        except KeyboardInterrupt:
            self._stop()
            self._thread.join()
            raise

    def discard(self) -> None:
        """Drop the remaining results: cancel the job if it still runs, and wait for its end. Raises the job's error, if
        any."""
        if not self._result.done():
            self._stop()
            self._thread.join()
        error = self._result.exception()
        if error is not None and not isinstance(error, JobCancelledError):
            raise error
