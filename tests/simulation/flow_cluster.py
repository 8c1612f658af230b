"""Plays the part of owners in flow: tasks take turns, and what they send is on its way for any time.

Owners die with all their tasks, or go on though nothing is heard of them.
"""

from __future__ import annotations

import itertools
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.cluster import EpochLost, Task
from tests.simulation.faults import DiskError, DriverDied, WorkerDied

from millrace.checkpoint.folder import Folder
from millrace.checkpoint.snapshot_files import FolderSnapshots
from millrace.checkpoint.task_storage import FolderStorage
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck, flowing
from millrace.runtime.coordination.checkpoints import AtOnce
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import TaskId
from millrace.runtime.tasks.flow import FlowTask, Frame, destination
from millrace.runtime.tasks.flow_worker import FlowWorker
from millrace.runtime.tasks.worker import StaleOrderError
from millrace.spark.workers.orders import Orders, read

if TYPE_CHECKING:
    from tests.simulation.world import World

STEP = 3_000_000
"""ns that a turn takes at most"""
EPOCH = 1_000_000_000
"""ns after which an epoch ends in any case"""
FOR_EVER = 100 * EPOCH
ENDS = (0.0, 0.01, 0.05, 0.2)
"""how likely an epoch ends at a turn"""
LATE = (0, EPOCH // 4)
"""ns after which a task puts off what it has not done in an epoch that has ended before it"""
RECORDS = (0.01, 0.05, 0.2, 1.0)
"""how likely the epoch before is recorded and committed at a turn"""
HAUNTED_STEPS = 40


class Life:
    """One life of the connections: tasks, and what is on its way between them."""

    def __init__(self, tasks: dict[TaskId, FlowWorker]) -> None:
        self.tasks = tasks
        self.network: dict[tuple[TaskId, TaskId], deque[Frame]] = {}


class FlowCluster:
    """The owners of one driver. What is drawn for it comes from a generator of its own."""

    def __init__(self, world: World, job: JobGraph, payload: bytes, state: Folder) -> None:
        self._world = world
        self._job = job
        self._payload = payload
        self._state = state
        self._storage = FolderStorage(state, job.key_groups)
        self._orders = Orders(job.partitions, state, AtOnce())
        serial = world.serial()
        self._random = random = Random(f"{world.seed}: flow {serial}")
        self._beside = Random(f"{world.seed}: overlap {serial}")
        self.overlaps = self._beside.random() < 0.7
        """whether an epoch runs while the one before is recorded and committed"""
        self._records = self._beside.choice(RECORDS)
        self._most = random.choice((1, 2, 16_384))
        self._ends = random.choice(ENDS)
        self._late = random.choice(LATE)
        self._aligned = random.random() < 0.3
        self._names = [(stage, part) for stage, width in enumerate(job.partitions) for part in range(width)]
        self._runs = itertools.count(1)
        self._now = 0
        self._life: Life | None = None

    def _load(self) -> JobGraph:
        job: JobGraph = pickle.loads(self._payload)
        return replace(job, job_id=self._job.job_id, state=self._job.state)

    def _owner(self, task: TaskId) -> int:
        return task[1] % self._world.workers

    # -- epochs -------------------------------------------------------------------------------------------------------

    def run(self, plan: EpochPlan, before: Callable[[], None] | None = None) -> list[TaskAck]:
        """The acknowledgements of an epoch.

        :param before: records and commits the epoch before; called at any moment of this one.
        :raises EpochLost: an owner has died, or an acknowledgement has not come.
        """
        aligned = self._aligned and plan.order.restore is None
        text = self._orders.publish(flowing(plan, aligned))
        try:
            acks = self._epoch(plan, text, aligned, before)
        except WorkerDied as death:
            self._world.note(f"an owner dies: {death}")
            self._leave()
            raise EpochLost(str(death)) from None
        except BaseException:
            self._leave()
            raise
        if any(ack.failure is not None for ack in acks):
            self._leave()
        elif plan.order.restore is None:
            self._aligned = False
        return acks

    def _epoch(self, plan: EpochPlan, text: str, aligned: bool, before: Callable[[], None] | None) -> list[TaskAck]:
        random, world = self._random, self._world
        life, run = self._joined(), next(self._runs)
        waiting = random.sample(self._names, len(self._names))
        ending, until = False, self._now + EPOCH
        acks: dict[TaskId, TaskAck] = {}
        dies = world.chances.happens("driver dies", "while tasks run")
        while len(acks) < len(self._names):
            self._now += random.randint(1, STEP)
            world.clock.pass_by(1)
            if waiting and random.random() < 0.5:
                self._begin(life, waiting.pop(), text, run)
            if dies and random.random() < 0.1:
                world.note("the driver dies while tasks are in flow")
                raise DriverDied("tasks run")
            asked = self._now >= until or any(worker.wants_end for worker in life.tasks.values())
            if before is not None and (not self.overlaps or self._beside.random() < self._records):
                before()
                before = None
            goes_on = before is not None and not asked
            if not (ending or waiting or aligned or goes_on) and (asked or random.random() < self._ends):
                ending = self._end(life)
            moved = self._deliver(life) or bool(waiting)
            worked, due = self._step(life, plan.epoch, acks)
            if any(ack.failure is not None for ack in acks.values()):
                break
            stands = not (moved or worked or any(life.network.values()) or self._wait(due))
            if stands and before is not None:
                before()
                before = None
            elif stands or self._now > until + FOR_EVER:
                if ending or aligned:
                    raise AssertionError(f"epoch {plan.epoch}: {sorted(set(self._names) - acks.keys())} wait for ever")
                ending = self._end(life)
        return list(acks.values())

    def _end(self, life: Life) -> bool:
        for worker in life.tasks.values():
            worker.end()
        return True

    def _wait(self, until: int | None) -> bool:
        if until is None or until <= self._now:
            return False
        self._now = until
        return True

    def _joined(self) -> Life:
        if self._life is None:
            make = partial(FlowTask, most=self._most, nanos=lambda: self._now, late=self._late)
            self._life = Life(
                {name: FlowWorker(name, self._load, self._storage, self._world.clock, make) for name in self._names}
            )
        return self._life

    def _begin(self, life: Life, name: TaskId, text: str, run: int) -> None:
        world = self._world
        if world.chances.happens("worker dies", "before a task"):
            raise WorkerDied(f"before task {name} begins")
        with self._at_work(name):
            try:
                order, own = read(text, self._state, name)
            except (DiskError, StaleOrderError) as error:
                raise EpochLost(f"task {name} has no order: {error}") from None
            world.promises.may_run(order.epoch, order)
            life.tasks[name].begin(order, own, run, snapshots=FolderSnapshots(world.serial()))

    @contextmanager
    def _at_work(self, name: TaskId, zombie: Task | None = None) -> Iterator[None]:
        world = self._world
        world.task = zombie or Task(f"task {name[0]}.{name[1]} in flow", zombie=False)
        try:
            yield
        finally:
            world.task = None

    def _step(self, life: Life, epoch: int, acks: dict[TaskId, TaskAck]) -> tuple[bool, int | None]:
        """Let a task do something; whether there was something to do, and else until when all wait."""
        world, until = self._world, list[int]()
        for name in self._random.sample(self._names, len(self._names)):
            worker = life.tasks[name]
            with self._at_work(name):
                done = worker.step(self._now)
            self._take(life, name)
            if worker.ack is not None:
                ack, worker.ack = worker.ack, None
                if world.chances.happens("worker dies", "after a task"):
                    raise WorkerDied(f"after task {name} of epoch {epoch}")
                if world.chances.happens("answer lost", ""):
                    world.note(f"the answer of task {name} of epoch {epoch} is lost")
                    raise EpochLost(f"the answer of {name} is lost")
                acks[name] = TaskAck.decode(ack.encode())
                return True, None
            if done.more:
                return True, None
            until += [] if done.until is None else [done.until]
        return False, min(until, default=None)

    def _take(self, life: Life, name: TaskId) -> None:
        out = life.tasks[name].out
        for frame in out:
            life.network.setdefault((name, destination(self._job, frame)), deque()).append(frame)
        out.clear()

    def _deliver(self, life: Life) -> bool:
        ways = sorted(way for way, frames in life.network.items() if frames)
        if not ways:
            return False
        way = self._random.choice(ways)
        life.tasks[way[1]].deliver(life.network[way].popleft())
        return True

    # -- the end of a life --------------------------------------------------------------------------------------------

    def _leave(self) -> None:
        """All tasks are lost. Some of their owners have not heard of it yet, and go on for a while."""
        life, self._life = self._life, None
        if life is None:
            return
        for owner in range(self._world.workers):
            mine = [name for name in self._names if self._owner(name) == owner]
            if mine and self._world.chances.happens("zombie", ""):
                self._world.note(f"owner {owner} goes on though its connections are gone")
                self._haunt(life, mine)
        for name in self._names:
            with self._at_work(name, Task("closing", zombie=True)):
                life.tasks[name].close()

    def _haunt(self, life: Life, mine: list[TaskId]) -> None:
        """What the tasks of an owner still do takes effect at any time."""
        zombie = Task(f"tasks {mine}", zombie=True)
        try:
            for _ in range(HAUNTED_STEPS):
                self._now += STEP
                self._go_on(life, mine, zombie)
        except WorkerDied as death:
            self._world.note(f"an owner that was lost dies, too: {death}")
        if zombie.effects:
            self._world.zombies.append(zombie)

    def _go_on(self, life: Life, mine: list[TaskId], zombie: Task) -> None:
        name = self._random.choice(mine)
        with self._at_work(name, zombie):
            life.tasks[name].step(self._now)
        self._take(life, name)
        ways = [way for way, frames in life.network.items() if frames and {*way} <= {*mine}]
        if ways:
            way = self._random.choice(sorted(ways))
            with self._at_work(name, zombie):
                life.tasks[way[1]].deliver(life.network[way].popleft())

    def lose_workers(self) -> None:
        """All that is only in memory is gone."""
        self._life = None

    def close(self) -> None:
        self._leave()
        self._orders.close()
