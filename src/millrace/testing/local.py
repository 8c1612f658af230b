"""Runs a whole program in this process, without Spark: the same tasks, exchanges and coordinator, epoch by epoch.

``FinishedJob`` is the client of a job that has run to its end here.
"""

from __future__ import annotations

import contextlib
import pickle
import random
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from millrace.common.jobs import CompletableFuture, JobExecutionResult, JobID, JobStatus
from millrace.graph.serialize import serialize
from millrace.metrics.report import MetricsReport
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck, parts_of
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.coordinator import Coordinator, EpochResult, JobFailedError
from millrace.runtime.coordination.job_metrics import LeftOut
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import MemoryStorage, SnapshotFiles, StateStorage, dumps
from millrace.runtime.tasks.worker import TaskCache, run_task

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment


@dataclass
class LocalRun:
    """The result of a program's run.

    >>> sink = env.from_collection([1, 2]).print()
    >>> run_locally(env).printed
    ['1', '2']
    """

    printed: list[str] = field(default_factory=list)
    collected: list[Any] = field(default_factory=list)
    epochs: list[EpochResult] = field(default_factory=list)
    accumulators: dict[str, Any] = field(default_factory=dict)
    """accumulators by name, merged over all subtasks"""
    metrics: MetricsReport = field(default_factory=MetricsReport)
    left_out: LeftOut = field(default_factory=LeftOut)
    """number of records that were dropped as late, or skipped as unreadable"""


class LocalEngine:
    """Plays the part of Spark for one job.

    ``workers`` is the number of caches that stand for worker processes; with more than one, tasks move between them and
    are
    rebuilt there. ``pick`` chooses the worker of a task. ``finish`` is asked between any two pieces of work whether the
    task
    has to end its epoch.
    """

    def __init__(
        self,
        job: JobGraph,
        clock: Callable[[], int],
        workers: int = 1,
        pick: Callable[[int], int] | None = None,
        finish: Callable[[], bool] | None = None,
    ) -> None:
        # Through the same pickle as on Spark: nothing is shared with the user's objects.
        self._payload = serialize(job.for_tasks())
        self.job = job
        self._clock = clock
        self.storage: StateStorage = MemoryStorage()
        self.snapshots: SnapshotFiles | None = None
        """where savepoints are written and read"""
        self._workers = [TaskCache() for _ in range(workers)]
        self._pick = pick or (lambda count: 0)
        self._finish = finish
        self.coordinator = Coordinator(job, clock, self.storage)

    def _load(self) -> JobGraph:
        job: JobGraph = pickle.loads(self._payload)
        return job

    def run_epoch(self, plan: EpochPlan) -> EpochResult:
        """Run one epoch through all stages, and let the coordinator judge it."""
        self.coordinator.validate()
        result = self.coordinator.complete(plan, self.run_tasks(plan))
        self.coordinator.validate()
        return result

    def run_tasks(self, plan: EpochPlan) -> list[TaskAck]:
        """Run the tasks of one epoch through all stages; returns their acknowledgements."""
        orders: EpochPlan = pickle.loads(dumps(plan))
        packets: dict[int, list[Packet]] = {}
        for stage, partitions in enumerate(self.job.partitions):
            produced: list[Packet] = []
            for partition in range(partitions):
                cache = self._workers[self._pick(len(self._workers))]
                arriving = iter(packets.get(partition, []))
                task = (stage, partition)
                produced += run_task(
                    self.job.job_id,
                    self._load,
                    task,
                    orders.order,
                    orders.of(task),
                    arriving,
                    self.storage,
                    cache,
                    self._clock,
                    self.snapshots,
                    finish=self._finish,
                )
            packets = {}
            last = stage + 1 == len(self.job.partitions)
            for packet in produced:
                width = 1 if last else self.job.partitions[stage + 1]
                packets.setdefault(packet.target % width, []).append(packet)
        return [TaskAck.decode(p.payload) for group in packets.values() for p in group if p.edge == ACK]

    def _one_epoch(self) -> bool:
        """Batch mode is one epoch, as on Spark, unless the test sets the size of epochs."""
        return self.job.batch and self.job.epoch_records is None

    def epochs(self) -> Generator[EpochResult, None, None]:
        """Run to the end of a bounded job."""
        try:
            while not self.coordinator.finished:
                yield self.run_epoch(self.coordinator.plan(keep_state=not self._one_epoch()))
            for cache in self._workers:
                cache.close()
        except OperatorError as error:
            raise JobFailedError(error.failure) from error
        finally:
            for cache in self._workers:  # after a failure
                with contextlib.suppress(Exception):
                    cache.close()
            self.coordinator.close()
            self.job.state.discard(self.job.job_id)


