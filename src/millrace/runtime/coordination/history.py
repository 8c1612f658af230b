"""What became of a job: when it entered which state, why it failed, and what its last epochs took.

The thread that drives the job writes, any other one reads: what is read are copies.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from millrace.common.jobs.job_status import JobStatus
from millrace.runtime.failure import Failure, JobFailedError, full_traceback

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


def _of_task(
    failure: Failure, at: int, attempt: int, root: bool, concurrent: Sequence[FailureRecord]
) -> FailureRecord:
    text = failure.render()
    return FailureRecord(
        at, _class_of(failure.cause), text, failure.detail or text, attempt, root, failure, tuple(concurrent)
    )


def _class_of(cause: str) -> str:
    """The class of the exception in the last line of a traceback."""
    name, colon, _ = cause.partition(":")
    return name if _CLASS.fullmatch(name) and (colon or name == cause) else "JobFailedError"
