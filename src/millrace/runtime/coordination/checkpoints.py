"""When the end of an epoch becomes a checkpoint, how that went, and which checkpoints are kept.

What is not needed any more is deleted by a ``Cleaner``; no epoch has to wait for that.
"""

from __future__ import annotations

import enum
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.clocks import is_over, steady_of
from millrace.runtime.coordination.snapshot import JobSnapshot
from millrace.runtime.failure import Failure, JobFailedError, describe, full_traceback
from millrace.runtime.storage import CheckpointStore, TaskId
from millrace.util.threads import JobThread

# Deleting

logger = logging.getLogger(__name__)

THREADS = 4
"""Deletions that run at a time: most of each is waiting for a file system."""
WAITING = 10_000
"""Deletions that wait at most; the rest comes back with a later epoch."""


class Cleaner(Protocol):
    """Runs deletions. One that fails is logged: what is left costs space, and the deletion may be asked for again."""

    def submit(self, what: str, delete: Callable[[], None]) -> bool:
        """Run this some time; False: there is no room for it now.

        :param what: is deleted, for the log.
        """

    def close(self, seconds: float = 10.0) -> None:
        """Wait so long for what was submitted to be done; no more will come."""


class AtOnce:
    """Runs them where they are asked for: for tests, and where no epoch is waiting."""

    def submit(self, what: str, delete: Callable[[], None]) -> bool:
        _run(what, delete)
        return True

    def close(self, seconds: float = 10.0) -> None:
        """Everything is done."""


class InBackground:
    """Runs them in threads, which begin with the first one."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[str, Callable[[], None]] | None] = queue.Queue(WAITING)
        self._threads: list[threading.Thread] = []

    def submit(self, what: str, delete: Callable[[], None]) -> bool:
        try:
            self._waiting.put_nowait((what, delete))
        except queue.Full:
            return False
        if len(self._threads) < THREADS:
            thread = JobThread(target=self._work, name="millrace-cleaning", daemon=True)
            self._threads.append(thread)
            thread.start()
        return True

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            _run(*job)

    def close(self, seconds: float = 10.0) -> None:
        deadline = time.monotonic() + seconds
        threads, self._threads = self._threads, []
        try:
            for _ in threads:
                self._waiting.put(None, timeout=max(0.0, deadline - time.monotonic()))
        except queue.Full:
            pass  # nobody takes anything out: the threads are daemons
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _run(what: str, delete: Callable[[], None]) -> None:
    try:
        delete()
    except Exception:
        logger.warning("%s could not be deleted", what, exc_info=True)


# Figures of checkpoints and savepoints

HISTORY = 100
"""Checkpoints and savepoints that are remembered with their figures."""
EPOCH_FAILED = "the epoch failed that it should have been the end of"


class CheckpointStatus(enum.Enum):
    """How a checkpoint ended."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


@dataclass(frozen=True)
class TaskBytes:
    """What one task has written for a checkpoint."""

    new: int
    """bytes since the checkpoint before"""
    full: int
    """bytes of all files that its state consists of"""
    acknowledged: int
    """ms; -1: not known"""


@dataclass(frozen=True)
class CheckpointStats:
    """One checkpoint or savepoint that was tried."""

    checkpoint_id: int
    savepoint: bool
    status: CheckpointStatus
    trigger_time: int
    """ms"""
    duration: int
    """how long it took to record it, ms; the tasks write their changes as part of the epoch"""
    bytes: int
    """size of all files that it consists of"""
    new_bytes: int
    """of these what was written since the checkpoint before"""
    path: str | None = None
    cause: str | None = None
    """why it failed"""
    began: int = -1
    """when its epoch began (ms); -1: not known"""
    tasks: Mapping[TaskId, TaskBytes] = field(default_factory=dict)
    discarded: bool = False
    """whether it has been deleted: newer ones have taken its place"""

    @property
    def end_to_end(self) -> int:
        """From the beginning of its epoch to its record (ms)."""
        return self.duration if self.began < 0 else self.trigger_time + self.duration - self.began


@dataclass(frozen=True)
class Restored:
    """What the job went on from last."""

    checkpoint_id: int
    at: int
    """ms"""
    savepoint: bool
    path: str | None


@dataclass(frozen=True)
class CheckpointCounts:
    """How many there were."""

    completed: int = 0
    failed: int = 0
    in_progress: int = 0
    restored: int = 0

    @property
    def total(self) -> int:
        return self.completed + self.failed + self.in_progress


@dataclass(frozen=True)
class Pending:
    """A checkpoint or savepoint whose epoch runs."""

    epoch: int
    savepoint: bool
    began: int
    """ms"""


