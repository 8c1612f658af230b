"""Runs a whole program in flow mode in this process, without threads.

Tasks, packets, marks and credit take turns at random, and epochs end at any moment.
"""

from __future__ import annotations

import itertools
import pickle
import random
from collections import deque
from collections.abc import Callable
from functools import partial

from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck, flowing
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import TaskId, dumps
from millrace.runtime.tasks.flow import LATE_NANOSECONDS, FlowTask, Frame, destination
from millrace.runtime.tasks.flow_inbox import MOST_ELEMENTS
from millrace.runtime.tasks.flow_worker import FlowWorker
from millrace.testing.local import LocalEngine

LOOKS = 0.01
"""Probability that a task reports its progress at a step."""
STEP_NANOSECONDS = 200_000
"""Longest duration of a step, in the engine's time."""
EPOCH_NANOSECONDS = 1_000_000_000
"""Longest duration of an epoch, in the engine's time."""
FOR_EVER_NANOSECONDS = 100 * EPOCH_NANOSECONDS
"""Time after which an epoch that should have ended counts as hanging, in the engine's time."""


class DeadlockError(AssertionError):
    """All tasks wait for something that will not come."""


class FlowEngine(LocalEngine):
    """Plays the part of owners and their connections for one job.

    :param draw: chooses the task whose turn it is, and the packets that arrive.
    :param most: elements that a channel may deliver at a time.
    :param end: probability that an epoch ends at a step; otherwise it ends when a source asks for it or all is idle.
    :param aligned: whether the first epoch is aligned.
    :param dies: probability that all tasks are lost between two epochs.
    :param late: how long tasks continue with an epoch that has ended in the tasks before them (ns).
    """

    def __init__(
        self,
        job: JobGraph,
        clock: Callable[[], int],
        draw: random.Random,
        most: int = MOST_ELEMENTS,
        end: float = 0.0,
        aligned: bool = True,
        dies: float = 0.0,
        late: int = LATE_NANOSECONDS,
    ) -> None:
        super().__init__(job, clock)
        self._draw = draw
        self._most = most
        self._end = end
        self._aligned = aligned
        self._dies = dies
        self._late = late
        self._now = 0
        self._runs = itertools.count(1)
        self._tasks: dict[TaskId, FlowWorker] = {}
        self._network: dict[tuple[TaskId, TaskId], deque[Frame]] = {}

    def run_tasks(self, plan: EpochPlan) -> list[TaskAck]:
        restores = plan.order.restore is not None
        aligned, self._aligned = self._aligned and not restores, self._aligned and restores
        orders: EpochPlan = pickle.loads(dumps(flowing(plan, aligned)))
        if self._tasks and self._draw.random() < self._dies:
            self._drop()
        if not self._tasks:
            # Not those of the plan: an order to restore names no tasks.
            tasks = [(stage, part) for stage, width in enumerate(self.job.partitions) for part in range(width)]
            self._tasks = {task: self._make(task) for task in tasks}
        run = next(self._runs)
        waiting = list(self._tasks)
        self._draw.shuffle(waiting)
        acks: dict[TaskId, TaskAck] = {}
        ending, latest = False, self._now + EPOCH_NANOSECONDS
        while len(acks) < len(self._tasks):
            self._now += self._draw.randint(1, STEP_NANOSECONDS)
            if waiting and self._draw.random() < 0.5:
                task = waiting.pop()
                self._tasks[task].begin(orders.order, orders.of(task), run, snapshots=self.snapshots)
            asked = self._now >= latest or any(worker.wants_end for worker in self._tasks.values())
            if not (ending or waiting or aligned) and (asked or self._draw.random() < self._end):
                ending = self._end_all()
            if self._draw.random() < LOOKS:
                self._look()
            progress = self._deliver() or bool(waiting)
            progress = self._step(acks) or progress or any(self._network.values())
            if any(ack.failure for ack in acks.values()):
                self._drop()
                return list(acks.values())
            stands = not progress and not self._wait()
            if stands or self._now > latest + FOR_EVER_NANOSECONDS:
                if ending or aligned:
                    raise DeadlockError(f"epoch {plan.epoch}: {sorted(self._tasks.keys() - acks.keys())} wait for ever")
                ending = self._end_all()
        return list(acks.values())

    def _look(self) -> None:
        """Let some tasks report their progress; sources get the limits that follow from it."""
        told = [worker.so_far() for worker in self._tasks.values() if self._draw.random() < 0.7]
        if limits := self.coordinator.so_far([so_far for so_far in told if so_far is not None]):
            for worker in self._tasks.values():
                worker.align(limits)

    def _end_all(self) -> bool:
        """End the epoch, as the driver does."""
        for worker in self._tasks.values():
            worker.end()
        return True

    def _make(self, task: TaskId) -> FlowWorker:
        make = partial(FlowTask, most=self._most, nanos=lambda: self._now, late=self._late)
        return FlowWorker(task, self._load, self.storage, self._clock, make)

    def _step(self, acks: dict[TaskId, TaskAck]) -> bool:
        """Let a task make some steps; returns whether anything was done."""
        names = list(self._tasks)
        self._draw.shuffle(names)
        self._until: int | None = None
        worked = False
        for name in names:
            worker = self._tasks[name]
            for _ in range(self._draw.randint(1, 4)):
                done = worker.step(self._now)
                self._take(name, worker)
                if worker.ack is not None:
                    acks[name], worker.ack, worked = worker.ack, None, True
                if not done.more:
                    break
                worked = True
            if done.until is not None:
                self._until = done.until if self._until is None else min(self._until, done.until)
            if worked:
                break
        return worked

    def _take(self, name: TaskId, worker: FlowWorker) -> None:
        """Put the packets that a task has sent into its channels."""
        out = worker.out
        for frame in out:
            self._network.setdefault((name, destination(self.job, frame)), deque()).append(frame)
        out.clear()

    def _deliver(self) -> bool:
        """Deliver a packet; returns whether there was one."""
        ways = [way for way, frames in self._network.items() if frames]
        if not ways:
            return False
        way = self._draw.choice(ways)
        for _ in range(self._draw.randint(1, 3)):
            if self._network[way]:
                self._tasks[way[1]].deliver(self._network[way].popleft())
        return True

    def _wait(self) -> bool:
        """Let time pass, if a task waits for the clock and nothing else is left to do."""
        if self._until is None or self._until <= self._now:
            return False
        self._now = self._until
        return True

    def _drop(self) -> None:
        """Lose all tasks, with the packets in their channels."""
        for worker in self._tasks.values():
            worker.close()
        self._tasks, self._network = {}, {}
