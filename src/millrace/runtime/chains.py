"""Which state files of each task are needed: by the running job, and by the checkpoints that are kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from millrace.runtime.epoch import TaskAck
from millrace.runtime.storage import TaskId

COMPACT_BYTES = 4 * 1024 * 1024
"""Changes below this size are not worth a compaction."""
COMPACT_VERSIONS = 500
"""Versions that a new worker reads at most before it has the state."""


@dataclass(frozen=True)
class TaskChain:
    """The files that make up the state of one task: a whole state, if there is one, and the changes since."""

    first: int = 0
    """oldest epoch that is needed"""
    full_bytes: int | None = None
    """size of the whole state as of ``first``; None: the task began without any"""
    delta_bytes: tuple[int, ...] = ()
    """sizes of the changes of the epochs after it, oldest first"""
    runs: tuple[int, ...] = (0,)
    """the runs that wrote the files: the whole state (0: there was none), then the changes"""

    @property
    def worth_compaction(self) -> bool:
        grown = sum(self.delta_bytes) > max(COMPACT_BYTES, self.full_bytes or 0)
        return grown or len(self.delta_bytes) >= COMPACT_VERSIONS

    def after(self, ack: TaskAck) -> TaskChain:
        """With the files that a task has acknowledged."""
        if ack.full_bytes is not None:
            return TaskChain(ack.epoch, ack.full_bytes, runs=(ack.run,))
        return replace(self, delta_bytes=(*self.delta_bytes, ack.delta_bytes), runs=(*self.runs, ack.run))

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return (self.full_bytes or 0) + sum(self.delta_bytes)


class Chains:
    """The chains of all tasks at the end of an epoch."""

    def __init__(self, tasks: Iterable[TaskId]) -> None:
        self.history: tuple[int, ...] = ()
        """completed epochs that some task needs, oldest first"""
        self.tasks: dict[TaskId, TaskChain] = {task: TaskChain() for task in tasks}

    def record(self, epoch: int, acks: Iterable[TaskAck]) -> None:
        """An epoch is complete."""
        for ack in acks:
            task = (ack.stage, ack.partition)
            self.tasks[task] = self.tasks[task].after(ack)
        oldest = min((chain.first for chain in self.tasks.values()), default=0)
        self.history = tuple(known for known in (*self.history, epoch) if known >= oldest)

    def runs(self) -> dict[TaskId, tuple[int, ...]]:
        """The runs of each task whose files make up its state."""
        return {task: chain.runs for task, chain in self.tasks.items()}

    def to_compact(self) -> frozenset[TaskId]:
        """Tasks that should write their whole state."""
        return frozenset(task for task, chain in self.tasks.items() if chain.worth_compaction)
