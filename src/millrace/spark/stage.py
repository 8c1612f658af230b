"""The function of a stage's ``mapInArrow``: the thin shell between Spark's Arrow batches and the runtime's packets."""

from __future__ import annotations

import gc
import pickle
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from millrace.activate import activate
from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.checkpoint.storage import FolderStorage
from millrace.runtime.epoch import EpochOrder
from millrace.runtime.exchange import Packet
from millrace.runtime.job import JobGraph
from millrace.runtime.worker import TaskCache, run_task
from millrace.spark.main_classes import install_main_classes
from millrace.spark.surroundings import Surroundings

ORDER_PROPERTY = "millrace.epoch"
"""Local property of Spark's job that carries the order of the epoch to its tasks."""
ORDER_FILE = "order"
"""The file beside the tasks' state that has an order too large for that."""

SCHEMA = pa.schema(
    [
        ("target", pa.int32()),
        ("edge", pa.int32()),
        ("channel", pa.int32()),
        ("number", pa.int32()),
        ("payload", pa.binary()),
        ("run", pa.int32()),
    ]
)
SPARK_SCHEMA = "target int, edge int, channel int, number int, payload binary, run int"

RUNS = 2**31 - 1
"""Numbers of Spark's task attempts may be larger, a column has so many."""

BATCH_BYTES = 4 * 1024 * 1024
"""Payload that is gathered for one Arrow batch to the JVM."""

# What lives in this worker process between epochs. The stage function finds it through this module: anything that it
# captured itself would arrive as a copy with every task.
_cache = TaskCache()
_prepared = ""


@dataclass(frozen=True)
class ShippedJob:
    """A job as it travels to the workers, in the closure of every stage."""

    job_id: str
    payload: bytes
    state: str
    """the folder where tasks keep their state"""
    main_classes: bytes
    surroundings: Surroundings = field(default_factory=Surroundings)
    pyflink: bool = False
    """whether the program's modules import ``pyflink`` and mean Millrace"""

    def prepare(self) -> None:
        """Make this worker able to run what belongs to the job; done when the worker changes jobs."""
        global _prepared
        if _prepared != self.job_id:
            self.surroundings.enter(self.job_id)
            if self.pyflink:
                activate()
            install_main_classes(self.main_classes)
            _prepared = self.job_id

    def load(self) -> JobGraph:
        """A fresh copy of the job."""
        job: JobGraph = pickle.loads(self.payload)
        return replace(job, cached_files=self.surroundings.files())


class StageFunction:
    """One stage of a job; an instance is pickled into the plan."""

    def __init__(self, job: ShippedJob, stage: int) -> None:
        self.job = job
        self.stage = stage

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "a stage runs inside a Spark task"
        job = self.job
        job.prepare()
        folder = open_folder(job.state)
        order = _order(context.getLocalProperty(ORDER_PROPERTY) or "", folder)
        # Epochs make many objects and hardly any cycle: the default thresholds would walk over all state every moment.
        gc.set_threshold(200_000, 50, 1_000)
        packets = _packets(batches) if self.stage else _consume(batches)
        task = (self.stage, context.partitionId())
        run = context.taskAttemptId() % RUNS + 1
        storage, snapshots = FolderStorage(folder), FolderSnapshots(run)
        yield from _batches(
            run_task(job.job_id, job.load, task, order, packets, storage, _cache, now_millis, snapshots, run)
        )


def _order(text: str, folder: Folder) -> EpochOrder:
    """The epoch's order, from the text itself or from the file that it names."""
    if text.startswith("@"):
        text = bytes(folder.read(text[1:])).decode("ascii")
    return EpochOrder.decode(text)


def now_millis() -> int:
    return time.time_ns() // 1_000_000


def _consume(batches: Iterable[pa.RecordBatch]) -> Iterator[Packet]:
    """Stage 0 has no packets: its rows only make Spark run it."""
    for _ in batches:
        pass
    return iter(())


def _packets(batches: Iterable[pa.RecordBatch]) -> Iterator[Packet]:
    for batch in batches:
        columns: list[list[Any]] = [column.to_pylist() for column in batch.columns]
        yield from map(Packet._make, zip(*columns))


def _batches(packets: Iterable[Packet]) -> Iterator[pa.RecordBatch]:
    group: list[Packet] = []
    size = 0
    for packet in packets:
        group.append(packet)
        size += len(packet.payload)
        if size >= BATCH_BYTES:
            yield _batch(group)
            group, size = [], 0
    if group:
        yield _batch(group)


def _batch(packets: list[Packet]) -> pa.RecordBatch:
    arrays = [pa.array(column, type=field.type) for column, field in zip(zip(*packets), SCHEMA)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
