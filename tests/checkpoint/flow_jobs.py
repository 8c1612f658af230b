"""The same jobs in flow: their tasks take turns at random, and die at a point that is counted."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from tests.checkpoint.jobs import SavedJob

from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import TaskId
from millrace.runtime.tasks.flow import FlowTask, Frame
from millrace.runtime.tasks.flow_worker import FlowWorker
from millrace.testing.flow import FlowEngine


class KilledError(Exception):
    """What stands for the death of a driver and its tasks."""


class Fate:
    """All dies at the point of that number: before and after a task begins, before something arrives, and when a task
    acknowledges. None: it lives."""

    def __init__(self, dies_at: int | None = None) -> None:
        self._dies_at = dies_at
        self.points = 0
        """that were reached"""

    def point(self) -> None:
        if self.points == self._dies_at:
            raise KilledError
        self.points += 1


class _Mortal(FlowWorker):
    fate: Fate

    def begin(self, *given: Any, **named: Any) -> None:
        self.fate.point()
        super().begin(*given, **named)
        self.fate.point()

    def deliver(self, frame: Frame) -> None:
        self.fate.point()
        super().deliver(frame)

    def step(self, now: int) -> Any:
        done = super().step(now)
        if self.ack is not None:
            self.fate.point()
        return done


class _Engine(FlowEngine):
    def __init__(self, life: FlowJob, draw: Random, end: float) -> None:
        super().__init__(life.job, lambda: life.now, draw, draw.choice([1, 3, 16_384]), end, aligned=False)
        self.coordinator.close()
        self.coordinator, self.storage, self.snapshots = life.coordinator, life.storage, FolderSnapshots()
        self._life = life

    def _make(self, task: TaskId) -> FlowWorker:
        make = partial(FlowTask, most=self._most, nanos=lambda: self._now)
        worker = _Mortal(task, self._load, self.storage, self._clock, make)
        worker.fate = self._life.fate
        return worker


class FlowJob(SavedJob):
    """One life of a job in flow.

    :param draw: says whose turn it is.
    :param end: how likely an epoch ends at a turn.
    """

    def __init__(
        self, job: JobGraph, directory: Path, draw: Random, fate: Fate | None = None, end: float | None = None
    ) -> None:
        super().__init__(job, directory, checkpoint_every=1)
        self.fate = fate or Fate()
        self._engine = _Engine(self, draw, draw.choice([0.005, 0.02]) if end is None else end)

    def live(self, begin: Callable[[], object] | None = None) -> list[Any]:
        """From its last checkpoint to its end or its death: what it gives in epochs that are complete.

        :param begin: how it begins if there is no checkpoint.
        """
        try:
            if self.directory.listing().usable:
                self.go_on()
            elif begin is not None:
                begin()
            self.finish()
        except KilledError:
            pass
        return self.collected

    def tasks(self, plan: EpochPlan) -> list[TaskAck]:
        acks = self._engine.run_tasks(pickle.loads(pickle.dumps(plan)))
        failures = [ack.failure.render() for ack in acks if ack.failure is not None]
        assert not failures, failures
        return acks
