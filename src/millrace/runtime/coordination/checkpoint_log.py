"""How the checkpoints and savepoints of a job went: their figures, for those who ask."""

from __future__ import annotations

import enum
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from millrace.runtime.protocol.epoch import TaskAck
from millrace.runtime.storage import TaskId

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
        self.add(
            CheckpointStats(pending.epoch, True, status, began, now - began, size, size, path, None, began, tasks)
        )

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
