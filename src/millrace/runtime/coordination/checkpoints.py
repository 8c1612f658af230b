"""When the end of an epoch becomes a checkpoint, how that went, and which checkpoints are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from millrace.runtime.bases.spans import is_over
from millrace.runtime.clocks import steady_of
from millrace.runtime.coordination.checkpoint_log import CheckpointLog, CheckpointStats, CheckpointStatus, Pending
from millrace.runtime.coordination.cleaning import AtOnce, Cleaner
from millrace.runtime.coordination.snapshot import JobSnapshot
from millrace.runtime.failure import Failure, JobFailedError, describe, full_traceback
from millrace.runtime.storage import CheckpointStore, TaskId


@dataclass(frozen=True)
class CheckpointSettings:
    """What ``CheckpointConfig`` says, as far as it has an effect. Times are ms."""

    interval: int
    min_pause: int = 0
    timeout: int = 600_000
    tolerable_failures: int = 0
    retained: int = 1


@dataclass(frozen=True)
class Kept:
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
        self._kept: list[Kept] = []
        self._going: list[Kept] = []
        """checkpoints that nobody wants, but that may lie there: replaced ones, and those that failed"""
        self._asked: set[int] = set()
        """those of them that the cleaner is about to delete"""
        self._failed = 0
        """checkpoints in a row that failed"""
        self._begun = self._steady()
        self._ended = self._begun

    def adopt(self, kept: Iterable[Kept]) -> None:
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
        kept = Kept(snapshot.epoch, {task: chain.first for task, chain in snapshot.tasks.items()})
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

    def _delete_one(self, kept: Kept) -> None:
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
