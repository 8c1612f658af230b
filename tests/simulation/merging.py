"""Plays the part of the process that makes whole states from files: it takes its time, fails, and dies."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from tests.simulation.cluster import Task
from tests.simulation.faults import DiskError, Violation, WorkerDied

from millrace.checkpoint.folder import Folder, MissingFileError
from millrace.checkpoint.merging import places_of, save_part, write_whole
from millrace.runtime.bases.epoch_protocol import SavedSubtask
from millrace.runtime.coordination.snapshot import OperatorPlace, TaskFiles, WholeFile
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import TaskId

if TYPE_CHECKING:
    from tests.simulation.world import World

LONGEST = 4
"""The most epochs that something takes to be made."""
RUNS = 1_000_000
"""Runs of tasks have lower numbers."""
NOT_MADE = (DiskError, WorkerDied, MissingFileError)
"""What may come of making something but a violation: its disk fails, it dies, its files are no longer needed."""


class MergerDiedError(Exception):
    """The process has ended."""


@dataclass
class _Work:
    what: str
    make: Callable[[], Any]
    future: Future[Any]
    left: int
    """the epochs until it is made at last"""


class Merging:
    """A ``WholeStates`` of one driver."""

    def __init__(self, world: World, job: JobGraph, state: Folder) -> None:
        self._world = world
        self._state, self._job = state, job
        self._places = [OperatorPlace.of(info) for info in job.operators]
        self._random = Random(f"{world.seed}: merging {world.serial()}")
        self._waiting: list[_Work] = []
        self.done = 0
        """number of whole states and parts of savepoints that were made"""

    def write(self, task: TaskId, files: TaskFiles) -> Future[WholeFile]:
        run = RUNS + self._world.serial()

        def make() -> WholeFile:
            return write_whole(self._state, self._job.job_id, task, files, self._job.key_groups, run)

        return self._later(f"the whole state of {task} from epochs {files.first} on", make)

    def save(self, task: TaskId, files: TaskFiles, uri: str) -> Future[tuple[SavedSubtask, ...]]:
        run, places = RUNS + self._world.serial(), places_of(task, self._places)

        def make() -> tuple[SavedSubtask, ...]:
            return save_part(self._state, self._job.job_id, task, files, self._job.key_groups, run, uri, places)

        return self._later(f"a savepoint's part of {task}", make)

    def _later(self, what: str, make: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append(_Work(what, make, future, self._random.randrange(LONGEST)))
        return future

    def step(self, epochs: int = 0) -> None:
        """Some of what waits is made, or the process dies.

        :param epochs: how many epochs have passed since the last step.
        """
        random = self._random
        for work in list(self._waiting):
            work.left -= epochs
            if work.left < 0 or random.random() < 0.1:
                if self._world.chances.left and random.random() < 0.05:
                    self._die(random.random() < 0.5)
                    return
                self._make(work)

    def finish(self) -> None:
        """All that waits is made; the driver waits for it."""
        while self._waiting:
            self._make(self._waiting[0])

    def driver_died(self) -> None:
        """The process has not heard of it yet, and may still make what it is at."""
        if self._waiting and self._random.random() < 0.5:
            known = set(self._world.disk.files)
            self._make(self._waiting[0], orphan=True)
            self._world.haunted |= self._world.disk.files.keys() - known
        self._waiting.clear()

    def _die(self, late: bool) -> None:
        """:param late: whether it has made something, and has not told."""
        waiting, self._waiting = self._waiting, []
        self._world.note(f"the process dies that makes {waiting[0].what}")
        if late:
            with suppress(*NOT_MADE):
                self._run(waiting[0], orphan=False)
        for work in waiting:
            work.future.set_exception(MergerDiedError("it has ended"))

    def _make(self, work: _Work, orphan: bool = False) -> None:
        self._waiting.remove(work)
        try:
            made = self._run(work, orphan)
        except NOT_MADE as error:
            self._world.note(f"{work.what} is not made: {error}")
            work.future.set_exception(MergerDiedError(str(error)))
            return
        self._world.note(f"{work.what} is made")
        self.done += 1
        work.future.set_result(made)

    def _run(self, work: _Work, orphan: bool) -> Any:
        self._world.task = Task(work.what, zombie=False)
        try:
            return work.make()
        except MissingFileError as error:
            if not orphan:
                raise Violation(f"{work.what} can't be made: {error}") from None
            raise
        finally:
            self._world.task = None
