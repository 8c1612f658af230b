"""What an epoch costs the driver, apart from Spark: planning it, its orders, judging and recording it.

    python benchmarks/coordination.py [--tasks 1600] [--versions 500]

Two stages, all to all, with so many versions of history in every task; a fifth of the tasks has changed in each epoch.
No Spark, no work of tasks: what they would acknowledge is made up, without manifests of packets. Prints milliseconds of
processor time (other programs on the machine hardly count), ratios to a job with a tenth of the tasks, and the bytes
that a task reads of its order. The exit code says whether all bars hold:

- planning (with its orders) and completing 100 ms each, completing with a checkpoint, too
- 1 KB of order a task
- ten times the tasks cost at most twelve times as much
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.checkpoint.directory import CheckpointDirectory
from millrace.checkpoint.folder import LocalFolder
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.generated_sources import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import EpochPlan, OperatorReport, SourceReport, TaskAck
from millrace.runtime.coordination.checkpoints import AtOnce, Checkpoints, CheckpointSettings
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.coordination.snapshot import TaskChain
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import MemoryStorage
from millrace.spark.workers import orders

EPOCHS = 40
_LARGE = bytes(64 * 1024 * 1024)
BAR_MS = 100.0
BAR_BYTES = 1024
BAR_RATIO = 12.0


@dataclass
class Costs:
    plan: float
    """ms, median"""
    complete: float
    checkpoint: float
    """completing an epoch that becomes a checkpoint, ms"""
    order_bytes: float
    """that travel with a task or that it reads"""


class CountingFolder(LocalFolder):
    """Counts the bytes that tasks read of their orders."""

    read_bytes = 0

    def read_range(self, path: str, begin: int, length: int) -> bytes:
        content = super().read_range(path, begin, length)
        self.read_bytes += len(content)
        return content


def job_of(width: int) -> JobGraph:
    env = StreamExecutionEnvironment().set_parallelism(width).set_max_parallelism(4_096)
    numbers = env.from_source(NumberSequenceSource(0, 10**9), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda value: value).reduce(lambda a, b: a + b).print()
    return env.job_graph()


def acks_of(job: JobGraph, plan: EpochPlan) -> list[TaskAck]:
    """A fifth of the tasks has changed something, another one in each epoch."""
    acks = []
    for stage, width in enumerate(job.partitions):
        for partition in range(width):
            reports = tuple(_report(info.id, subtask, plan) for info, subtask in job.hosted(stage, partition))
            changed = (partition + plan.epoch) % 5 == 0
            full = 2_000 if plan.of((stage, partition)).compact else None
            run = plan.epoch * 2_000 + partition + 1
            acks.append(TaskAck(plan.epoch, stage, partition, reports, 310 if changed else None, full, run=run))
    return acks


def _report(operator: int, subtask: int, plan: EpochPlan) -> OperatorReport:
    own = plan.of((0, subtask)).sources.get(operator)
    source = None if own is None else SourceReport(own.splits, False, plan.epoch)
    return OperatorReport(operator, subtask, 1_000, 1_000, plan.epoch, source)


def history_of(coordinator: Coordinator, versions: int) -> None:
    """As if every task had so many versions."""
    for task, chain in coordinator._chains.tasks.items():
        for epoch in range(1, versions + 1):
            chain.add(TaskAck(epoch, *task, delta_bytes=310, run=epoch * 2_000 + task[1]))
        assert isinstance(chain, TaskChain)
    coordinator._next_epoch = versions + 1


def measure(tasks: int, versions: int, checkpointed: bool) -> Costs:
    job = job_of(tasks // 2)
    with tempfile.TemporaryDirectory() as directory:
        folder = CountingFolder(f"{directory}/shared")
        store = CheckpointDirectory(LocalFolder(directory))
        checkpoints = Checkpoints(CheckpointSettings(0), store, lambda: 0) if checkpointed else None
        coordinator = Coordinator(job, lambda: 0, MemoryStorage(), checkpoints)
        coordinator.find_splits()
        history_of(coordinator, versions)
        publisher = orders.Orders(job.partitions, folder, AtOnce())
        planning, completing = [], []
        for _ in range(EPOCHS):
            forget_caches()
            began = time.process_time()
            plan = coordinator.plan()
            text = publisher.publish(plan)
            planning.append(time.process_time() - began)
            acks = acks_of(job, plan)
            forget_caches()
            began = time.process_time()
            coordinator.complete(plan, acks)
            completing.append(time.process_time() - began)
        widths = enumerate(job.partitions)
        for task in [(stage, partition) for stage, width in widths for partition in range(width)]:
            orders.read(text, folder, task)
        sizes = len(text) + folder.read_bytes / len(plan.tasks)
    # The first epochs warm up.
    return Costs(middle(planning), 0.0 if checkpointed else middle(completing), middle(completing), sizes)


def forget_caches() -> None:
    """Between two steps a driver does other things for a long time: for a small job, too, nothing is in the caches of
    the processor."""
    _LARGE.count(1)


def middle(seconds: Sequence[float]) -> float:
    return statistics.median(seconds[3:]) * 1000


def both(tasks: int, versions: int) -> Costs:
    plain, checkpointed = measure(tasks, versions, False), measure(tasks, versions, True)
    return Costs(plain.plan, plain.complete, checkpointed.checkpoint, plain.order_bytes)


def main() -> int:
    parser = argparse.ArgumentParser(description="What an epoch costs the driver.")
    parser.add_argument("--tasks", type=int, default=1_600)
    parser.add_argument("--versions", type=int, default=500)
    given = parser.parse_args()
    small, large = both(given.tasks // 10, given.versions), both(given.tasks, given.versions)
    rows = [
        ("plan and orders, ms", small.plan, large.plan, BAR_MS),
        ("complete, ms", small.complete, large.complete, BAR_MS),
        ("complete with a checkpoint, ms", small.checkpoint, large.checkpoint, BAR_MS),
    ]
    good = True
    print(f"{'':32}{given.tasks // 10:>8} tasks{given.tasks:>8} tasks   ratio")
    for name, few, many, bar in rows:
        holds = many <= bar and many <= BAR_RATIO * few
        good &= holds
        print(f"{name:32}{few:14.1f}{many:14.1f}{many / few:8.1f}  {'ok' if holds else 'TOO SLOW'}")
    holds = large.order_bytes <= BAR_BYTES
    verdict = "ok" if holds else "TOO LARGE"
    print(f"{'order, bytes a task':32}{small.order_bytes:14.0f}{large.order_bytes:14.0f}{'':10}{verdict}")
    return 0 if good and holds else 1


if __name__ == "__main__":
    sys.exit(main())
