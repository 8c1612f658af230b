"""The tasks that live in this process from epoch to epoch. Threads may run several tasks, and several runs of one task.

Each run has a ``Turn``. Of two runs of a task one gets the task that is here, the other makes a new one; only what the
newer run leaves is kept.

Between epochs a task fires its processing-time timers (``between.py``), as long as no run of it has begun and
it has not been left behind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from millrace.runtime.storage import TaskId
from millrace.runtime.tasks.task import StageTask
from millrace.runtime.versions import INITIAL, NO_PAST, Past, epoch_and_run

JOBS = 8
"""Jobs whose tasks are kept. Who runs jobs says when one has ended (``forget``), unless he is killed."""
PATIENCE_MS = 600_000
"""How long a task fires timers that nobody asks for: its driver may be gone, or it may have moved."""


class StaleOrderError(RuntimeError):
    """An order that is no longer wanted: its job is at a later epoch, or has ended. To run it would do harm."""


@dataclass
class LiveTask:
    """A task between two epochs."""

    task: StageTask
    past: Past = NO_PAST
    """the versions that its state is made of, within reach"""
    ran: int = INITIAL
    """the run in which it did its last epoch, as a version"""
    due: int | None = None
    """when it has something to fire between epochs (ms)"""
    _until: int = 0
    """when it stops doing so (ms)"""

    @property
    def epoch(self) -> int:
        """The last one that it did."""
        return epoch_and_run(self.ran)[0]

    def rest(self, now: int) -> None:
        """Its epoch is over, and the next one not there."""
        self._until = now + PATIENCE_MS
        self._look_ahead()

    def fire(self, now: int) -> None:
        """Fire what is due."""
        self.task.between.fire(now)
        self._look_ahead()

    def _look_ahead(self) -> None:
        due = None if self.task.finished else self.task.between.next_due()
        self.due = None if due is None or due > self._until else due

    @property
    def version(self) -> int:
        return self.past.versions[-1]

    def close(self) -> None:
        """Close it for good. Errors are of no interest: its job has long been told how it ended."""
        try:
            self.task.close()
        except Exception:
            return


@dataclass(eq=False)
class _Firing:
    """A task that fires at this moment."""

    job_id: str
    task: TaskId
    live: LiveTask
    wanted: bool = False
    """whether a run waits for it"""
    done: threading.Event = field(default_factory=threading.Event)


@dataclass
class _Job:
    epoch: int = 0
    """the latest one that an order was seen of"""
    before: int = 0
    """the one before that"""
    tasks: dict[TaskId, LiveTask] = field(default_factory=dict)
    turns: dict[TaskId, int] = field(default_factory=dict)
    """number of the latest run of each task"""
    left: dict[TaskId, int] = field(default_factory=dict)
    """number of the run that has left the task"""
    firing: dict[TaskId, _Firing] = field(default_factory=dict)

    def resting(self) -> Iterator[tuple[TaskId, LiveTask]]:
        """The tasks that may fire: no run has begun that will take them, and they were not left out of an epoch."""
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
    """Safe to be called from several threads.

    :param process: a name for the process whose tasks these are, for the driver; None: they don't live on in it.
    """

    def __init__(self, process: str | None = None) -> None:
        self.process = process
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        """those that were seen last come last"""
        self._turns = 0
        self.on_due: Callable[[], None] | None = None
        """is called when a task has come that has something to fire"""

    def begin(self, job_id: str, task: TaskId, epoch: int) -> Turn:
        """A task is about to run. Epochs never go back, in no attempt of a job.

        :raises StaleOrderError: an order of a later epoch was here already.
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
        """Take the task out: it comes back with ``put`` only after a success, since a failure leaves half an epoch."""
        with self._lock:
            job = self._jobs.get(turn.job_id)
            firing = None if job is None else job.firing.pop(turn.task, None)
            if job is None or firing is None:
                return None if job is None else job.tasks.pop(turn.task, None)
            firing.wanted = True
        firing.done.wait()
        return firing.live

    def put(self, turn: Turn, live: LiveTask) -> None:
        """Keep a task for its next epoch; one that has ended is closed."""
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
        """When a task has something to fire (ms), None for never."""
        with self._lock:
            return min((live.due for *_, live in self._resting() if live.due is not None), default=None)

    def fire_due(self, now: int) -> None:
        """Let the task fire that has waited the longest, if there is one with something due at ``now`` (ms)."""
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
        """It has fired: to the run that waits for it, or to its place; closed if it has ended."""
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
        """The task lives in another process now: close it; if it runs or fires here, it is closed when it is done."""
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
        """The job has ended: close its tasks. Those that still run are closed when they are done."""
        with self._lock:
            job = self._jobs.pop(job_id, None)
        if job is not None:
            _close(job.tasks.values())

    def close(self) -> None:
        """Close all tasks; the first error is raised after all had their turn."""
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
        """How many tasks wait for their next epoch."""
        with self._lock:
            return sum(len(job.tasks) for job in self._jobs.values())


def _close(tasks: Iterable[LiveTask]) -> None:
    for live in tasks:
        live.close()
