"""The worker's side of an epoch: find or rebuild the task, run it, store its changes, acknowledge.

Tasks stay in the worker process between epochs. Spark hands its workers out in turn, so a task found here may be one or
more epochs old: it then catches up from the changes that it missed, and only from those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from millrace.runtime.epoch import EpochOrder, TaskAck
from millrace.runtime.exchange import ACK, Manifest, Packet, in_order
from millrace.runtime.failure import Failure, OperatorError, describe, full_traceback
from millrace.runtime.job import JobGraph
from millrace.runtime.state.working import OutdatedCopyError
from millrace.runtime.storage import SnapshotFiles, StateStorage, TaskId
from millrace.runtime.task import StageTask
from millrace.runtime.versions import INITIAL, version_of

JOBS = 2
"""Jobs whose tasks a worker keeps: nobody tells it when a job has ended."""


@dataclass
class CachedTask:
    """A task and the version that its state has."""

    task: StageTask
    version: int


class TaskCache:
    """The tasks that live in this process."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, int, TaskId], CachedTask] = {}
        self._recent: list[str] = []

    def take(self, job_id: str, attempt: int, task_id: TaskId) -> CachedTask | None:
        """Take a task out: it comes back with ``put`` only after a success, since a failure leaves half an epoch."""
        return self._tasks.pop((job_id, attempt, task_id), None)

    def put(self, job_id: str, attempt: int, task_id: TaskId, cached: CachedTask) -> None:
        self._tasks[job_id, attempt, task_id] = cached

    def close(self) -> None:
        """Close all tasks; the first error is raised after all had their turn."""
        tasks, self._tasks = list(self._tasks.values()), {}
        errors: list[Exception] = []
        for cached in tasks:
            try:
                cached.task.close()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def begin(self, job_id: str, attempt: int) -> None:
        """A task of this job is about to run: close those of its earlier attempts, and of jobs long not seen."""
        if job_id in self._recent:
            self._recent.remove(job_id)
        self._recent = [*self._recent, job_id][-JOBS:]
        stale = [key for key in self._tasks if key[0] not in self._recent or (key[0] == job_id and key[1] != attempt)]
        for key in stale:
            _close_quietly(self._tasks.pop(key).task)


def run_task(
    job_id: str,
    load_job: Callable[[], JobGraph],
    task_id: TaskId,
    order: EpochOrder,
    packets: Iterable[Packet],
    storage: StateStorage,
    cache: TaskCache,
    clock: Callable[[], int],
    snapshots: SnapshotFiles | None = None,
    run: int = 1,
) -> Iterator[Packet]:
    """Run one task for one epoch: its packets for later tasks, at last its acknowledgement.

    ``load_job`` makes a fresh copy of the job: the user's functions have attributes, so no two tasks may share them.
    ``snapshots`` is where orders find and put savepoints. ``run`` is positive, and another number for each run of the
    task in this epoch: Spark may run it twice, even at the same time, but hears only one of them.

    A failure of the user's code is an acknowledgement too: no Spark task fails, so none is repeated in vain.
    """
    stage, partition = task_id
    arriving: Iterator[Packet] = iter(packets)
    cached: CachedTask | None = None
    manifest = Manifest(run)
    try:
        if order.restore is not None:
            cached = _taken_over(job_id, load_job, task_id, order, cache, clock, snapshots)
            yield from arriving  # only acknowledgements
            ack = _finish(cached, task_id, order, run, 0, storage, None)
        else:
            cached, replayed = _task_at(job_id, load_job, task_id, order, storage, cache, clock)
            stages = cached.task.job.edge_stages
            arriving = manifest.receiving(arriving, lambda edge: stages[edge] == stage)
            arriving = in_order(arriving, cached.task.job.leading_edges)
            yield from manifest.sending(cached.task.run(order, arriving))
            ack = _finish(cached, task_id, order, run, replayed, storage, snapshots)
            ack = replace(ack, sent=manifest.sent, received=manifest.received)
        if cached.task.finished or not order.keep_state:
            cached.task.close()
        if order.keep_state:
            cache.put(job_id, order.attempt, task_id, cached)
    except OperatorError as error:
        ack = TaskAck(order.epoch, stage, partition, failure=error.failure)
    except Exception as error:
        failure = Failure(
            operator=f"stage {stage}",
            subtask=partition,
            origin="Millrace itself",
            cause=describe(error),
            detail=full_traceback(error),
        )
        ack = TaskAck(order.epoch, stage, partition, failure=failure)
    if ack.failure is not None:
        if cached is not None:
            _close_quietly(cached.task)
        # Acknowledgements of earlier stages still have to get through: the driver looks for the first failure.
        yield from (packet for packet in arriving if packet.edge == ACK)
    yield Packet(partition, ACK, partition, stage, ack.encode())


