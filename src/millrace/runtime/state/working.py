"""Where the state of a task lives while the task runs, and how a copy of the task gets to what an epoch starts from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.storage import StateStorage, TaskId
from millrace.runtime.versions import INITIAL

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
        """(version, changes) that bring a copy to the end of ``history``: the versions of the task, oldest first, where
        the oldest is ``INITIAL`` or has the whole state.

        Each has to be done before the next is asked for; when there are no more, the state is ready for an epoch.

        :param version: the one that the copy has; None for one that was just made.
        :raises OutdatedCopyError: only a new copy can get there.
        """

    @abstractmethod
    def finish(self, version: int, delta: Piece) -> None:
        """An epoch is over and has been written as this version; ``delta`` is what it changed."""

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

    def finish(self, version: int, delta: Piece) -> None:
        """The next epoch goes on from what is in memory."""

    def close(self) -> None:
        """Memory is freed with the objects."""


class StatePlan(Protocol):
    """What a job has chosen for all its tasks. Travels to the workers."""

    @property
    def in_memory(self) -> bool:
        """Whether all state has to fit into memory anyway."""

    def state_of(self, job_id: str, task: TaskId, small: Callable[[], Piece]) -> WorkingState:
        """The state of a new copy of a task; ``small`` gives all of it but the keyed state."""

    def discard(self, job_id: str) -> None:
        """The job has ended: delete what it has left on this machine."""


@dataclass(frozen=True)
class InMemory:
    """State in the memory of the workers."""

    in_memory: ClassVar[bool] = True

    def state_of(self, job_id: str, task: TaskId, small: Callable[[], Piece]) -> WorkingState:
        return MemoryState()

    def discard(self, job_id: str) -> None:
        """There is nothing to delete."""


def rebuild(task: TaskId, history: tuple[int, ...], storage: StateStorage) -> Iterator[tuple[int, Piece]]:
    """The last whole state and the changes since."""
    whole, *changed = history
    if whole != INITIAL:
        for piece in storage.read_full(task, whole):
            yield whole, piece
    for version in changed:
        yield version, storage.read_delta(task, version)


def catch_up(
    task: TaskId, version: int, history: tuple[int, ...], storage: StateStorage
) -> Iterator[tuple[int, Piece]]:
    """The changes that a copy has missed."""
    if version not in history:
        raise OutdatedCopyError
    for newer in history:
        if newer > version:
            try:
                delta = storage.read_delta(task, newer)
            except KeyError:
                raise OutdatedCopyError from None
            yield newer, delta
