"""The tasks of jobs in this process: an order and Arrow batches go in, Arrow batches come out.

A task that stays gets one order after the other over a connection to the driver (``stay``). Jobs with a single epoch
run in Spark's Python workers themselves (``run_here``) and leave nothing behind. Between epochs ``Alarm`` wakes tasks
whose timers are due by the clock.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.shared_folder import FirstWrite, first_write
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.checkpoint.task_storage import FolderStorage, TaskResults
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.restart import failing_alone
from millrace.runtime.exchange.exchange import ACK, Packet, grouped
from millrace.runtime.failure import full_traceback
from millrace.runtime.storage import TaskId
from millrace.runtime.tasks.worker import JOBS, TaskCache, run_task
from millrace.spark.workers import orders, output
from millrace.spark.workers.encryption import Link
from millrace.spark.workers.frames import Done, Failed, Order, Part, Run, Stay, receive, send
from millrace.spark.workers.inspection import at_work, worker_report
from millrace.spark.workers.orders import Finishing
from millrace.spark.workers.pipe import SCHEMA
from millrace.spark.workers.shipping import ShippedJob

LONGEST_SECONDS = 10.0
"""The most seconds that the thread sleeps at a time, since the system's clock may be set."""


class Alarm:
    """A thread that fires timers between epochs, one task after the other; it starts when a task first has a timer.
    While a function hangs, the timers of other tasks wait until their next epoch.

    :param clock: gives ms.
    """

    def __init__(self, cache: TaskCache, clock: Callable[[], int]) -> None:
        self._cache = cache
        self._clock = clock
        self._news = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        cache.on_due = self._wake

    def _wake(self) -> None:
        self._news.set()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="millrace-alarm", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        while True:
            self._news.clear()
            due = self._cache.next_due()
            left = LONGEST_SECONDS if due is None else (due - self._clock()) / 1000
            if left > 0:
                self._news.wait(min(left, LONGEST_SECONDS))
            else:
                self._cache.fire_due(self._clock())


BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of payload that are gathered for one Arrow batch to the JVM, or for one message to the driver."""


class Running:
    """Runs the tasks of this process, which may belong to several jobs, one job after the other.

    :param process: a name for this process, if tasks live on in it.
    """

    def __init__(self, process: str | None = None) -> None:
        self.process = process
        self.folder = ""
        """the folder of the keeper, which deletes it; empty: this process has no keeper"""
        self._lasting = process is not None
        self._cache = TaskCache(process)
        Alarm(self._cache, now_millis)
        self._jobs: dict[str, ShippedJob] = {}
        self.introduced: set[str] = set()
        """digests of the shipped jobs whose drivers know this process"""
        self._prepared = ""
        self._lock = threading.Lock()

    def knows(self, job: str) -> bool:
        """Whether this process has the shipped job with the digest ``job``."""
        return job in self._jobs

    def take(self, job: str, payload: bytes) -> None:
        """Store a shipped job, and drop the oldest ones beyond ``JOBS``: a worker runs one job after the other."""
        # Epochs make many objects and hardly any cycle: the default thresholds would walk over all state every moment.
        gc.set_threshold(200_000, 50, 1_000)
        self._jobs[job] = ShippedJob.decode(payload)
        while len(self._jobs) > JOBS:
            old = next(iter(self._jobs))
            del self._jobs[old]
            self.introduced.discard(old)

    def prepared(self, job: str) -> ShippedJob:
        """Return the shipped job with the digest ``job``, after making this process able to run it."""
        shipped = self._jobs[job]
        with self._lock:
            if self._prepared != job:
                output.follow(shipped.output)
                shipped.prepare()
                self._prepared = job
        return shipped

    def forget(self, job_id: str) -> None:
        """Close the tasks of a job."""
        self._cache.forget(job_id)
        output.end_run(last=True)

    def moved(self, job_id: str, task: TaskId) -> None:
        """Let go of a task that lives in another process from now on."""
        self._cache.let_go(job_id, task)

    def run(self, job: str, run: Run, text: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run a task for one epoch, on what comes from Spark.

        :param job: the digest of a shipped job.
        :param text: what the driver has published for this epoch.
        """
        packets = _packets(batches) if run.task[0] else _consume(batches)
        yield from map(_batch, self.run_packets(job, run, text, packets))

    def run_packets(self, job: str, run: Run, text: str, packets: Iterable[Packet]) -> Iterator[list[Packet]]:
        """Run a task for one epoch on packets, and yield the packets that the task sends, in groups of
        ``BATCH_BYTES``."""
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
        if shipped.token is not None and job not in self.introduced:
            sent = self._introduce(job, run.task, first_write(folder, shipped.token), sent)
        if order.attempt == 0 and run.before < shipped.retries:
            sent = failing_alone(sent, run.task)
        with at_work(run.task):
            try:
                yield from grouped(sent, BATCH_BYTES)
            finally:
                output.end_run(last=not self._lasting)

    def _introduce(self, job: str, task: TaskId, written: FirstWrite, sent: Iterable[Packet]) -> Iterator[Packet]:
        """Add to the acknowledgement what this process has written first, so that the driver can check that it sees the
        file."""
        for packet in sent:
            if packet.edge == ACK and (packet.number, packet.channel) == task:
                ack = replace(TaskAck.decode(packet.payload), first_write=written)
                packet = packet._replace(payload=ack.encode())
            yield packet
        self.introduced.add(job)


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


def stay(call: Stay, driver: Link, running: Running) -> None:
    """Serve the orders of a task until the driver closes the connection.

    :param driver: that connection.
    """
    while True:
        try:
            order, _ = receive(driver)
            assert isinstance(order, Order)
            _run(call, order, driver, running)
        except (EOFError, OSError):
            return  # the driver knows why


def _run(call: Stay, order: Order, link: Link, running: Running) -> None:
    """Serve one order. Errors of the run become an answer; only an error of the connection is raised, as
    ``OSError``."""
    groups = running.run_packets(call.job, Run(call.task, order.run, 0), order.text, order.packets)
    begun = False
    while True:
        try:
            group = next(groups, None)
        except BaseException as error:
            send(link, Failed(full_traceback(error), begun))
            return
        if group is None:
            send(link, Done())
            return
        send(link, Part(group))
        begun = True


# Found through this module by every task: what a stage function captures arrives as a copy with every task.
_running = Running()


def run_here(
    job: str, payload: bytes, run: Run, order: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run a task in this process; the parameters are those of ``Running.run``."""
    if not _running.knows(job):
        _running.take(job, payload)
    return _running.run(job, run, order, batches)
