"""The function of a stage's ``mapInArrow``: finds the process that the task lives in.

Imports little: on a session of the user's own every Python worker imports this module by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from millrace.spark.owners.frames import Call, Greeting, Run
from millrace.spark.owners.pipe import forget, run_in_owner

ORDER_PROPERTY = "millrace.epoch"
"""Local property of Spark's job that carries the order of the epoch to its tasks."""
EPOCH_PROPERTY = "millrace.epoch.number"
"""Local property with the number of the epoch."""
RUNS = 2**31 - 1
"""Numbers of Spark's task attempts may be larger, a column has so many."""


@dataclass(frozen=True)
class Owners:
    """How the tasks of a job live on between epochs."""

    most: int
    """owner processes of a job on one executor: as many as it has cores; 0: as its machine has"""
    idle_seconds: float
    """how long they stay when nobody asks for them"""
    cancel_seconds: float
    """how long a run may go on after a newer one has begun (``task.cancellation.timeout``); 0: as long as it likes"""


@dataclass(frozen=True)
class StageFunction:
    """One stage of a job; an instance is pickled into the plan."""

    job_id: str
    stage: int
    payload: bytes
    """the encoded ``ShippedJob``"""
    digest: str
    """its name"""
    owners: Owners | None
    """None: tasks run in Spark's workers themselves, since nothing of them is needed later"""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import SparkFiles, TaskContext

        context = TaskContext.get()
        assert context is not None, "a stage runs inside a Spark task"
        task = (self.stage, context.partitionId())
        run = context.taskAttemptId() % RUNS + 1
        order = context.getLocalProperty(ORDER_PROPERTY) or ""
        if self.owners is None:
            from millrace.spark.workers.here import run_here

            return run_here(self.digest, self.payload, Run(task, run, context.attemptNumber()), order, batches)
        epoch, owners = int(context.getLocalProperty(EPOCH_PROPERTY) or 0), self.owners
        greeting = Greeting(self.job_id, task, epoch, owners.most, owners.idle_seconds, owners.cancel_seconds)
        made = Run(task, run, context.attemptNumber())
        call = Call(self.digest, made, order, SparkFiles.getRootDirectory(), b"", False)
        return run_in_owner(greeting, call, self.payload, batches)


@dataclass(frozen=True)
class Forgetting:
    """Tells the keeper of an executor that a job is over."""

    job_id: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        forget(self.job_id)
        yield from batches
