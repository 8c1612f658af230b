"""Where the state of tasks lives between epochs: the protocol, and a storage in memory."""

from __future__ import annotations

import pickle
from typing import Any, Protocol

from millrace.runtime.pickling import dumps

TaskId = tuple[int, int]
"""(stage, partition)"""


class StateStorage(Protocol):
    """Immutable versions of task state: per task and epoch the changes, now and then everything."""

    def write_delta(self, task: TaskId, epoch: int, delta: Any) -> int:
        """Store an epoch's changes; visible as a whole or not at all. Returns their size in bytes."""

    def write_full(self, task: TaskId, epoch: int, state: Any) -> int:
        """Store the whole state as of the end of an epoch. Returns its size in bytes."""

    def read_delta(self, task: TaskId, epoch: int) -> Any:
        """Raises ``KeyError`` if there is none."""

    def read_full(self, task: TaskId, epoch: int) -> Any | None:
        """None if only changes were stored for this epoch."""

    def discard(self, task: TaskId, before: int) -> None:
        """Delete the task's versions of epochs before this one."""


class MemoryStorage:
    """Versions as bytes in this process: what ``millrace.testing`` runs on. Pickling them finds shared objects."""

    def __init__(self) -> None:
        self._deltas: dict[tuple[TaskId, int], bytes] = {}
        self._fulls: dict[tuple[TaskId, int], bytes] = {}

    def write_delta(self, task: TaskId, epoch: int, delta: Any) -> int:
        self._deltas[task, epoch] = payload = dumps(delta)
        return len(payload)

    def write_full(self, task: TaskId, epoch: int, state: Any) -> int:
        self._fulls[task, epoch] = payload = dumps(state)
        return len(payload)

    def read_delta(self, task: TaskId, epoch: int) -> Any:
        return pickle.loads(self._deltas[task, epoch])

    def read_full(self, task: TaskId, epoch: int) -> Any | None:
        payload = self._fulls.get((task, epoch))
        return None if payload is None else pickle.loads(payload)

    def discard(self, task: TaskId, before: int) -> None:
        for versions in (self._deltas, self._fulls):
            for version in [v for v in versions if v[0] == task and v[1] < before]:
                del versions[version]

    def __len__(self) -> int:
        return len(self._deltas) + len(self._fulls)