class CheckpointLog:
    """Written by the thread that drives the job, read by others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._history: deque[CheckpointStats] = deque(maxlen=HISTORY)
        self._counts = CheckpointCounts()
        self._restored: Restored | None = None
        self._new: dict[TaskId, int] = {}
        self._acknowledged: dict[TaskId, int] = {}
        self._pending: Pending | None = None

    def expect(self, pending: Pending) -> None:
        """The end of an epoch shall become a checkpoint or savepoint."""
        with self._lock:
            self._pending = pending
            self._counts = replace(self._counts, in_progress=1)

    @property
    def pending(self) -> Pending | None:
        """What is on its way."""
        return self._pending

    def give_up(self, now: int, cause: str = EPOCH_FAILED) -> None:
        """What was on its way does not come."""
        pending = self._pending
        if pending is not None:
            began, status = pending.began, CheckpointStatus.FAILED
            stats = CheckpointStats(pending.epoch, pending.savepoint, status, began, now - began, 0, 0)
            self.add(replace(stats, cause=cause, began=began))

    def saved(self, now: int, path: str, tasks: Mapping[TaskId, TaskBytes]) -> None:
        """The savepoint that was on its way is there."""
        pending = self._pending
        assert pending is not None, "a savepoint is expected before it is there"
        began, size = pending.began, sum(task.full for task in tasks.values())
        status = CheckpointStatus.COMPLETED
        self.add(CheckpointStats(pending.epoch, True, status, began, now - began, size, size, path, None, began, tasks))

    def written(self, acks: Iterable[TaskAck]) -> None:
        """Tasks have written state."""
        with self._lock:
            for ack in acks:
                task = (ack.stage, ack.partition)
                size = (ack.delta_bytes or 0) + (ack.full_bytes or 0)
                self._new[task] = self._new.get(task, 0) + size
                self._acknowledged[task] = ack.at

    def new_bytes(self) -> int:
        """What was written since the last checkpoint that counts."""
        with self._lock:
            return sum(self._new.values())

    def tasks(self, full: Mapping[TaskId, int]) -> dict[TaskId, TaskBytes]:
        """What each task has written since the last checkpoint that counts.

        :param full: bytes of all files of each task.
        """
        with self._lock:
            return {
                task: TaskBytes(self._new.get(task, 0), size, self._acknowledged.get(task, -1))
                for task, size in full.items()
            }

    def add(self, stats: CheckpointStats) -> None:
        """A checkpoint or savepoint has ended. A checkpoint that comes with a savepoint shows as that."""
        with self._lock:
            completed = stats.status is CheckpointStatus.COMPLETED
            if completed and not stats.savepoint:
                self._new.clear()
                if self._pending is not None and self._pending.savepoint:
                    return
            self._history.append(stats)
            counts, self._pending = self._counts, None
            if completed:
                self._counts = replace(counts, completed=counts.completed + 1, in_progress=0)
            else:
                self._counts = replace(counts, failed=counts.failed + 1, in_progress=0)

    def discarded(self, checkpoint_id: int) -> None:
        """It is being deleted."""
        with self._lock:
            for index, stats in enumerate(self._history):
                if stats.checkpoint_id == checkpoint_id and not stats.savepoint:
                    self._history[index] = replace(stats, discarded=True)

    def restored(self, restored: Restored) -> None:
        """The job goes on from a checkpoint or savepoint."""
        with self._lock:
            self._restored = restored
            self._counts = replace(self._counts, restored=self._counts.restored + 1)

    @property
    def last_restored(self) -> Restored | None:
        return self._restored

    @property
    def counts(self) -> CheckpointCounts:
        return self._counts

    def history(self) -> list[CheckpointStats]:
        """The last ones, oldest first."""
        with self._lock:
            return list(self._history)


# Checkpoints


@dataclass(frozen=True)
class CheckpointSettings:
    """What ``CheckpointConfig`` says, as far as it has an effect. Times are ms."""

    interval: int
    min_pause: int = 0
    timeout: int = 600_000
    tolerable_failures: int = 0
    retained: int = 1


@dataclass(frozen=True)
class RetainedCheckpoint:
    """A checkpoint that is kept, and the oldest file of each task that it needs."""

    checkpoint_id: int
    firsts: dict[TaskId, int]


class Checkpoints:
    """The checkpoints of one job."""

    def __init__(
        self,
        settings: CheckpointSettings,
        store: CheckpointStore,
        clock: Callable[[], int],
        cleaner: Cleaner | None = None,
    ) -> None:
        self.settings = settings
        self.log = CheckpointLog()
        self.adopted_tasks: frozenset[TaskId] = frozenset()
        """tasks of the checkpoints of earlier drivers"""
        self._store = store
        self._clock = clock
        self._steady = steady_of(clock)
        self._cleaner = cleaner or AtOnce()
        self._kept: list[RetainedCheckpoint] = []
        self._going: list[RetainedCheckpoint] = []
        """checkpoints that nobody wants, but that may lie there: replaced ones, and those that failed"""
        self._asked: set[int] = set()
        """those of them that the cleaner is about to delete"""
        self._failed = 0
        """checkpoints in a row that failed"""
        self._begun = self._steady()
        self._ended = self._begun

    def adopt(self, kept: Iterable[RetainedCheckpoint]) -> None:
        """Checkpoints of an earlier driver of this job, oldest first."""
        self._kept = list(kept)
        self.adopted_tasks = frozenset(task for checkpoint in self._kept for task in checkpoint.firsts)

    def epochs_begin(self, epoch: int) -> None:
        """From here on epochs have this number and higher ones."""
        self._store.reserve(epoch)

    def due(self) -> bool:
        """Whether the epoch that ends now should become a checkpoint."""
        now, settings = self._steady(), self.settings
        return is_over(now, self._begun + settings.interval, settings.interval) and is_over(
            now, self._ended + settings.min_pause, settings.min_pause
        )

    def take(self, snapshot: JobSnapshot, must: bool = False, epoch_began: int = -1) -> str | None:
        """Record a checkpoint; its path, or None if it failed and that is tolerable.

        :param must: the job's last one: without it, what sinks have prepared would never be seen.
        :param epoch_began: when the epoch began that ends with it (ms); -1: not known.
        :raises JobFailedError: more failures in a row than are tolerable.
        """
        began, self._begun = self._clock(), self._steady()
        log = self.log
        if log.pending is None:
            log.expect(Pending(snapshot.epoch, False, began))
        path = None
        try:
            path = self._store.write(snapshot)
            cause: BaseException | None = None
        except Exception as error:
            cause = error
        self._ended = self._steady()
        took = self._ended - self._begun
        if cause is None and took > self.settings.timeout and not must:
            cause = TimeoutError(f"it took {took} ms, the timeout is {self.settings.timeout} ms")
        kept = RetainedCheckpoint(snapshot.epoch, {task: chain.first for task, chain in snapshot.tasks.items()})
        status = CheckpointStatus.COMPLETED if cause is None else CheckpointStatus.FAILED
        text = None if cause is None else describe(cause)
        size = snapshot.bytes
        tasks = log.tasks({task: chain.bytes for task, chain in snapshot.tasks.items()})
        log.add(
            CheckpointStats(
                snapshot.epoch, False, status, began, took, size, log.new_bytes(), path, text, epoch_began, tasks
            )
        )
        if cause is not None:
            self._going.append(kept)
            self._delete()
            self._count_failure(snapshot, cause, must)
            return None
        self._failed = 0
        self._kept.append(kept)
        too_many = max(0, len(self._kept) - self.settings.retained)
        self._going += self._kept[:too_many]
        del self._kept[:too_many]
        self._delete()
        return path

    def _delete(self) -> None:
        """Delete what is going. As long as that has not happened, it keeps its files."""
        for kept in list(self._going):
            if kept.checkpoint_id not in self._asked:
                self._asked.add(kept.checkpoint_id)
                if not self._cleaner.submit(f"checkpoint {kept.checkpoint_id}", partial(self._delete_one, kept)):
                    self._asked.discard(kept.checkpoint_id)

    def _delete_one(self, kept: RetainedCheckpoint) -> None:
        try:
            self._store.delete(kept.checkpoint_id)
            self.log.discarded(kept.checkpoint_id)
            self._going.remove(kept)
        finally:
            self._asked.discard(kept.checkpoint_id)  # one that can't be deleted has another chance later

    def _count_failure(self, snapshot: JobSnapshot, cause: BaseException, must: bool) -> None:
        self._failed += 1
        if must or self._failed > self.settings.tolerable_failures:
            raise JobFailedError(
                Failure(
                    operator=snapshot.job_name,
                    subtask=-1,
                    origin="",
                    cause=describe(cause),
                    detail=full_traceback(cause),
                    during=f": checkpoint {snapshot.epoch} could not be recorded ({self._failed} in a row; tolerable: "
                    f"{self.settings.tolerable_failures})",
                )
            )

    def oldest_needed(self, task: TaskId, first: int) -> int:
        """The oldest epoch of whose files the task needs some: for the kept checkpoints, or (``first``) to run."""
        return min((first, *(kept.firsts.get(task, first) for kept in (*self._kept, *self._going))))
