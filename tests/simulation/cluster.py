"""Plays the part of Spark: runs the tasks of an epoch on workers that die, answer twice, or finish much too late."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.simulation.faults import DiskError, DriverDied, WorkerDied

from millrace.checkpoint.folder import Folder
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.checkpoint.task_storage import FolderStorage
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.coordination.checkpoints import AtOnce
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import TaskId
from millrace.runtime.tasks.worker import StaleOrderError, TaskCache, run_task
from millrace.spark.workers.orders import Orders, read

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


@dataclass(frozen=True)
class Late:
    """A run of a task that has not begun yet when everybody has stopped to wait for it."""

    epoch: int
    text: str
    """of the property with its order"""
    task_id: TaskId
    arriving: list[Packet]
    worker: int


class Cluster:
    """The workers of one driver."""

    overlaps = False
    """an epoch begins when the one before is recorded and committed"""

    def __init__(self, world: World, job: JobGraph, payload: bytes, state: Folder) -> None:
        self._world = world
        self._job = job
        self._payload = payload
        self._state = state
        self._storage = FolderStorage(state, job.key_groups)
        self._orders = Orders(job.partitions, state, AtOnce())
        self._workers = [TaskCache() for _ in range(world.workers)]
        self._lost: list[TaskCache] = []
        """of workers that go on though nobody hears them"""
        self._late: list[Late] = []

    def _load(self) -> JobGraph:
        job: JobGraph = pickle.loads(self._payload)
        return replace(job, job_id=self._job.job_id, state=self._job.state)

    def run(self, plan: EpochPlan, before: Callable[[], None] | None = None) -> list[TaskAck]:
        """The acknowledgements of an epoch.

        :param before: records and commits the epoch before, which has been done here.
        """
        text = self._orders.publish(plan)
        random, widths = self._world.random, self._job.partitions
        senders: list[list[Packet]] = [[]]
        earlier: list[list[Packet]] = []
        for stage, width in enumerate(widths):
            results: list[list[Packet]] = [[] for _ in range(width)]
            for partition in random.sample(range(width), width):
                self._begin_late()
                self._between()
                if stage and self._world.chances.happens("output lost", ""):
                    lost = random.randrange(widths[stage - 1])
                    self._world.note(f"the output of task {stage - 1}.{lost} is lost: it runs again")
                    senders[lost] = self._until_done(plan.epoch, text, stage - 1, lost, earlier)
                results[partition] = self._until_done(plan.epoch, text, stage, partition, senders)
            earlier, senders = senders, results
        return [TaskAck.decode(packet.payload) for part in senders for packet in part if packet.edge == ACK]

    def lose_workers(self) -> None:
        """All that is only in memory is gone."""
        self._workers = [TaskCache() for _ in self._workers]

    def close(self) -> None:
        self._orders.close()

    def _begin_late(self) -> None:
        """Some run that nobody waits for begins after all, in a process that lives."""
        if self._late and self._world.random.random() < 0.2:
            late = self._late.pop(self._world.random.randrange(len(self._late)))
            name = f"task {late.task_id[0]}.{late.task_id[1]} of epoch {late.epoch}"
            self._world.note(f"{name} begins, much too late, in worker {late.worker}")
            task = Task(name, zombie=True)
            self._run(late.worker, late.epoch, late.text, late.task_id, late.arriving, task)
            self._world.zombies.append(task)

    def _between(self) -> None:
        """Some timers that are due fire, in workers that wait for their next task."""
        world = self._world
        while world.random.random() < 0.6:
            world.clock.pass_by(8)
            cache = world.random.choice([*self._workers, *self._lost])
            due = cache.next_due()
            if due is not None and due <= world.clock():
                where = "a lost worker" if cache in self._lost else f"worker {self._workers.index(cache)}"
                world.note(f"timers of {due} fire in {where}")
                with world.between_epochs(where):
                    cache.fire_due(world.clock())

    def _until_done(
        self, epoch: int, text: str, stage: int, partition: int, senders: list[list[Packet]]
    ) -> list[Packet]:
        """A task, tried until it answers."""
        world = self._world
        width = self._job.partitions[stage]
        arriving = [packet for part in senders for packet in part if packet.target % width == partition]
        for _ in range(MAX_FAILURES):
            packets = self._attempt(epoch, text, stage, partition, arriving)
            if packets is not None:
                return packets
        world.note(f"task {stage}.{partition} failed {MAX_FAILURES} times")
        raise EpochLost(f"task {stage}.{partition} failed {MAX_FAILURES} times")

    def _attempt(
        self, epoch: int, text: str, stage: int, partition: int, arriving: list[Packet]
    ) -> list[Packet] | None:
        """What a task answers, None if nobody hears it."""
        world = self._world
        world.clock.pass_by(3)
        world.random.shuffle(arriving)
        name = f"task {stage}.{partition} of epoch {epoch}"
        index = world.random.randrange(len(self._workers))
        driver_dies = world.chances.happens("driver dies", "while tasks run")
        zombie = world.chances.happens("zombie", "")
        if world.chances.happens("worker dies", "before a task"):
            world.note(f"worker {index} dies before {name}")
            self._workers[index] = TaskCache()
            return None
        if world.chances.happens("late start", ""):
            world.note(f"{name} does not begin in worker {index}")
            self._late.append(Late(epoch, text, (stage, partition), list(arriving), index))
            return None
        task = Task(name, zombie)
        packets = self._run(index, epoch, text, (stage, partition), arriving, task)
        if zombie:
            world.note(f"worker {index} is lost with {name}, which goes on nevertheless")
            self._lost.append(self._workers[index])
            self._workers[index] = TaskCache()
            world.zombies.append(task)
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
        self, index: int, epoch: int, text: str, task_id: TaskId, arriving: list[Packet], task: Task
    ) -> list[Packet] | None:
        """The packets of a run, None if it came to nothing."""
        world = self._world
        cache = self._workers[index]
        run = world.serial()
        world.task = task
        try:
            order, own = read(text, self._state, task_id)
            world.promises.may_run(epoch, order)
            return list(
                run_task(
                    self._job.job_id,
                    self._load,
                    task_id,
                    order,
                    own,
                    iter(arriving),
                    self._storage,
                    cache,
                    world.clock,
                    FolderSnapshots(run),
                    run,
                    finish=world.endings.finish,
                )
            )
        except WorkerDied as death:
            world.note(f"worker {index} dies in {task.name}: {death}")
            self._workers[index] = TaskCache()
            return None
        except (DiskError, StaleOrderError) as error:
            world.note(f"{task.name} fails: {error}")
            return None
        finally:
            world.task = None
