"""The tasks of jobs in this process: an order and Arrow batches go in, Arrow batches come out."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from millrace.checkpoint.files.folder import open_folder
from millrace.checkpoint.files.shared import FirstWrite, first_write
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.checkpoint.tasks.result_files import TaskResults
from millrace.checkpoint.tasks.storage import FolderStorage
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.failover import failing_alone
from millrace.runtime.exchange.exchange import ACK, Packet, grouped
from millrace.runtime.protocol.epoch import TaskAck
from millrace.runtime.storage import TaskId
from millrace.runtime.tasks.task_cache import JOBS, TaskCache
from millrace.runtime.tasks.worker import run_task
from millrace.spark.owners import orders, output
from millrace.spark.owners.alarm import Alarm
from millrace.spark.owners.at_work import at_work
from millrace.spark.owners.finishing import Finishing
from millrace.spark.owners.frames import Run
from millrace.spark.owners.rows import SCHEMA
from millrace.spark.owners.whereabouts import worker_report
from millrace.spark.shipping.shipped import ShippedJob

BATCH_BYTES = 4 * 1024 * 1024
"""Payload that is gathered for one Arrow batch to the JVM, or for one message to the driver."""


class Running:
    """Runs tasks, of one job after the other or of one alone.

    :param process: a name for this process, if tasks live on in it.
    """

    def __init__(self, process: str | None = None) -> None:
        self.process = process
        self.folder = ""
        """of the keeper, which deletes it; empty: there is none"""
        self._lasting = process is not None
        self._cache = TaskCache(process)
        Alarm(self._cache, now_millis)
        self._jobs: dict[str, ShippedJob] = {}
        self._introduced: set[str] = set()
        """jobs whose drivers know this process"""
        self._prepared = ""
        self._lock = threading.Lock()

    def knows(self, job: str) -> bool:
        """``job``: the digest of a shipped job."""
        return job in self._jobs

    def take(self, job: str, payload: bytes) -> None:
        """Get to know a job, and forget those of long ago: a worker runs one after the other."""
        # Epochs make many objects and hardly any cycle: the default thresholds would walk over all state every moment.
        gc.set_threshold(200_000, 50, 1_000)
        self._jobs[job] = ShippedJob.decode(payload)
        while len(self._jobs) > JOBS:
            old = next(iter(self._jobs))
            del self._jobs[old]
            self._introduced.discard(old)

    def prepared(self, job: str) -> ShippedJob:
        """A job that this process can run from here on."""
        shipped = self._jobs[job]
        with self._lock:
            if self._prepared != job:
                output.follow(shipped.output)
                shipped.prepare()
                self._prepared = job
        return shipped

    def forget(self, job_id: str) -> None:
        """Close what belongs to a job."""
        self._cache.forget(job_id)
        output.end_run(last=True)

    def moved(self, job_id: str, task: TaskId) -> None:
        """A task lives in another process now."""
        self._cache.let_go(job_id, task)

    def run(self, job: str, run: Run, text: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run a task for one epoch, on what comes from Spark.

        :param job: the digest of a shipped job.
        :param text: what the driver has published for this epoch.
        """
        packets = _packets(batches) if run.task[0] else _consume(batches)
        yield from map(_batch, self.run_packets(job, run, text, packets))

    def run_packets(self, job: str, run: Run, text: str, packets: Iterable[Packet]) -> Iterator[list[Packet]]:
        """The same on packets: those that the task sends, in groups of ``BATCH_BYTES``."""
        shipped = self.prepared(job)
        folder = open_folder(shipped.state)
        storage, snapshots = FolderStorage(folder, shipped.key_groups, shipped.job_id), FolderSnapshots(run.number)
        order, own = orders.read(text, folder, run.task)
        results = TaskResults(folder, order.epoch, run.task, run.number) if shipped.result_files else None
        sent: Iterator[Packet] = run_task(
            shipped.job_id,
            shipped.load,
            run.task,
            order,
            own,
            packets,
            storage,
            self._cache,
            now_millis,
            snapshots,
            run.number,
            results,
            worker_report,
            Finishing(folder, order.epoch),
        )
        if shipped.token is not None and job not in self._introduced:
            sent = self._introduce(job, run.task, first_write(folder, shipped.token), sent)
        if order.attempt == 0 and run.before < shipped.retries:
            sent = failing_alone(sent, run.task)
        with at_work(run.task):
            try:
                yield from grouped(sent, BATCH_BYTES)
            finally:
                output.end_run(last=not self._lasting)

    def _introduce(self, job: str, task: TaskId, written: FirstWrite, sent: Iterable[Packet]) -> Iterator[Packet]:
        """Let the acknowledgement tell what this process has written first: the driver looks for it."""
        for packet in sent:
            if packet.edge == ACK and (packet.number, packet.channel) == task:
                ack = replace(TaskAck.decode(packet.payload), first_write=written)
                packet = packet._replace(payload=ack.encode())
            yield packet
        self._introduced.add(job)


def _consume(batches: Iterable[pa.RecordBatch]) -> Iterator[Packet]:
    """Stage 0 has no packets: its rows only make Spark run it."""
    for _ in batches:
        pass
    return iter(())


def _packets(batches: Iterable[pa.RecordBatch]) -> Iterator[Packet]:
    for batch in batches:
        columns: list[list[Any]] = [column.to_pylist() for column in batch.columns]
        yield from map(Packet._make, zip(*columns))


def _batch(packets: list[Packet]) -> pa.RecordBatch:
    arrays = [pa.array(column, type=field.type) for column, field in zip(zip(*packets), SCHEMA)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
