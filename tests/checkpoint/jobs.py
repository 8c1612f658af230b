"""Jobs that run without Spark and keep their state in files: to save them, to lose them, to go on with them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from millrace.checkpoint.directory import CheckpointDirectory
from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.metadata import saved_operators, savepoint_metadata, write_metadata
from millrace.checkpoint.restore import Restore, go_on, restore_from
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.common.functions import AggregateFunction
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.graph.serialize import serialize
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.coordination.checkpoints import Checkpoints, CheckpointSettings
from millrace.runtime.coordination.coordinator import Coordinator, EpochResult
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.tasks.worker import TaskCache, run_task

Build = Callable[[StreamExecutionEnvironment], DataStream]
"""makes a program; what its stream gives is collected"""


def collecting(build: Build, parallelism: int, max_parallelism: int = 128, epoch_records: int | None = 5) -> JobGraph:
    env = StreamExecutionEnvironment()
    env.set_parallelism(parallelism).set_max_parallelism(max_parallelism)
    stream = build(env)
    env._program.add("Sink: Collect", specs.Collect(), stream._edges(), None)
    return replace(env.job_graph(), epoch_records=epoch_records)


class Sum(AggregateFunction):
    """It can be merged, so sliding windows share slices."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class SavedJob:
    """One life of a job: a driver with workers that are handed out in turn."""

    def __init__(
        self,
        job: JobGraph,
        directory: Path,
        checkpoint_every: int | None = None,
        workers: int = 2,
        finish: Callable[[], bool] | None = None,
    ) -> None:
        """``checkpoint_every``: ms of a clock that goes on by 1 ms an epoch; None: no checkpoints. ``finish`` is asked
        between any two pieces whether the epoch is to end."""
        self._payload = serialize(job.for_tasks())
        self.job = job
        self.now = 0
        self.directory = CheckpointDirectory(open_folder(str(directory)).child(job.job_id), job=job.job_id)
        settings = None if checkpoint_every is None else CheckpointSettings(checkpoint_every, retained=2)
        checkpoints = None if settings is None else Checkpoints(settings, self.directory, lambda: self.now)
        self.storage = self.directory.storage(job.key_groups)
        self.coordinator = Coordinator(job, lambda: self.now, self.storage, checkpoints)
        self.collected: list[Any] = []
        self._workers = [TaskCache() for _ in range(workers)]
        self._turn = 0
        self._finish = finish

    def restore(self, path: str, allow_non_restored: bool = False) -> Restore:
        """Begin with a savepoint or checkpoint."""
        restore = restore_from(path, self.coordinator, allow_non_restored, claim=False)
        self._take_over(restore)
        return restore

    def go_on(self) -> Restore:
        """Go on from the last checkpoint of this very job."""
        restore = go_on(self.directory, self.coordinator)
        assert restore is not None
        self._take_over(restore)
        return restore

    def _take_over(self, restore: Restore) -> None:
        if restore.order is not None:
            self.coordinator.begun(restore.order, self.tasks(restore.order))
            restore.compare_states(self.coordinator.states)

    def epoch(self, savepoint: Path | None = None) -> EpochResult:
        self.now += 1
        uri = None if savepoint is None else str(savepoint)
        plan = self.coordinator.plan(savepoint=uri)
        result = self.coordinator.complete(plan, self.tasks(plan))
        self.collected += [value for part in result.collected for value in pickle.loads(part)]
        if uri is not None:
            assert result.not_saved is None, result.not_saved
            snapshot = self.coordinator.snapshot(result.epoch)
            write_metadata(open_folder(uri), savepoint_metadata(snapshot, saved_operators(result.saved)))
        return result

    def begin_savepoint(self, place: Path) -> Callable[[], None]:
        """Run an epoch with a savepoint, parts of which are made from files; returns what completes it."""
        self.now += 1
        plan = self.coordinator.plan(savepoint=str(place))
        result = self.coordinator.complete(plan, self.tasks(plan))
        self.collected += [value for part in result.collected for value in pickle.loads(part)]
        snapshot, saving = self.coordinator.snapshot(result.epoch), result.saving
        assert saving is not None and saving.parts

        def complete() -> None:
            saved = [*result.saved, *saving.saved()]
            write_metadata(open_folder(str(place)), savepoint_metadata(snapshot, saved_operators(saved)))

        return complete

    def finish(self) -> list[Any]:
        """Run to the end; everything that this life has collected."""
        while not self.coordinator.finished:
            self.epoch()
        return self.collected

    def _next_worker(self, partitions: int) -> TaskCache:
        """In turn, so that a task finds another one in the next epoch."""
        turn = self._turn // partitions if partitions % 2 == 0 else self._turn
        return self._workers[turn % len(self._workers)]

    def tasks(self, plan: EpochPlan) -> list[TaskAck]:
        plan = pickle.loads(pickle.dumps(plan))
        waiting: list[Packet] = []
        for stage, partitions in enumerate(self.job.partitions):
            produced: list[Packet] = []
            for partition in range(partitions):
                self._turn += 1
                produced += run_task(
                    self.job.job_id,
                    lambda: pickle.loads(self._payload),
                    (stage, partition),
                    plan.order,
                    plan.of((stage, partition)),
                    [packet for packet in waiting if packet.target % partitions == partition],
                    self.storage,
                    self._next_worker(partitions),
                    lambda: self.now,
                    FolderSnapshots(),
                    finish=self._finish,
                )
            waiting = produced
        return [TaskAck.decode(packet.payload) for packet in waiting if packet.edge == ACK]