def job_of(program: StreamExecutionEnvironment | DataStream) -> JobGraph:
    """The job that a program has described, which is removed from the environment; a stream's elements are
    collected."""
    from millrace.datastream.data_stream import DataStream
    from millrace.runtime.operators import specs

    if isinstance(program, DataStream):
        env = program.get_execution_environment()
        collect = env._program.add("Sink: Collect", specs.Collect(), program._edges(), None)
        try:
            job = env.job_graph()
        finally:
            env._program.remove(collect.id)
    else:
        env = program
        job = env.job_graph()
    env._program.clear()
    return job


def run_locally(
    program: StreamExecutionEnvironment | DataStream,
    *,
    epoch_records: int | None = None,
    workers: int = 1,
    seed: int | None = None,
    clock: Callable[[], int] | None = None,
    max_epochs: int = 100_000,
    finish: Callable[[], bool] | None = None,
) -> LocalRun:
    """Run a bounded program; given a stream, collect its elements.

    ``epoch_records`` splits the input into epochs of at most about this many records per source subtask, ``workers``
    and ``seed`` make tasks change workers at random between epochs. ``finish`` is asked between any two pieces of the
    input whether a task has to end its epoch, leaving the rest of its elements to the next one; for programs in
    streaming mode without loops only. Raises the errors of ``execute``.

        >>> sink = env.from_collection(["a", "b"]).print()
        >>> run_locally(env).printed
        ['a', 'b']
    """
    job = job_of(program)
    if epoch_records is not None:
        job = replace(job, epoch_records=epoch_records)
    pick = random.Random(seed).randrange if seed is not None else None
    return run_job(job, clock, workers, pick, max_epochs, finish)


def run_job(
    job: JobGraph,
    clock: Callable[[], int] | None = None,
    workers: int = 1,
    pick: Callable[[int], int] | None = None,
    max_epochs: int = 100_000,
    finish: Callable[[], bool] | None = None,
) -> LocalRun:
    """Run a bounded job to its end; ``pick`` chooses among the workers for each task and epoch.

    :param finish: as for ``run_locally``.
    :raises TimeoutError: it has not ended by ``max_epochs``.
    """
    engine = LocalEngine(job, clock or now_millis, workers, pick, finish)
    run = LocalRun()
    for result in engine.epochs():
        run.epochs.append(result)
        run.printed += result.printed
        run.collected += [value for part in parts_of(result.collected) for value in pickle.loads(part)]
        if len(run.epochs) >= max_epochs and not engine.coordinator.finished:
            raise TimeoutError(f"the program did not end within {max_epochs} epochs")
    run.accumulators = engine.coordinator.metrics.accumulators()
    run.metrics = engine.coordinator.report()
    run.left_out = engine.coordinator.metrics.left_out()
    return run


class FinishedJob:
    """The client of a job that has ended here, for programs and table results."""

    def __init__(self, run: LocalRun) -> None:
        self._run = run
        self._id = JobID.generate()

    def get_job_id(self) -> JobID:
        return self._id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.of(JobStatus.FINISHED)

    def collected(self) -> Iterator[Any]:
        return iter(self._run.collected)

    def discard(self) -> None:
        """Does nothing: the job has ended."""

    def cancel(self) -> CompletableFuture[None]:
        return CompletableFuture.of(None)

    def wait(self) -> JobExecutionResult:
        return JobExecutionResult(self._id, 0, self._run.accumulators, self._run.metrics)

    def get_job_execution_result(self) -> Future[JobExecutionResult]:
        done: Future[JobExecutionResult] = Future()
        done.set_result(self.wait())
        return done
