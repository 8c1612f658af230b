"""The past of a job: when it entered which status, why it failed, how long each phase of its last epochs took.

The thread that drives the job writes; other threads read copies. It also counts the tasks that run in another process
than in the epoch before: each of them had to read its state from files.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

from millrace.common.jobs import JobStatus
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination.figures import Loads
from millrace.runtime.failure import Failure, JobFailedError, full_traceback
from millrace.runtime.storage import TaskId

# Tasks in another process


class TaskMoves:
    """Remembers, on the driver, which process each task runs in."""

    def __init__(self) -> None:
        self._processes: dict[TaskId, str] = {}

    def take(self, acks: Iterable[TaskAck]) -> int:
        """Take the acknowledgements of a complete epoch; returns how many tasks run in another process than before."""
        moved = 0
        for ack in acks:
            if ack.process is None:
                continue
            task = (ack.stage, ack.partition)
            moved += self._processes.get(task, ack.process) != ack.process
            self._processes[task] = ack.process
        return moved


# Phases of an epoch


class Phases:
    """Measures how long each phase of one epoch takes, from the moment at which it is made: the epoch is about to be
    planned."""

    def __init__(self, loads: Loads) -> None:
        self._loads = loads
        self._since = perf_counter()
        self._spent: dict[str, float] = {}

    def planned(self) -> None:
        """The epoch has been planned, and its tasks are about to run."""
        self._spent["plan"] = self._lap()

    def ran(self, acks: Sequence[TaskAck]) -> None:
        """All tasks have acknowledged the epoch."""
        self._spent |= self._loads.phases(acks, self._lap())

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Measures the recording of a checkpoint."""
        with self._timed("record"):
            yield

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Measures the commits of sinks."""
        with self._timed("commit"):
            yield

    def all(self) -> dict[str, float]:
        """Name of each phase -> its duration so far (ms)."""
        return dict(self._spent)

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = perf_counter()
        try:
            yield
        finally:
            self._spent[name] = self._spent.get(name, 0.0) + (perf_counter() - began) * 1000

    def _lap(self) -> float:
        """Milliseconds since the last call."""
        since, self._since = self._since, perf_counter()
        return (self._since - since) * 1000


# The history

EPOCHS = 200
"""The number of epochs that are remembered."""
FAILURES = 16
"""Flink's default for ``web.exception-history-size``."""
_CLASS = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class FailureRecord:
    """Why a job failed or restarted."""

    at: int
    """when the failure happened (ms)"""
    name: str
    """class name of the exception"""
    text: str
    """the message that users see first"""
    stacktrace: str
    attempt: int
    """the attempt of the job that failed; 0 is the first one"""
    root: bool
    """whether this failure made the job fail or restart"""
    failure: Failure | None = None
    """the failure of a task; None: the failure happened outside tasks"""
    concurrent: tuple[FailureRecord, ...] = ()


@dataclass(frozen=True)
class EpochRecord:
    """One complete epoch. Times are ms."""

    number: int
    began: int
    duration: int
    records: int
    watermark: int
    checkpoint: bool
    phases: dict[str, float] = field(default_factory=dict)


class JobHistory:
    """The status changes, failures and last epochs of one job.

    :param clock: gives the time in ms.
    """

    def __init__(self, clock: Callable[[], int], failures: int = FAILURES) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entered: dict[JobStatus, int] = {}
        self._spent: dict[JobStatus, int] = {}
        """status -> time (ms) that the job has spent in it, without the current status"""
        self._status = JobStatus.CREATED
        self._epochs: deque[EpochRecord] = deque(maxlen=EPOCHS)
        self._failures: deque[FailureRecord] = deque(maxlen=max(failures, 1))
        self._failed = 0
        self.created = clock()
        self._entered[JobStatus.CREATED] = self.created

    def keep_failures(self, most: int) -> None:
        """Remember at most this many failures (``web.exception-history-size``)."""
        with self._lock:
            self._failures = deque(self._failures, maxlen=max(most, 1))

    def enter(self, status: JobStatus) -> None:
        """The job has this status from now on; a final status never changes."""
        now = self._clock()
        with self._lock:
            if status is self._status or self._status.is_globally_terminal_state():
                return
            since = self._entered[self._status]
            self._spent[self._status] = self._spent.get(self._status, 0) + now - since
            self._status = status
            self._entered[status] = now

    @property
    def status(self) -> JobStatus:
        return self._status

    def entered(self) -> dict[JobStatus, int]:
        """Status -> when the job last entered it (ms)."""
        with self._lock:
            return dict(self._entered)

    def current(self, status: JobStatus) -> int:
        """How long the job has been in this state without a break (ms), 0 if it is in another one."""
        with self._lock:
            if status is not self._status:
                return 0
            return self._clock() - self._entered[status]

    def total(self, status: JobStatus) -> int:
        """How long the job has been in this state in all (ms)."""
        current = self.current(status)
        with self._lock:
            return self._spent.get(status, 0) + current

    def epoch(self, record: EpochRecord) -> None:
        """Add a complete epoch."""
        with self._lock:
            self._epochs.append(record)

    def epochs(self) -> tuple[EpochRecord, ...]:
        """The last epochs, oldest first."""
        with self._lock:
            return tuple(self._epochs)

    def failed(self, error: BaseException, attempt: int) -> None:
        """Remember an error because of which the job fails or restarts."""
        record = record_of(error, self._clock(), attempt)
        with self._lock:
            self._failures.append(record)
            self._failed += 1

    def failures(self) -> tuple[FailureRecord, ...]:
        """The last failures, newest first."""
        with self._lock:
            return tuple(reversed(self._failures))

    @property
    def truncated(self) -> bool:
        """Whether there were more failures than are remembered."""
        with self._lock:
            return self._failed > len(self._failures)


def record_of(error: BaseException, at: int, attempt: int) -> FailureRecord:
    """The record of an error for the history.

    :param at: when it happened (ms).
    :param attempt: the attempt of the job that failed.
    """
    if not isinstance(error, JobFailedError):
        return FailureRecord(at, type(error).__name__, str(error), full_traceback(error), attempt, True)
    concurrent = tuple(_of_task(failure, at, attempt, False, ()) for failure in error.concurrent)
    return replace(_of_task(error.failure, at, attempt, True, concurrent), text=str(error))


def _of_task(failure: Failure, at: int, attempt: int, root: bool, concurrent: Sequence[FailureRecord]) -> FailureRecord:
    text = failure.render()
    return FailureRecord(
        at, _class_of(failure.cause), text, failure.detail or text, attempt, root, failure, tuple(concurrent)
    )


def _class_of(cause: str) -> str:
    """The class of the exception in the last line of a traceback."""
    name, colon, _ = cause.partition(":")
    return name if _CLASS.fullmatch(name) and (colon or name == cause) else "JobFailedError"
