"""Decides when the end of an epoch becomes a checkpoint, records checkpoints and their figures, deletes old ones.

Files that are no longer needed are deleted by a ``Cleaner``, so that no epoch waits for a deletion.
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
"""Number of deletions that run at the same time; most of a deletion is waiting for a file system."""
WAITING = 10_000
"""The most deletions that wait in the queue; a rejected one is submitted again after a later epoch."""


class Cleaner(Protocol):
    """Runs deletions. A failed deletion is logged: the files only cost space, and the deletion may be submitted
    again.
    """

    def submit(self, what: str, delete: Callable[[], None]) -> bool:
        """Run a deletion at some later time; False: the queue is full.

        :param what: name of the thing to delete, for the log.
        """

    def close(self, seconds: float = 10.0) -> None:
        """Wait at most this long for the submitted deletions; there will be no more."""


class AtOnce:
    """Runs each deletion at once in the caller's thread: for tests, and where no epoch waits."""

    def submit(self, what: str, delete: Callable[[], None]) -> bool:
        _run(what, delete)
        return True

    def close(self, seconds: float = 10.0) -> None:
        """There is nothing to wait for: each deletion ran when it was submitted."""


class InBackground:
    """Runs deletions in threads, which start with the first deletion."""

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
"""The number of checkpoints and savepoints whose figures the log remembers."""
EPOCH_FAILED = "the epoch failed that it should have been the end of"


class CheckpointStatus(enum.Enum):
    """How a checkpoint ended."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


@dataclass(frozen=True)
class TaskBytes:
    """The number of bytes that one task has written for a checkpoint."""

    new: int
    """bytes written since the checkpoint before"""
    full: int
    """bytes of all files that the task's state consists of"""
    acknowledged: int
    """when the task acknowledged (ms); -1: not known"""


@dataclass(frozen=True)
class CheckpointStats:
    """The figures of one checkpoint or savepoint, completed or failed."""

    checkpoint_id: int
    savepoint: bool
    status: CheckpointStatus
    trigger_time: int
    """when it was started (ms)"""
    duration: int
    """how long recording it took (ms); the tasks write their state changes before, as part of the epoch"""
    bytes: int
    """size of all files that the checkpoint consists of"""
    new_bytes: int
    """the part of ``bytes`` that was written since the checkpoint before"""
    path: str | None = None
    cause: str | None = None
    """why the checkpoint failed"""
    began: int = -1
    """when the epoch that ends with the checkpoint began (ms); -1: not known"""
    tasks: Mapping[TaskId, TaskBytes] = field(default_factory=dict)
    discarded: bool = False
    """whether it has been deleted, because newer checkpoints have replaced it"""

    @property
    def end_to_end(self) -> int:
        """Time from the beginning of the checkpoint's epoch until it was recorded (ms)."""
        return self.duration if self.began < 0 else self.trigger_time + self.duration - self.began


@dataclass(frozen=True)
class Restored:
    """The checkpoint or savepoint that the job was last restored from."""

    checkpoint_id: int
    at: int
    """when the job was restored (ms)"""
    savepoint: bool
    path: str | None


@dataclass(frozen=True)
class CheckpointCounts:
    """The number of checkpoints and savepoints of a job, by status, and of restores."""

    completed: int = 0
    failed: int = 0
    in_progress: int = 0
    restored: int = 0

    @property
    def total(self) -> int:
        return self.completed + self.failed + self.in_progress


@dataclass(frozen=True)
class Pending:
    """A checkpoint or savepoint whose epoch is running."""

    epoch: int
    savepoint: bool
    began: int
    """when its epoch, or the recording of it, began (ms)"""


