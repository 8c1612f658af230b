"""Job graphs for the tests of tasks, workers and the coordinator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tests.programs import ListSource

from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.coordination.coordinator import Coordinator, EpochResult
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import decode
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import MemoryStorage, SnapshotFiles, TaskId, epoch_and_run
from millrace.runtime.tasks.worker import TaskCache, run_task
from millrace.testing.local import LocalEngine


def numbers(env: StreamExecutionEnvironment, values: Iterable[Any], parallelism: int = 1) -> DataStream:
    """A source of these values, each its own timestamp if it is a number, one per poll."""
    elements = [(value if isinstance(value, int) else value[1], value) for value in values]
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_source(ListSource(elements), strategy, "Numbers").set_parallelism(parallelism)


class CountingStorage(MemoryStorage):
    """Writes down what is read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[str, TaskId, int]] = []

    def read_delta(self, task: TaskId, version: int) -> Any:
        self.log.append(("delta", task, epoch_and_run(version)[0]))
        return super().read_delta(task, version)

    def read_full(self, task: TaskId, version: int) -> Any:
        self.log.append(("full", task, epoch_and_run(version)[0]))
        return super().read_full(task, version)


class Engine:
    """Runs a job's epochs task by task; the test chooses the worker of every epoch."""

    def __init__(self, job: JobGraph, workers: int = 2, clock: Callable[[], int] = lambda: 0) -> None:
        self.clock = clock
        self.local = LocalEngine(job, clock)
        self.job = self.local.job
        self.storage = CountingStorage()
        self.workers = [TaskCache() for _ in range(workers)]
        self.coordinator = Coordinator(self.job, clock, self.storage)

    def tasks(
        self, plan: EpochPlan, worker: int = 0, run: int = 1, snapshots: SnapshotFiles | None = None
    ) -> tuple[list[TaskAck], list[Packet]]:
        """All tasks of an epoch; gives the acknowledgements and every packet that was sent."""
        waiting: list[Packet] = []
        sent: list[Packet] = []
        for stage, partitions in enumerate(self.job.partitions):
            produced: list[Packet] = []
            for partition in range(partitions):
                mine = [packet for packet in waiting if packet.target % partitions == partition]
                task = (stage, partition)
                produced += run_task(
                    self.job.job_id,
                    self.local._load,
                    task,
                    plan.order,
                    plan.of(task),
                    mine,
                    self.storage,
                    self.workers[worker],
                    self.clock,
                    snapshots,
                    run,
                )
            waiting = produced
            sent += [packet for packet in produced if packet not in sent]
        return [TaskAck.decode(packet.payload) for packet in waiting if packet.edge == ACK], sent

    def epoch(self, worker: int = 0) -> EpochResult:
        plan = self.coordinator.plan()
        return self.coordinator.complete(plan, self.tasks(plan, worker)[0])


def elements_of(packets: Iterable[Packet]) -> list[Any]:
    """All elements of some packets."""
    return [
        value
        for packet in packets
        if packet.edge != ACK
        for item in decode(packet.payload)
        if isinstance(item, Chunk)
        for value in item.values
    ]


def job_of(build: Callable[[StreamExecutionEnvironment], Any], epoch_records: int | None = None) -> JobGraph:
    """The job that ``build`` describes; streams that it returns are collected."""
    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    stream = build(env)
    if isinstance(stream, DataStream):
        env._program.add("Sink: Collect", specs.Collect(), stream._edges(), None)
    job = env.job_graph()
    return replace(job, epoch_records=epoch_records)
