"""What the keeper knows of its owners: which tasks live in which, and which runs are at work there.

A run that a newer one has replaced should end soon. While it does not, its task has another owner; when its time is
over its process takes no more tasks, and is ended as soon as nobody waits for any run there.
"""

from __future__ import annotations

import socket
from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter

from millrace.spark.owners.frames import Greeting, TaskId


@dataclass
class ActiveRun:
    """A run that has not ended."""

    task: TaskId
    epoch: int
    outdated: float | None = None
    """since when nobody waits for it (seconds of the monotonic clock)"""


@dataclass(eq=False)
class Child:
    """An owner process."""

    pid: int
    control: socket.socket
    runs: dict[int, ActiveRun] = field(default_factory=dict)
    gone: bool = False

    @property
    def wanted(self) -> bool:
        """Whether one of its runs is waited for."""
        return any(run.outdated is None for run in self.runs.values())

    def runs_task(self, task: TaskId) -> bool:
        return any(run.task == task for run in self.runs.values())

    def suits(self, greeting: Greeting) -> bool:
        """Whether a run can begin here. Not where its task is at work: that may hang, and keep the interpreter for
        itself."""
        hangs = greeting.stays and self.hangs_since is not None
        return not hangs and not self.runs_task(greeting.task)

    @property
    def hangs_since(self) -> float | None:
        """Since when a run goes on that is not waited for; None: there is none."""
        return min((run.outdated for run in self.runs.values() if run.outdated is not None), default=None)


@dataclass
class JobOwners:
    """The owners of one job here."""

    children: list[Child] = field(default_factory=list)
    leaving: list[Child] = field(default_factory=list)
    """those with a run that hangs: they take no more tasks"""
    places: dict[TaskId, Child] = field(default_factory=dict)
    epoch: int = 0
    """the latest one that was heard of"""
    asked: float = 0.0
    idle_seconds: float = 600.0
    cancel_seconds: float = 0.0
    """how long a run may go on after a newer one has begun; 0: as long as it likes"""

    @property
    def wanted(self) -> bool:
        return any(child.wanted for child in (*self.children, *self.leaving))

    def greet(self, greeting: Greeting, now: float) -> None:
        """A run begins: others of its task are not waited for any more, or of earlier epochs."""
        self.asked, self.idle_seconds, self.cancel_seconds = now, greeting.idle_seconds, greeting.cancel_seconds
        self.epoch = max(self.epoch, greeting.epoch)
        for child in (*self.children, *self.leaving):
            for run in child.runs.values():
                if run.outdated is None and (run.task == greeting.task or run.epoch < self.epoch):
                    run.outdated = now

    def least_loaded(self, greeting: Greeting) -> tuple[Child | None, bool]:
        """The one that a task should join, and whether it has something else to do."""
        task = greeting.task
        tasks = Counter(id(child) for child in self.places.values())
        of_stage = Counter(id(child) for other, child in self.places.items() if other[0] == task[0])

        def load(child: Child) -> tuple[int, int, int]:
            return len(child.runs), of_stage[id(child)], tasks[id(child)]

        free = [child for child in self.children if child.suits(greeting)]
        child = min(free, key=load, default=None)
        return child, child is None or bool(child.runs) or of_stage[id(child)] > 0

    def overdue(self, now: float) -> list[Child]:
        """Owners with a run that should have ended long ago."""
        return [child for since, child in self._hanging() if now - since > self.cancel_seconds]

    def too_many(self, most: int) -> list[Child]:
        """Owners that have to go before their time, so that there is room for one more: a task that hangs in every
        attempt must not fill the machine."""
        return [child for _, child in self._hanging()[: max(len(self.children) - most + 1, 0)]]

    def _hanging(self) -> list[tuple[float, Child]]:
        """Owners that may be ended since a run hangs in them, and since when; the longest first."""
        if not self.cancel_seconds:
            return []
        found = ((child.hangs_since, child) for child in self.children)
        return sorted(((since, child) for since, child in found if since is not None), key=itemgetter(0))

    def retire(self, child: Child) -> None:
        """Its tasks find another owner."""
        self.forget(child)
        self.leaving.append(child)

    def forget(self, child: Child) -> None:
        for known in (self.children, self.leaving):
            if child in known:
                known.remove(child)
        self.places = {task: other for task, other in self.places.items() if other is not child}