class CheckpointLog:
    """The history of a job's checkpoints. The thread that drives the job writes it, other threads read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._history: deque[CheckpointStats] = deque(maxlen=HISTORY)
        self._counts = CheckpointCounts()
        self._restored: Restored | None = None
        self._new: dict[TaskId, int] = {}
        self._acknowledged: dict[TaskId, int] = {}
        self._pending: Pending | None = None
        self._aside: list[Pending] = []
        """savepoints whose files are written while later epochs run"""

    def expect(self, pending: Pending) -> None:
        """The end of the running epoch is going to be a checkpoint or savepoint."""
        with self._lock:
            self._pending = pending

    def expect_if_none(self, pending: Pending) -> None:
        """As ``expect``, if nothing was expected of the end of this epoch."""
        if self._pending is None:
            self.expect(pending)

    @property
    def pending(self) -> Pending | None:
        """The checkpoint or savepoint that the running epoch ends with; if there is none, one whose files are written
        while it runs."""
        return self._pending or next(iter(self._aside), None)

    def set_aside(self) -> Pending:
        """The epoch of the savepoint in progress is complete, and others may follow before the savepoint is."""
        with self._lock:
            pending, self._pending = self._pending, None
            assert pending is not None and pending.savepoint, "a savepoint is expected before its epoch is complete"
            self._aside.append(pending)
            return pending

    def give_up(self, now: int, cause: str = EPOCH_FAILED) -> None:
        """The checkpoint or savepoint in progress, if any, has failed."""
        pending = self._pending
        if pending is not None:
            began, status = pending.began, CheckpointStatus.FAILED
            stats = CheckpointStats(pending.epoch, pending.savepoint, status, began, now - began, 0, 0)
            self.add(replace(stats, cause=cause, began=began))

    def saved(self, pending: Pending, now: int, path: str, tasks: Mapping[TaskId, TaskBytes]) -> None:
        """A savepoint that was set aside is complete."""
        began, size = pending.began, sum(task.full for task in tasks.values())
        status = CheckpointStatus.COMPLETED
        self._end_aside(
            pending,
            CheckpointStats(pending.epoch, True, status, began, now - began, size, size, path, None, began, tasks),
        )

    def not_saved(self, pending: Pending, now: int, cause: str) -> None:
        """A savepoint that was set aside has failed."""
        began, status = pending.began, CheckpointStatus.FAILED
        stats = CheckpointStats(pending.epoch, True, status, began, now - began, 0, 0, cause=cause, began=began)
        self._end_aside(pending, stats)

    def _end_aside(self, pending: Pending, stats: CheckpointStats) -> None:
        with self._lock:
            self._aside.remove(pending)
            self._remember(stats)

    def written(self, acks: Iterable[TaskAck]) -> None:
        """Count the bytes of state that tasks have written in an epoch."""
        with self._lock:
            for ack in acks:
                task = (ack.stage, ack.partition)
                size = (ack.delta_bytes or 0) + (ack.full_bytes or 0)
                self._new[task] = self._new.get(task, 0) + size
                self._acknowledged[task] = ack.at

    def new_bytes(self) -> int:
        """Bytes of state written since the last complete checkpoint."""
        with self._lock:
            return sum(self._new.values())

    def tasks(self, full: Mapping[TaskId, int]) -> dict[TaskId, TaskBytes]:
        """The bytes that each task has written since the last complete checkpoint.

        :param full: bytes of all files of each task.
        """
        with self._lock:
            return {
                task: TaskBytes(self._new.get(task, 0), size, self._acknowledged.get(task, -1))
                for task, size in full.items()
            }

    def add(self, stats: CheckpointStats) -> None:
        """Add a checkpoint or savepoint that has ended. Of a checkpoint and a savepoint of the same epoch only the
        savepoint is added."""
        with self._lock:
            completed = stats.status is CheckpointStatus.COMPLETED
            if completed and not stats.savepoint:
                self._new.clear()
                if self._pending is not None and self._pending.savepoint:
                    return
            self._pending = None
            self._remember(stats)

    def _remember(self, stats: CheckpointStats) -> None:
        self._history.append(stats)
        counts = self._counts
        if stats.status is CheckpointStatus.COMPLETED:
            self._counts = replace(counts, completed=counts.completed + 1)
        else:
            self._counts = replace(counts, failed=counts.failed + 1)

    def discarded(self, checkpoint_id: int) -> None:
        """Mark a checkpoint as deleted."""
        with self._lock:
            for index, stats in enumerate(self._history):
                if stats.checkpoint_id == checkpoint_id and not stats.savepoint:
                    self._history[index] = replace(stats, discarded=True)

    def restored(self, restored: Restored) -> None:
        """The job was restored from a checkpoint or savepoint."""
        with self._lock:
            self._restored = restored
            self._counts = replace(self._counts, restored=self._counts.restored + 1)

    @property
    def last_restored(self) -> Restored | None:
        return self._restored

    @property
    def counts(self) -> CheckpointCounts:
        return replace(self._counts, in_progress=(self._pending is not None) + len(self._aside))

    def history(self) -> list[CheckpointStats]:
        """The latest checkpoints and savepoints, oldest first, at most ``HISTORY``."""
        with self._lock:
            return list(self._history)


# Checkpoints


@dataclass(frozen=True)
class CheckpointSettings:
    """The settings of ``CheckpointConfig`` that have an effect. Times are ms."""

    interval: int
    min_pause: int = 0
    timeout: int = 600_000
    tolerable_failures: int = 0
    retained: int = 1


@dataclass(frozen=True)
class RetainedCheckpoint:
    """A retained checkpoint, with the oldest epoch of each task whose files it needs."""

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
        """tasks in the checkpoints of earlier drivers"""
        self._store = store
        self._clock = clock
        self._steady = steady_of(clock)
        self._cleaner = cleaner or AtOnce()
        self._kept: list[RetainedCheckpoint] = []
        self._going: list[RetainedCheckpoint] = []
        """checkpoints to delete whose files may still exist: replaced and failed ones"""
        self._asked: set[int] = set()
        """ids of checkpoints whose deletion was submitted and has not ended"""
        self._failed = 0
        """number of consecutive failed checkpoints"""
        self._begun = self._steady()
        self._ended = self._begun

    def adopt(self, kept: Iterable[RetainedCheckpoint]) -> None:
        """Take over the checkpoints of an earlier driver of this job, oldest first."""
        self._kept = list(kept)
        self.adopted_tasks = frozenset(task for checkpoint in self._kept for task in checkpoint.firsts)

    def epochs_begin(self, epoch: int) -> None:
        """Record that epochs have this number and higher ones from now on."""
        self._store.reserve(epoch)

    def due(self, length: int) -> bool:
        """Whether the epoch that ends now should become a checkpoint: its end is nearer to the end of the interval than
        that of the next epoch may be, and not more than a quarter of the interval too early.

        :param length: of the epoch (ms).
        """
        now, settings = self._steady(), self.settings
        early = min(length // 2, settings.interval // 4)
        return is_over(now, self._begun + settings.interval - early, settings.interval) and is_over(
            now, self._ended + settings.min_pause, settings.min_pause
        )

    def take(self, snapshot: JobSnapshot, must: bool = False, epoch_began: int = -1) -> str | None:
        """Record a checkpoint. Returns its path, or None if it failed and the failure is tolerable.

        :param must: whether this is the job's last checkpoint, without which the sinks' prepared data would never
            become visible.
        :param epoch_began: when the epoch that ends with the checkpoint began (ms); -1: not known.
        :raises JobFailedError: more consecutive checkpoints have failed than is tolerable.
        """
        began, self._begun = self._clock(), self._steady()
        log = self.log
        log.expect_if_none(Pending(snapshot.epoch, False, began))
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
        """Submit the deletion of replaced and failed checkpoints. The files of a checkpoint are needed until it is
        deleted."""
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
        """The oldest epoch whose files of the task are still needed.

        :param first: the oldest epoch that the running job needs; retained checkpoints may need older ones.
        """
        return min((first, *(kept.firsts.get(task, first) for kept in (*self._kept, *self._going))))
