"""The worker's side of an epoch: find or rebuild the task, run it, store its changes, acknowledge.

A task stays in its process from epoch to epoch, and is used again if its last run was acknowledged to the driver. Else
it is rebuilt from its files: after a failure, a move to another process, or a run whose acknowledgement got lost.
Threads may run several tasks, and several runs of one task: each run has a ``Turn``. Of two runs of a task one gets the
live task, the other makes a new one; only the newer run's task stays.

Between epochs a task fires its processing-time timers (``BetweenEpochs``), as long as no run of it has begun and it was
not left out of an epoch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from millrace.runtime.bases.epoch_protocol import EpochOrder, ResultFiles, TaskAck, TaskOrder, WorkerReport
from millrace.runtime.exchange.exchange import ACK, ChannelWriter, Manifest, Packet, in_order
from millrace.runtime.failure import Failure, OperatorError, describe, full_traceback
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.state.restoring.saved import EarlierState
from millrace.runtime.state.working import back_to
from millrace.runtime.storage import (
    INITIAL,
    NO_PAST,
    Past,
    SnapshotFiles,
    StateStorage,
    TaskId,
    Wanted,
    epoch_and_run,
    version_of,
    whole_at,
)
from millrace.runtime.tasks.member import TaskDelta
from millrace.runtime.tasks.task import StageTask, WriterMaker
from millrace.runtime.tasks.task_figures import OTHER, RECORDING

# Tasks that live in this process

JOBS = 8
"""The number of jobs whose tasks stay. The driver reports the end of a job (``forget``), unless it is killed."""
PATIENCE_MS = 600_000
"""How long a task fires timers without a new epoch (ms): its driver may be gone, or it may run elsewhere."""


class StaleOrderError(RuntimeError):
    """An order that is out of date: its job is at a later epoch, or has ended. Running it would do harm."""


@dataclass
class LiveTask:
    """A task between two epochs."""

    task: StageTask
    past: Past = NO_PAST
    """the versions that its state is made of, within ``REACH``"""
    ran: int = INITIAL
    """version of the run in which it ran its last epoch"""
    due: int | None = None
    """when its next timer between epochs is due (ms); None: there is none"""
    _until: int = 0
    """until when it fires timers (ms)"""

    @property
    def epoch(self) -> int:
        """The last epoch that the task ran."""
        return epoch_and_run(self.ran)[0]

    def rest(self, now: int) -> None:
        """The epoch is over, and the next one has not begun."""
        self._until = now + PATIENCE_MS
        self._look_ahead()

    def fire(self, now: int) -> None:
        """Fire the timers that are due at ``now`` (ms)."""
        self.task.between.fire(now)
        self._look_ahead()

    def _look_ahead(self) -> None:
        due = None if self.task.finished else self.task.between.next_due()
        self.due = None if due is None or due > self._until else due

    @property
    def version(self) -> int:
        return self.past.versions[-1]

    def close(self) -> None:
        """Close the task finally. Errors are ignored: its job's result has been reported."""
        try:
            self.task.close()
        except Exception:
            return


@dataclass(eq=False)
class _Firing:
    """A task that is firing timers."""

    job_id: str
    task: TaskId
    live: LiveTask
    wanted: bool = False
    """whether a run waits for it"""
    done: threading.Event = field(default_factory=threading.Event)


@dataclass
class _Job:
    epoch: int = 0
    """the latest epoch of which an order has arrived"""
    before: int = 0
    """the epoch before the latest one"""
    tasks: dict[TaskId, LiveTask] = field(default_factory=dict)
    turns: dict[TaskId, int] = field(default_factory=dict)
    """task -> number of its latest run"""
    left: dict[TaskId, int] = field(default_factory=dict)
    """task -> number of the run that put the live task here"""
    firing: dict[TaskId, _Firing] = field(default_factory=dict)

    def resting(self) -> Iterator[tuple[TaskId, LiveTask]]:
        """The tasks that may fire timers: no run has begun that will take them, and they were not left out of an
        epoch.
        """
        for task, live in self.tasks.items():
            if live.due is not None and live.epoch >= self.before and self.turns[task] == self.left[task]:
                yield task, live


@dataclass(frozen=True)
class Turn:
    """One run of a task."""

    job_id: str
    task: TaskId
    epoch: int
    number: int