def _task_at(
    job_id: str,
    load_job: Callable[[], JobGraph],
    task_id: TaskId,
    order: EpochOrder,
    storage: StateStorage,
    cache: TaskCache,
    clock: Callable[[], int],
) -> tuple[CachedTask, int]:
    """The task with the state of the last completed epoch, and how many versions were read for it."""
    cache.begin(job_id, order.attempt)
    versions = order.versions(task_id)
    cached = cache.take(job_id, order.attempt, task_id)
    if cached is not None:
        try:
            replayed = _catch_up(cached, task_id, versions, storage)
        except BaseException:
            _close_quietly(cached.task)  # a function that could not be initialized again
            raise
        if replayed is not None:
            return cached, replayed
        _close_quietly(cached.task)
    task = StageTask(load_job(), *task_id, clock, order.attempt)
    try:
        read = _restore(task, task_id, None, versions, storage)
    except BaseException:
        _close_quietly(task)
        raise
    if not task.finished:
        _open(task)
    return CachedTask(task, versions[-1]), read


def _taken_over(
    job_id: str,
    load_job: Callable[[], JobGraph],
    task_id: TaskId,
    order: EpochOrder,
    cache: TaskCache,
    clock: Callable[[], int],
    snapshots: SnapshotFiles | None,
) -> CachedTask:
    """A new task with its share of the state that other tasks have left."""
    assert snapshots is not None and order.restore is not None
    cache.begin(job_id, order.attempt)
    task = StageTask(load_job(), *task_id, clock, order.attempt)
    try:
        task.take_over(partial(snapshots.load, order.restore))
    except BaseException:
        _close_quietly(task)
        raise
    return CachedTask(task, INITIAL)


def _open(task: StageTask) -> None:
    try:
        task.open()
    except BaseException:
        _close_quietly(task)  # functions that were opened already
        raise


def _catch_up(cached: CachedTask, task_id: TaskId, history: tuple[int, ...], storage: StateStorage) -> int | None:
    """Do the epochs that this copy missed; None if it can't go on: it holds a failed epoch, or is too old."""
    try:
        missed = _restore(cached.task, task_id, cached.version, history, storage)
    except OutdatedCopyError:
        return None
    cached.version = history[-1]
    if missed:
        cached.task.caught_up()
    return missed


def _restore(
    task: StageTask, task_id: TaskId, version: int | None, history: tuple[int, ...], storage: StateStorage
) -> int:
    """Bring a task from a version (None: it is new) to the end of ``history``; how many versions it took."""
    epochs = set()
    for epoch, piece in task.working.changes(task_id, version, history, storage):
        task.restore(piece)
        epochs.add(epoch)
    return len(epochs)


def _finish(
    cached: CachedTask,
    task_id: TaskId,
    order: EpochOrder,
    run: int,
    replayed: int,
    storage: StateStorage,
    snapshots: SnapshotFiles | None,
) -> TaskAck:
    task = cached.task
    ack = TaskAck(order.epoch, *task_id, replayed=replayed, run=run)
    version = version_of(order.epoch, run)
    if order.keep_state:
        task.before_snapshot(order.epoch)
    task.take_stock()
    if order.keep_state:
        # A task that has taken over its state has no changes to tell: it begins with a whole state of its own.
        whole = task_id in order.compact or order.restore is not None
        if whole or order.savepoint is not None:
            task.before_full_snapshot()
        delta = task.delta()
        if order.restore is None:
            ack = replace(ack, delta_bytes=storage.write_delta(task_id, version, delta))
        if whole:
            ack = replace(ack, full_bytes=storage.write_full(task_id, version, task.full_pieces()))
        if order.savepoint is not None:
            ack = _save(task, ack, order.savepoint, snapshots)
    cached.version = version
    ack = replace(ack, reports=task.reports(), answers=task.answers(order.queries))
    if order.keep_state:
        task.working.finish(version, delta)
    return ack


def _save(task: StageTask, ack: TaskAck, uri: str, snapshots: SnapshotFiles | None) -> TaskAck:
    """A savepoint that fails does no harm to the job."""
    try:
        assert snapshots is not None, "this engine has no place for savepoints"
        return replace(ack, saved=task.save(partial(snapshots.save, uri)))
    except Exception as error:
        return replace(ack, not_saved=describe(error))


def _close_quietly(task: StageTask) -> None:
    try:
        task.close()
    except Exception:
        # The task is gone for good and its job has long been told how it ended.
        return
