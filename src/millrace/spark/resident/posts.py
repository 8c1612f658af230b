"""The function of the job of Spark that stays: each of its tasks holds a core and the place of a subtask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pyarrow as pa

from millrace.spark.owners.frames import Greeting, Stay
from millrace.spark.owners.pipe import begin_stay, end_stay
from millrace.spark.resident.proof import Address, connect
from millrace.spark.workers.stage import Owners


@dataclass(frozen=True)
class Posts:
    """A function for ``mapInArrow``. Task *i* of Spark connects subtask *i* of every stage with the driver, in the
    owner where it lives, and waits until the driver ends that. It has no part in what they say to each other."""

    job_id: str
    partitions: tuple[int, ...]
    """of each stage"""
    epoch: int
    """the first one"""
    address: Address
    payload: bytes = field(repr=False)
    """the encoded ``ShippedJob``"""
    digest: str
    """its name"""
    owners: Owners

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import SparkFiles, TaskContext

        for _ in batches:
            pass  # a row, so that Spark runs this
        context = TaskContext.get()
        assert context is not None, "it runs inside a Spark task"
        self.hold(context.partitionId(), SparkFiles.getRootDirectory())
        yield from ()

    def hold(self, partition: int, spark_files: str) -> None:
        """Hold the place of one subtask until the driver ends that.

        :raises OSError: nobody is at the driver's address, or not this job's driver.
        :raises OwnerLostError: a process in which it lives has ended, or refused.
        """
        with ExitStack() as open_ones:
            stays = []
            for stage, width in enumerate(self.partitions):
                if partition < width:
                    task, owners = (stage, partition), self.owners
                    link = open_ones.enter_context(connect(self.address, task))
                    times = owners.idle_seconds, owners.cancel_seconds
                    greeting = Greeting(self.job_id, task, self.epoch, owners.most, *times, stays=True)
                    stay = begin_stay(greeting, Stay(self.digest, task, spark_files), self.payload, link)
                    stays.append(open_ones.enter_context(stay))
            for stay in stays:
                end_stay(stay)
