"""Tasks that live in another process than in the epoch before: each of them had to read its state from files."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.runtime.protocol.epoch import TaskAck
from millrace.runtime.storage import TaskId


class Moves:
    """Where tasks live, on the driver."""

    def __init__(self) -> None:
        self._processes: dict[TaskId, str] = {}

    def take(self, acks: Iterable[TaskAck]) -> int:
        """How many tasks of an epoch, which is complete, have moved since the last one that was."""
        moved = 0
        for ack in acks:
            if ack.process is None:
                continue
            task = (ack.stage, ack.partition)
            moved += self._processes.get(task, ack.process) != ack.process
            self._processes[task] = ack.process
        return moved
