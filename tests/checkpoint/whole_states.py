"""Whole states made from files in the process of the test, when the test says so."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from tests.checkpoint.jobs import SavedJob

from millrace.checkpoint.merging import places_of, save_part, write_whole
from millrace.runtime.bases.epoch_protocol import SavedSubtask
from millrace.runtime.coordination.snapshot import OperatorPlace, TaskFiles, WholeFile
from millrace.runtime.storage import TaskId


class MadeLater:
    """A ``WholeStates`` whose work waits until ``finish``."""

    def __init__(self, job: SavedJob) -> None:
        self._around = job.directory.shared, job.job.job_id
        self._key_groups = job.job.key_groups
        self._places = [OperatorPlace.of(info) for info in job.job.operators]
        self._runs = itertools.count(1_000_000)
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self.written = 0
        """number of whole states that were made"""
        job.coordinator.compactions.whole_states = self

    def write(self, task: TaskId, files: TaskFiles) -> Future[WholeFile]:
        self.written += 1
        run = next(self._runs)
        return self._later(lambda: write_whole(*self._around, task, files, self._key_groups, run))

    def save(self, task: TaskId, files: TaskFiles, uri: str) -> Future[tuple[SavedSubtask, ...]]:
        places, run = places_of(task, self._places), next(self._runs)
        return self._later(lambda: save_part(*self._around, task, files, self._key_groups, run, uri, places))

    def _later(self, make: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, make))
        return future

    def finish(self) -> None:
        """Make all that waits."""
        waiting, self.waiting = self.waiting, []
        for future, make in waiting:
            try:
                future.set_result(make())
            except Exception as error:
                future.set_exception(error)

    def die(self) -> None:
        """Make nothing of what waits."""
        waiting, self.waiting = self.waiting, []
        for future, _ in waiting:
            future.set_exception(RuntimeError("the process has ended"))
