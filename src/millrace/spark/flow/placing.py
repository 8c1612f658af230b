"""The function of the job of Spark that places the owners of a job in flow: it holds no core, and ends at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pyarrow as pa

from millrace.spark.owners.frames import Greeting, Join
from millrace.spark.owners.pipe import begin_stay
from millrace.spark.resident.proof import Address, connect
from millrace.spark.workers.stage import Owners

STAGE = 2**31 - 1
"""In place of the stage of a task, for the keeper: an owner is one for all stages."""


@dataclass(frozen=True)
class Placing:
    """A function for ``mapInArrow``, of one task: connects so many owners on its machine with the driver."""

    job_id: str
    owners: int
    epoch: int
    """the first one"""
    address: Address
    payload: bytes = field(repr=False)
    """the encoded ``ShippedJob``"""
    digest: str
    """its name"""
    staying: Owners

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import SparkFiles

        for _ in batches:
            pass  # a row, so that Spark runs this
        self.place(SparkFiles.getRootDirectory())
        yield from ()

    def place(self, spark_files: str) -> None:
        """Start the owners, each with its connection.

        :raises OSError: the driver of this job does not listen at its address.
        :raises OwnerLostError: an owner has refused.
        """
        with ExitStack() as connections:
            for number in range(self.owners):
                link = connections.enter_context(connect(self.address, (0, number)))
                times = self.staying.idle_seconds, self.staying.cancel_seconds
                greeting = Greeting(self.job_id, (STAGE, number), self.epoch, self.owners, *times, stays=True)
                # It goes on when nobody listens to it here.
                connections.enter_context(
                    begin_stay(greeting, Join(self.digest, number, spark_files), self.payload, link)
                )
