"""Plays the part of Spark: runs the tasks of an epoch on workers that die, answer twice, or finish much too late."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.simulation.faults import DriverDied, WorkerDied

from millrace.checkpoint.folder import Folder
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.checkpoint.storage import FolderStorage
from millrace.runtime.epoch import EpochOrder, TaskAck
from millrace.runtime.exchange import ACK, Packet
from millrace.runtime.job import JobGraph
from millrace.runtime.worker import TaskCache, run_task

if TYPE_CHECKING:
    from tests.simulation.world import World

MAX_FAILURES = 3
"""Tries of one task, after which Spark gives up the whole epoch."""


class EpochLost(Exception):
    """Spark could not bring the epoch to its end."""


class Task:
    """One run of a task. What a zombie does takes effect later: nobody waits for it any more."""

    def __init__(self, name: str, zombie: bool) -> None:
        self.name = name
        self.zombie = zombie
        self.effects: list[tuple[str, Callable[[], None]]] = []

    def later(self, what: str, effect: Callable[[], None]) -> None:
        self.effects.append((what, effect))


class Cluster:
    """The workers of one driver."""

    def __init__(self, world: World, job: JobGraph, payload: bytes, state: Folder) -> None:
        self._world = world
        self._job = job
        self._payload = payload
        self._storage = FolderStorage(state)
        self._workers = [TaskCache() for _ in range(world.workers)]

    def _load(self) -> JobGraph:
        job: JobGraph = pickle.loads(self._payload)
        return replace(job, job_id=self._job.job_id)

    def run(self, order: EpochOrder) -> list[TaskAck]:
        """The acknowledgements of an epoch."""
        order = EpochOrder.decode(order.encode())
        random, widths = self._world.random, self._job.partitions
        senders: list[list[Packet]] = [[]]
        earlier: list[list[Packet]] = []
        for stage, width in enumerate(widths):
            results: list[list[Packet]] = [[] for _ in range(width)]
            for partition in random.sample(range(width), width):
                if stage and self._world.chances.happens("output lost", ""):
                    lost = random.randrange(widths[stage - 1])
                    self._world.note(f"the output of task {stage - 1}.{lost} is lost: it runs again")
                    senders[lost] = self._until_done(order, stage - 1, lost, earlier)
                results[partition] = self._until_done(order, stage, partition, senders)
            earlier, senders = senders, results
        return [TaskAck.decode(packet.payload) for part in senders for packet in part if packet.edge == ACK]

    def _until_done(
        self, order: EpochOrder, stage: int, partition: int, senders: list[list[Packet]]
    ) -> list[Packet]:
        """A task, tried until it answers."""
        world = self._world
        width = self._job.partitions[stage]
        arriving = [packet for part in senders for packet in part if packet.target % width == partition]
        for _ in range(MAX_FAILURES):
            packets = self._attempt(order, stage, partition, arriving)
            if packets is not None:
                return packets
        world.note(f"task {stage}.{partition} failed {MAX_FAILURES} times")
        raise EpochLost(f"task {stage}.{partition} failed {MAX_FAILURES} times")

    def _attempt(self, order: EpochOrder, stage: int, partition: int, arriving: list[Packet]) -> list[Packet] | None:
        """What a task answers, None if nobody hears it."""
        world = self._world
        world.clock.pass_by(3)
        world.random.shuffle(arriving)
        name = f"task {stage}.{partition} of epoch {order.epoch}"
        index = world.random.randrange(len(self._workers))
        driver_dies = world.chances.happens("driver dies", "while tasks run")
        zombie = world.chances.happens("zombie", "")
        if world.chances.happens("worker dies", "before a task"):
            world.note(f"worker {index} dies before {name}")
            self._workers[index] = TaskCache()
            return None
        packets = self._run(index, order, (stage, partition), arriving, Task(name, zombie))
        if driver_dies:
            world.note(f"the driver dies during {name}")
            raise DriverDied(name)
        if zombie or packets is None:
            return None
        if world.chances.happens("worker dies", "after a task"):
            world.note(f"worker {index} dies after {name}")
            self._workers[index] = TaskCache()
            return None
        if world.chances.happens("answer lost", ""):
            world.note(f"the answer of {name} is lost; worker {index} lives on")
            return None
        return packets

    def _run(
        self, index: int, order: EpochOrder, task_id: tuple[int, int], arriving: list[Packet], task: Task
    ) -> list[Packet] | None:
        world = self._world
        cache = self._workers[index]
        run = world.serial()
        world.task = task
        try:
            return list(
                run_task(
                    self._job.job_id,
                    self._load,
                    task_id,
                    order,
                    iter(arriving),
                    self._storage,
                    cache,
                    world.clock,
                    FolderSnapshots(run),
                    run,
                )
            )
        except WorkerDied as death:
            world.note(f"worker {index} dies in {task.name}: {death}")
            self._workers[index] = TaskCache()
            return None
        finally:
            world.task = None
            if task.zombie:
                world.note(f"worker {index} is lost with {task.name}, which goes on nevertheless")
                self._workers[index] = TaskCache()
                world.zombies.append(task)
