"""The worker's side of an epoch: find or rebuild the task, run it, store its changes, acknowledge.

A task stays in its process from epoch to epoch, and is used again if its last run is the one that the driver heard of
and that counts. Else it is rebuilt from its files: after a failure, a move to another process, or a run that nobody
heard of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from millrace.runtime.exchange.exchange import ACK, ChannelWriter, Manifest, Packet, in_order
from millrace.runtime.failure import Failure, OperatorError, describe, full_traceback
from millrace.runtime.jobs.job import JobGraph, OperatorInfo
from millrace.runtime.protocol.epoch import EpochOrder, TaskAck, TaskOrder
from millrace.runtime.protocol.results import ResultFiles
from millrace.runtime.protocol.worker_report import WorkerReport
from millrace.runtime.state.restoring.saved import EarlierState
from millrace.runtime.storage import SnapshotFiles, StateStorage, TaskId, Wanted
from millrace.runtime.tasks.member import TaskDelta
from millrace.runtime.tasks.stopwatch import OTHER, RECORDING
from millrace.runtime.tasks.task import StageTask, WriterMaker
from millrace.runtime.tasks.task_cache import LiveTask, StaleOrderError, TaskCache
from millrace.runtime.versions import INITIAL, version_of, whole_at

__all__ = ["StaleOrderError", "TaskCache", "run_task"]


def run_task(
    job_id: str,
    load_job: Callable[[], JobGraph],
    task_id: TaskId,
    order: EpochOrder,
    own: TaskOrder,
    packets: Iterable[Packet],
    storage: StateStorage,
    cache: TaskCache,
    clock: Callable[[], int],
    snapshots: SnapshotFiles | None = None,
    run: int = 1,
    results: ResultFiles | None = None,
    worker: Callable[[], WorkerReport] | None = None,
    finish: Callable[[], bool] | None = None,
) -> Iterator[Packet]:
    """Run one task for one epoch: its packets for later tasks, at last its acknowledgement.

    ``load_job`` makes a fresh copy of the job: the user's functions have attributes, so no two tasks may share them.
    ``snapshots`` is where orders find and put savepoints, ``results`` where this run puts what is too much for an
    acknowledgement. ``run`` is positive, and another number for each run of the
    task in this epoch: Spark may run it twice, even at the same time, but hears only one of them. ``worker`` tells of
    this process, ``finish`` whether the epoch is to end now: what has not been begun is done in the next one.

    A failure of the user's code is an acknowledgement too: no Spark task fails, so none is repeated in vain.

    :raises StaleOrderError: the order comes too late; nothing was done.
    """
    stage, partition = task_id
    turn = cache.begin(job_id, task_id, order.epoch)
    arriving: Iterator[Packet] = iter(packets)
    live: LiveTask | None = None
    manifest = Manifest(run)
    failure: Failure | None = None
    try:
        if order.restore is not None:
            live = taken_over(load_job, task_id, order, clock, snapshots)
            yield from arriving  # only acknowledgements
            ack = finish_epoch(live, task_id, order, own, run, 0, storage, None)
        else:
            live, replayed = task_at(load_job, task_id, order, own, storage, cache.take(turn), clock)
            stages = live.task.job.edge_stages
            arriving = manifest.receiving(arriving, lambda edge: stages[edge] == stage)
            arriving = in_order(arriving, live.task.job.leading_edges)
            live.task.progress.runs_here()
            live.task.watch.start()
            yield from manifest.sending(live.task.run(order, own, arriving, results, finish))
            ack = finish_epoch(live, task_id, order, own, run, replayed, storage, snapshots)
            due = live.task.between.next_due() if order.keep_state else None
            ack = replace(ack, sent=manifest.sent, received=manifest.received, next_due=due)
        # What it tells may change as soon as the task rests.
        report = None if worker is None else worker()
        answer = replace(ack, process=cache.process, at=clock(), worker=report).encode()
        if live.task.finished or not order.keep_state:
            live.task.close()
        if order.keep_state:
            live.rest(clock())
            cache.put(turn, live)
    except Exception as error:
        failure = failure_of(task_id, error)
    except GeneratorExit:  # whoever wanted the packets is gone
        if live is not None:
            live.close()
        raise
    if failure is not None:
        report = None if worker is None else worker()
        answer = TaskAck(
            order.epoch, stage, partition, failure=failure, process=cache.process, at=clock(), worker=report
        ).encode()
        if live is not None:
            live.close()
        # Acknowledgements of earlier stages still have to get through: the driver looks for the first failure.
        yield from (packet for packet in arriving if packet.edge == ACK)
    yield Packet(partition, ACK, partition, stage, answer)


def failure_of(task_id: TaskId, error: Exception) -> Failure:
    """Of an error that no operator has put into words."""
    if isinstance(error, OperatorError):
        return error.failure
    stage, partition = task_id
    return Failure(
        operator=f"stage {stage}",
        subtask=partition,
        origin="Millrace itself",
        cause=describe(error),
        detail=full_traceback(error),
    )


def task_at(
    load_job: Callable[[], JobGraph],
    task_id: TaskId,
    order: EpochOrder,
    own: TaskOrder,
    storage: StateStorage,
    live: LiveTask | None,
    clock: Callable[[], int],
    make_writer: WriterMaker = ChannelWriter,
) -> tuple[LiveTask, int]:
    """The task with the state that the epoch starts from, and how many versions were read for it.

    ``live`` is the one that was here. It may have done an epoch that failed, or another run of one that counts.
    """
    if live is not None:
        if _is_clean(live, own) and live.task.working.goes_on():
            return live, 0
        live.close()
    task = StageTask(load_job(), *task_id, clock, order.attempt, make_writer)
    task.progress.runs_here()
    task.goes_on_from(order.last)
    live = LiveTask(task, ran=own.ran)
    try:
        read = _restore(live, task_id, own, storage)
        if not task.finished:
            task.open()
    except BaseException:
        live.close()  # functions may have been opened already
        raise
    return live, read


def _is_clean(live: LiveTask, own: TaskOrder) -> bool:
    """Whether all that a task has done counts, and nothing that counts was done elsewhere. The version is not enough:
    a run that has changed nothing leaves none, but the attributes of functions may hold what it has seen."""
    return live.ran == own.ran and live.version == own.base


def taken_over(
    load_job: Callable[[], JobGraph],
    task_id: TaskId,
    order: EpochOrder,
    clock: Callable[[], int],
    snapshots: SnapshotFiles | None,
    make_writer: WriterMaker = ChannelWriter,
) -> LiveTask:
    """A new task with its share of the state that other tasks have left."""
    assert snapshots is not None and order.restore is not None
    task = StageTask(load_job(), *task_id, clock, order.attempt, make_writer)
    task.progress.runs_here()
    task.goes_on_from(order.last)
    live = LiveTask(task)
    try:
        task.take_over(partial(_load, snapshots, order), order.may_drop)
    except BaseException:
        live.close()
        raise
    return live


def _load(
    snapshots: SnapshotFiles, order: EpochOrder, info: OperatorInfo, subtask: int, wanted: Wanted
) -> EarlierState | None:
    """What an operator finds in the savepoint or checkpoint of an order."""
    assert order.restore is not None
    there = replace(info, uid=order.uids.get(info.uid, info.uid))
    return snapshots.load(order.restore, there, subtask, wanted)


def _restore(live: LiveTask, task_id: TaskId, own: TaskOrder, storage: StateStorage) -> int:
    """Give a new task its state; how many versions it took."""
    if own.whole:
        live.past = whole_at(own.base)
    elif own.base != INITIAL:
        live.past = storage.read_past(task_id, own.base).then(own.base)
    versions = set()
    for version, piece in live.task.working.load(task_id, live.past, storage):
        live.task.restore(piece)
        versions.add(version)
    return len(versions)


def finish_epoch(
    live: LiveTask,
    task_id: TaskId,
    order: EpochOrder,
    own: TaskOrder,
    run: int,
    replayed: int,
    storage: StateStorage,
    snapshots: SnapshotFiles | None,
) -> TaskAck:
    """Store what the epoch has changed, and acknowledge."""
    task = live.task
    task.watch.switch(RECORDING)
    ack = TaskAck(order.epoch, *task_id, replayed=replayed, run=run)
    if order.keep_state:
        task.before_snapshot(order.epoch)
    task.take_stock()
    delta = None
    if order.keep_state:
        # A task that has taken over its state has no changes to tell: it begins with a whole state of its own.
        whole = own.compact or order.restore is not None
        if whole or order.savepoint is not None:
            task.before_full_snapshot()
        # The first version tells whoever rebuilds the task that there was one, also without any state.
        delta = task.delta(anyway=whole or live.version == INITIAL)
        if delta is not None:
            ack = _written(live, task_id, ack, delta, whole, order.restore is not None, storage)
        if order.savepoint is not None:
            ack = _save(task, ack, order.savepoint, snapshots)
    live.ran = version_of(order.epoch, run)
    task.watch.switch(OTHER)
    ack = replace(ack, reports=task.reports(), answers=task.answers(order.queries), times=task.watch.of_task())
    task.watch.stop()
    if order.keep_state:
        task.working.finish(live.version, delta)
    return ack


def _written(
    live: LiveTask,
    task_id: TaskId,
    ack: TaskAck,
    delta: TaskDelta,
    whole: bool,
    taken_over: bool,
    storage: StateStorage,
) -> TaskAck:
    """Store a new version of the task."""
    version = version_of(ack.epoch, ack.run)
    if not taken_over:
        size, checksum = storage.write_delta(task_id, version, live.past, delta)
        ack = replace(ack, delta_bytes=size, delta_checksum=checksum, added_bytes=live.task.added_bytes(delta))
    if whole:
        size, checksum = storage.write_full(task_id, version, live.task.full_pieces())
        ack = replace(ack, full_bytes=size, full_checksum=checksum)
    live.past = whole_at(version) if whole else live.past.then(version)
    return ack


def _save(task: StageTask, ack: TaskAck, uri: str, snapshots: SnapshotFiles | None) -> TaskAck:
    """A savepoint that fails does no harm to the job."""
    try:
        assert snapshots is not None, "this engine has no place for savepoints"
        return replace(ack, saved=task.save(partial(snapshots.save, uri)))
    except Exception as error:
        return replace(ack, not_saved=describe(error))
