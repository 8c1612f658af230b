"""What became of a job: when it entered which state, why it failed, what its last epochs took, phase by phase.

The thread that drives the job writes, any other one reads: what is read are copies. Tasks that live in another process
than in the epoch before are counted, too: each of them had to read its state from files.
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
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import TaskId

# Tasks in another process


class TaskMoves:
    """Where tasks live, on the driver."""

    def __init__(self) -> None:
        self._processes: dict[TaskId, str] = {}

    def take(self, acks: Iterable[TaskAck]) -> int:
        """How many tasks of an epoch, which is complete, have moved since the last one that was."""
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
    """The epoch that runs."""

    def __init__(self, job: JobGraph) -> None:
        self._loads = Loads(job)
        self._since = perf_counter()
        self._spent: dict[str, float] = {}

    def begin(self) -> None:
        """It is about to be planned."""
        self._spent = {}
        self._since = perf_counter()

    def planned(self) -> None:
        """It has been planned, and its tasks are about to run."""
        self._spent["plan"] = self._lap()

    def ran(self, acks: Sequence[TaskAck]) -> None:
        """All tasks have acknowledged."""
        self._spent |= self._loads.phases(acks, self._lap())

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Its end becomes a checkpoint meanwhile."""
        with self._timed("record"):
            yield

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Sinks commit meanwhile."""
        with self._timed("commit"):
            yield

    def all(self) -> dict[str, float]:
        """Name of each phase -> ms so far."""
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
"""Epochs that are remembered."""
FAILURES = 16
"""Flink's default for ``web.exception-history-size``."""
_CLASS = re.compile(r"[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class FailureRecord:
    """Why a job failed or restarted."""

    at: int
    """ms"""
    name: str
    """class of the exception"""
    text: str
    """what a user reads first"""
    stacktrace: str
    attempt: int
    """the attempt of the job that failed, 0 for the first one"""
    root: bool
    """whether the job failed or restarted because of it"""
    failure: Failure | None = None
    """None: it is no task's failure"""
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
    """One job's past.

    :param clock: gives ms.
    """

    def __init__(self, clock: Callable[[], int], failures: int = FAILURES) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entered: dict[JobStatus, int] = {}
        self._spent: dict[JobStatus, int] = {}
        """ms in states that the job has left"""
        self._status = JobStatus.CREATED
        self._epochs: deque[EpochRecord] = deque(maxlen=EPOCHS)
        self._failures: deque[FailureRecord] = deque(maxlen=max(failures, 1))
        self._failed = 0
        self.created = clock()
        self._entered[JobStatus.CREATED] = self.created

    def keep_failures(self, most: int) -> None:
        """Remember so many (``web.exception-history-size``)."""
        with self._lock:
            self._failures = deque(self._failures, maxlen=max(most, 1))

    def enter(self, status: JobStatus) -> None:
        """The job is in this state from now on; it never leaves the last one."""
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
        """State -> when the job entered it last (ms)."""
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
        """An epoch is complete."""
        with self._lock:
            self._epochs.append(record)

    def epochs(self) -> tuple[EpochRecord, ...]:
        """The last ones, oldest first."""
        with self._lock:
            return tuple(self._epochs)

    def failed(self, error: BaseException, attempt: int) -> None:
        """The job fails, or restarts, because of an error."""
        record = record_of(error, self._clock(), attempt)
        with self._lock:
            self._failures.append(record)
            self._failed += 1

    def failures(self) -> tuple[FailureRecord, ...]:
        """The last ones, the newest first."""
        with self._lock:
            return tuple(reversed(self._failures))

    @property
    def truncated(self) -> bool:
        """Whether there were more failures than are remembered."""
        with self._lock:
            return self._failed > len(self._failures)


def record_of(error: BaseException, at: int, attempt: int) -> FailureRecord:
    """An error as it is remembered."""
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