class TaskCache:
    """The live tasks of this process. May be called from several threads.

    :param process: name of this process, for the driver; None: tasks don't stay in it.
    """

    def __init__(self, process: str | None = None) -> None:
        self.process = process
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        """jobs in the order of their last order, the latest last"""
        self._turns = 0
        self.on_due: Callable[[], None] | None = None
        """called when a task was put here that has timers to fire"""

    def begin(self, job_id: str, task: TaskId, epoch: int) -> Turn:
        """A task is about to run. The epochs of a job never go back, not even after a restart.

        :raises StaleOrderError: an order of a later epoch has arrived before.
        """
        with self._lock:
            job = self._jobs.pop(job_id, None) or _Job()
            self._jobs[job_id] = job
            if epoch < job.epoch:
                raise StaleOrderError(f"task {task} was to run epoch {epoch}, but its job is at epoch {job.epoch} now")
            if epoch > job.epoch:
                job.before, job.epoch = job.epoch, epoch
            self._turns += 1
            job.turns[task] = self._turns
            long_not_seen = [self._jobs.pop(name) for name in list(self._jobs)[:-JOBS]]
            turn = Turn(job_id, task, epoch, self._turns)
        _close(live for job in long_not_seen for live in job.tasks.values())
        return turn

    def take(self, turn: Turn) -> LiveTask | None:
        """Take the live task out. It comes back with ``put`` only after a success, because a failure leaves half an
        epoch."""
        with self._lock:
            job = self._jobs.get(turn.job_id)
            firing = None if job is None else job.firing.pop(turn.task, None)
            if job is None or firing is None:
                return None if job is None else job.tasks.pop(turn.task, None)
            firing.wanted = True
        firing.done.wait()
        return firing.live

    def put(self, turn: Turn, live: LiveTask) -> None:
        """Store a task for its next epoch; a task that is not needed is closed."""
        with self._lock:
            job = self._jobs.get(turn.job_id)
            wanted = job is not None and job.epoch == turn.epoch and job.turns.get(turn.task) == turn.number
            out_of_date: LiveTask | None = live
            if job is not None and wanted:
                job.firing.pop(turn.task, None)
                out_of_date = job.tasks.pop(turn.task, None)
                job.tasks[turn.task], job.left[turn.task] = live, turn.number
        if out_of_date is not None:
            out_of_date.close()
        if wanted and live.due is not None and self.on_due is not None:
            self.on_due()

    def next_due(self) -> int | None:
        """When a task has a timer to fire (ms); None: never."""
        with self._lock:
            return min((live.due for *_, live in self._resting() if live.due is not None), default=None)

    def fire_due(self, now: int) -> None:
        """Let the task with the earliest timer fire, if that is due at ``now`` (ms)."""
        with self._lock:
            first = min(self._resting(), key=lambda found: found[2].due or 0, default=None)
            if first is None or first[2].due is None or first[2].due > now:
                return
            firing = _Firing(*first)
            job = self._jobs[firing.job_id]
            del job.tasks[firing.task]
            job.firing[firing.task] = firing
        try:
            firing.live.fire(now)
        finally:
            self._put_back(firing)

    def _put_back(self, firing: _Firing) -> None:
        """Put a task back after it has fired, or leave it to the run that waits for it; close it if its job has
        ended.
        """
        with self._lock:
            job = self._jobs.get(firing.job_id)
            stays = job is not None and job.firing.get(firing.task) is firing
            if job is not None and stays:
                job.tasks[firing.task] = job.firing.pop(firing.task).live
            wanted = stays or firing.wanted
        firing.done.set()
        if not wanted:
            firing.live.close()

    def _resting(self) -> Iterator[tuple[str, TaskId, LiveTask]]:
        for job_id, job in self._jobs.items():
            for task, live in job.resting():
                yield job_id, task, live

    def let_go(self, job_id: str, task: TaskId) -> None:
        """Another process has this task now: close it, after it has run or fired."""
        with self._lock:
            job = self._jobs.get(job_id)
            live = None
            if job is not None:
                live = job.tasks.pop(task, None)
                job.firing.pop(task, None)
                job.turns.pop(task, None)
        if live is not None:
            live.close()

    def forget(self, job_id: str) -> None:
        """The job has ended: close its tasks. A running task is closed when its run has ended."""
        with self._lock:
            job = self._jobs.pop(job_id, None)
        if job is not None:
            _close(job.tasks.values())

    def close(self) -> None:
        """Close all tasks; the first error is raised after all were closed."""
        with self._lock:
            jobs, self._jobs = list(self._jobs.values()), {}
        errors: list[Exception] = []
        for live in (live for job in jobs for live in job.tasks.values()):
            try:
                live.task.close()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def __len__(self) -> int:
        """The number of tasks that wait for their next epoch."""
        with self._lock:
            return sum(len(job.tasks) for job in self._jobs.values())


