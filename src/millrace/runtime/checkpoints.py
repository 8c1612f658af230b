"""When the end of an epoch becomes a checkpoint, how that went, and which checkpoints are kept."""

from __future__ import annotations

import enum
import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from millrace.runtime.failure import Failure, JobFailedError, describe, full_traceback
from millrace.runtime.snapshot import JobSnapshot
from millrace.runtime.storage import CheckpointStore, TaskId

logger = logging.getLogger(__name__)

HISTORY = 100
"""Checkpoints and savepoints that are remembered with their figures."""


@dataclass(frozen=True)
class CheckpointSettings:
    """What ``CheckpointConfig`` says, as far as it has an effect. Times are ms."""

    interval: int
    min_pause: int = 0
    timeout: int = 600_000
    tolerable_failures: int = 0
    retained: int = 1


class CheckpointStatus(enum.Enum):
    """How a checkpoint ended."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


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


@dataclass(frozen=True)
class Kept:
    """A checkpoint that is kept, and the oldest file of each task that it needs."""

    checkpoint_id: int
    firsts: dict[TaskId, int]


class Checkpoints:
    """The checkpoints of one job."""

    def __init__(self, settings: CheckpointSettings, store: CheckpointStore, clock: Callable[[], int]) -> None:
        self.settings = settings
        self.history: deque[CheckpointStats] = deque(maxlen=HISTORY)
        self.adopted_tasks: frozenset[TaskId] = frozenset()
        """tasks of the checkpoints of earlier drivers"""
        self._store = store
        self._clock = clock
        self._kept: list[Kept] = []
        self._doubtful: list[Kept] = []
        """checkpoints that failed, but may lie there all the same"""
        self._failed = 0
        """checkpoints in a row that failed"""
        self._begun = clock()
        self._ended = self._begun
        self._new_bytes = 0

    def adopt(self, kept: Iterable[Kept]) -> None:
        """Checkpoints of an earlier driver of this job, oldest first."""
        self._kept = list(kept)
        self.adopted_tasks = frozenset(task for checkpoint in self._kept for task in checkpoint.firsts)

    def epochs_begin(self, epoch: int) -> None:
        """From here on epochs have this number and higher ones."""
        self._store.reserve(epoch)

    def written(self, size: int) -> None:
        """Tasks wrote so many bytes of state."""
        self._new_bytes += size

    def due(self) -> bool:
        """Whether the epoch that ends now should become a checkpoint."""
        now, settings = self._clock(), self.settings
        return now - self._begun >= settings.interval and now - self._ended >= settings.min_pause

    def take(self, snapshot: JobSnapshot, must: bool = False) -> str | None:
        """Record a checkpoint; its path, or None if it failed and that is tolerable.

        :param must: the job's last one: without it, what sinks have prepared would never be seen.
        :raises JobFailedError: more failures in a row than are tolerable.
        """
        began = self._clock()
        self._begun = began
        path = None
        try:
            path = self._store.write(snapshot)
            cause: BaseException | None = None
        except Exception as error:
            cause = error
        self._ended = self._clock()
        took = self._ended - began
        if cause is None and took > self.settings.timeout and not must:
            cause = TimeoutError(f"it took {took} ms, the timeout is {self.settings.timeout} ms")
        kept = Kept(snapshot.epoch, {task: chain.first for task, chain in snapshot.tasks.items()})
        status = CheckpointStatus.COMPLETED if cause is None else CheckpointStatus.FAILED
        text = None if cause is None else describe(cause)
        self.history.append(
            CheckpointStats(
                snapshot.epoch, False, status, began, took, snapshot.bytes, self._new_bytes, path, text
            )
        )
        if cause is not None:
            self._doubtful.append(kept)
            self._delete(self._doubtful)
            self._count_failure(snapshot, cause, must)
            return None
        self._failed = self._new_bytes = 0
        self._kept.append(kept)
        self._delete(self._doubtful)
        self._delete(self._kept, self.settings.retained)
        return path

    def _delete(self, checkpoints: list[Kept], leave: int = 0) -> None:
        """Delete the oldest ones. One that can't be deleted keeps its files, until another time."""
        while len(checkpoints) > leave:
            try:
                self._store.delete(checkpoints[0].checkpoint_id)
            except Exception:
                logger.warning("checkpoint %d could not be deleted", checkpoints[0].checkpoint_id, exc_info=True)
                return
            del checkpoints[0]

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
        return min((first, *(kept.firsts.get(task, first) for kept in (*self._kept, *self._doubtful))))
