"""Where the state of a task lives while the task runs, and how a copy of the task gets to what an epoch starts from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.storage import StateStorage, TaskId

Piece = dict[str, Any]
"""Changes of a task's operators, as ``StageTask.restore`` takes them"""


class OutdatedCopyError(Exception):
    """A copy of a task can't go on: it holds a failed epoch, or is too old."""


class WorkingState(ABC):
    """The state of one copy of a task."""

    @abstractmethod
    def backend(self, uid: str, time: StateTime) -> KeyedStateBackend:
        """The keyed state of an operator; called once for each."""

    @abstractmethod
    def changes(
        self, task: TaskId, version: int | None, history: tuple[int, ...], storage: StateStorage
    ) -> Iterator[tuple[int, Piece]]:
        """(epoch, changes) that bring a copy to the end of ``history``.

        Each has to be done before the next is asked for; when there are no more, the state is ready for an epoch.

        :param version: the epoch whose end the copy is at; None for one that was just made.
        :raises OutdatedCopyError: only a new copy can get there.
        """

    @abstractmethod
    def finish(self, epoch: int, delta: Piece) -> None:
        """The epoch is over and has been written; ``delta`` is what it changed."""

    @abstractmethod
    def close(self) -> None:
        """The copy will not be used any more."""


class MemoryState(WorkingState):
    """Everything is in the memory of the worker."""

    def backend(self, uid: str, time: StateTime) -> KeyedStateBackend:
        return KeyedStateBackend(time)

    def changes(
        self, task: TaskId, version: int | None, history: tuple[int, ...], storage: StateStorage
    ) -> Iterator[tuple[int, Piece]]:
        return rebuild(task, history, storage) if version is None else catch_up(task, version, history, storage)

    def finish(self, epoch: int, delta: Piece) -> None:
        """The next epoch goes on from what is in memory."""

    def close(self) -> None:
        """Memory is freed with the objects."""


@dataclass(frozen=True)
class MemoryPlan:
    """The choice of ``MemoryState`` for a job."""

    def state_of(self, job_id: str, task: TaskId, small: Callable[[], Piece]) -> WorkingState:
        return MemoryState()

    def discard(self, job_id: str) -> None:
        """There is nothing on disk."""


def rebuild(task: TaskId, history: tuple[int, ...], storage: StateStorage) -> Iterator[tuple[int, Piece]]:
    """The last whole state and the changes since."""
    changed: list[int] = []
    for epoch in reversed(history):
        full = storage.read_full(task, epoch)
        if full is not None:
            for piece in full:
                yield epoch, piece
            break
        changed.append(epoch)
    for epoch in reversed(changed):
        yield epoch, storage.read_delta(task, epoch)


def catch_up(
    task: TaskId, version: int, history: tuple[int, ...], storage: StateStorage
) -> Iterator[tuple[int, Piece]]:
    """The epochs that a copy has missed."""
    if version not in history:
        raise OutdatedCopyError
    for epoch in history:
        if epoch > version:
            try:
                delta = storage.read_delta(task, epoch)
            except KeyError:
                raise OutdatedCopyError from None
            yield epoch, delta