def _close(tasks: Iterable[LiveTask]) -> None:
    for live in tasks:
        live.close()


# One epoch of a task


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
    ``snapshots`` reads and writes savepoints; ``results`` is where this run writes results that are too large for an
    acknowledgement. ``run`` is positive, and another number for each run of the task in this epoch: Spark may run it
    twice, even at the same time, but takes only one result. ``worker`` gives a report on this process; ``finish``
    returns whether the epoch must end now, so that the rest is done in the next one.

    A failure of the user's code is an acknowledgement, too: no Spark task fails for it, so Spark repeats none in vain.

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
        # The report may change as soon as the task is put back.
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
        # Acknowledgements of earlier stages still have to pass: the driver looks for the first failure.
        yield from (packet for packet in arriving if packet.edge == ACK)
    yield Packet(partition, ACK, partition, stage, answer)


def failure_of(task_id: TaskId, error: Exception) -> Failure:
    """A failure for an error that no operator has described."""
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

    ``live`` is the task that was in this process. It may have run an epoch that failed, or another run of an
    acknowledged one.
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
    """Whether everything that a task has run was acknowledged, and no acknowledged epoch ran elsewhere. Comparing
    versions is not enough: a run without changes leaves none, but attributes of functions may hold what it has seen."""
    return live.ran == own.ran and live.version == own.base


def taken_over(
    load_job: Callable[[], JobGraph],
    task_id: TaskId,
    order: EpochOrder,
    clock: Callable[[], int],
    snapshots: SnapshotFiles | None,
    make_writer: WriterMaker = ChannelWriter,
) -> LiveTask:
    """A new task with its share of the saved state of other tasks."""
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
    """The saved state for an operator from the savepoint or checkpoint of an order."""
    assert order.restore is not None
    there = replace(info, uid=order.uids.get(info.uid, info.uid))
    return snapshots.load(order.restore, there, subtask, wanted)


def _restore(live: LiveTask, task_id: TaskId, own: TaskOrder, storage: StateStorage) -> int:
    """Restore the state of a new task; returns how many versions were read."""
    if own.base == own.whole != INITIAL:
        live.past = whole_at(own.base, own.stored)
    elif own.base != INITIAL:
        live.past = storage.read_past(task_id, own.base).then(own.base)
        if own.whole != INITIAL:
            # The files may name versions before it, which are deleted by now.
            live.past = back_to(task_id, live.past, storage, own.whole).since(own.whole, own.stored)
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
    """Store the state changes of an epoch, and make the acknowledgement."""
    task = live.task
    task.watch.switch(RECORDING)
    ack = TaskAck(order.epoch, *task_id, replayed=replayed, run=run)
    if order.keep_state:
        task.before_snapshot(order.epoch)
    task.take_stock()
    delta = None
    if order.keep_state:
        # A task that was restored from a snapshot has no changes: it begins with a whole state of its own.
        whole = (own.compact and not own.from_files) or order.restore is not None
        if whole or own.compact or order.savepoint is not None:
            task.before_full_snapshot()
        # The first version shows that the task has started, even without state. A whole state is that of a version.
        delta = task.delta(anyway=whole or own.compact or live.version == INITIAL)
        if delta is not None:
            ack = _written(live, task_id, ack, delta, whole, order.restore is not None, storage)
        if order.savepoint is not None and not own.from_files:
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
    """Store a new version of the task's state."""
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
    """Write a savepoint. A failure of it does not fail the epoch."""
    try:
        assert snapshots is not None, "this engine has no place for savepoints"
        return replace(ack, saved=task.save(partial(snapshots.save, uri)))
    except Exception as error:
        return replace(ack, not_saved=describe(error))
