"""Where the state of a task lives while the task runs, and how a new copy gets to what an epoch starts from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.storage import INITIAL, Past, StateStorage, TaskId

Piece = dict[str, Any]
"""Changes of a task's operators, as ``StageTask.restore`` takes them"""


class WorkingState(ABC):
    """The state of one copy of a task."""

    @abstractmethod
    def backend(self, uid: str, time: StateTime) -> KeyedStateBackend:
        """The keyed state of an operator; called once for each."""

    @abstractmethod
    def load(self, task: TaskId, past: Past, storage: StateStorage) -> Iterator[tuple[int, Piece]]:
        """(version, changes) that bring a new copy to the last version of ``past``.

        Each has to be done before the next is asked for; when there are no more, the state is ready for an epoch.
        """

    @abstractmethod
    def goes_on(self) -> bool:
        """The version that this copy is at counts, and an epoch starts from it; False: only a new copy can do that."""

    @abstractmethod
    def finish(self, version: int, delta: Piece | None) -> None:
        """An epoch is over, and the copy is at this version. ``delta`` is what it changed and has been written; None
        for nothing: then the version is the one before."""

    @abstractmethod
    def looking(self) -> AbstractContextManager[bool]:
        """Between epochs: meanwhile the state may be read, if that gives True. Else another copy has gone on."""

    @abstractmethod
    def firing(self) -> AbstractContextManager[bool]:
        """Between epochs: meanwhile the state may be read and changed, if that gives True. The changes belong to the
        next epoch, and go with the copy if that does not begin with it."""

    @abstractmethod
    def pending(self) -> int:
        """How many entries of the state are in memory only because they have changed."""

    @abstractmethod
    def close(self) -> None:
        """The copy will not be used any more."""


class MemoryState(WorkingState):
    """Everything is in the memory of the worker."""

    def backend(self, uid: str, time: StateTime) -> KeyedStateBackend:
        return KeyedStateBackend(time)

    def load(self, task: TaskId, past: Past, storage: StateStorage) -> Iterator[tuple[int, Piece]]:
        return rebuild(task, past, storage)

    def goes_on(self) -> bool:
        return True

    def finish(self, version: int, delta: Piece | None) -> None:
        """The next epoch goes on from what is in memory."""

    def looking(self) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def firing(self) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def pending(self) -> int:
        return 0

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


def back_to(task: TaskId, past: Past, storage: StateStorage, wanted: int | None) -> Past:
    """``past`` with all versions before it, as far back as to the one that is wanted, if it is among them."""
    while not past.begins and wanted not in past.versions:
        past = past.after(storage.read_past(task, past.versions[0]))
    return past


def rebuild(task: TaskId, past: Past, storage: StateStorage) -> Iterator[tuple[int, Piece]]:
    """The last whole state and the changes since."""
    whole, *changed = back_to(task, past, storage, None).versions
    if whole != INITIAL:
        for piece in storage.read_full(task, whole):
            yield whole, piece
    for version in changed:
        yield version, storage.read_delta(task, version)
