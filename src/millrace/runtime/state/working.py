"""Where a task's state is while the task runs, and how a new copy of the task gets the state that an epoch starts
from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.figures import Figures
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.storage import INITIAL, Past, StateStorage, TaskId

Piece = dict[str, Any]
"""changes of a task's operators, in the form that ``StageTask.restore`` takes"""


class WorkingState(ABC):
    """The state of one copy of a task."""

    @abstractmethod
    def backend(self, uid: str, time: StateTime) -> KeyedStateBackend:
        """Make the keyed state of an operator; called once for each."""

    @abstractmethod
    def load(self, task: TaskId, past: Past, storage: StateStorage) -> Iterator[tuple[int, Piece]]:
        """(version, changes) pairs that bring a new copy to the last version of ``past``.

        Each must be applied before the next one is taken; after the last one the state is ready for an epoch.
        """

    @abstractmethod
    def goes_on(self) -> bool:
        """The version of this copy was acknowledged, and an epoch starts from it. False: this copy can't continue, only
        a new one can."""

    @abstractmethod
    def finish(self, version: int, delta: Piece | None) -> None:
        """An epoch has ended, and the copy is at this version. ``delta`` are the changes that were written; None:
        nothing has changed, so the version is the one before."""

    @abstractmethod
    def looking(self) -> AbstractContextManager[bool]:
        """Between epochs: gives True if the state may be read inside the context, False if another copy has
        continued.
        """

    @abstractmethod
    def firing(self) -> AbstractContextManager[bool]:
        """Between epochs: gives True if the state may be read and changed inside the context. The changes belong to the
        next epoch, and are lost with the copy if that epoch starts from another one."""

    @abstractmethod
    def pending(self) -> int:
        """The number of entries that are in memory only because they have changed."""

    def figures(self) -> Figures:
        """What the store of the whole task tells of itself; empty: there is none."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Release the state; the copy will not be used any more."""


class MemoryState(WorkingState):
    """All state is in the memory of the worker."""

    def backend(self, uid: str, time: StateTime) -> KeyedStateBackend:
        return KeyedStateBackend(time)

    def load(self, task: TaskId, past: Past, storage: StateStorage) -> Iterator[tuple[int, Piece]]:
        return rebuild(task, past, storage)

    def goes_on(self) -> bool:
        return True

    def finish(self, version: int, delta: Piece | None) -> None:
        """Does nothing: the next epoch continues from memory."""

    def looking(self) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def firing(self) -> AbstractContextManager[bool]:
        return nullcontext(True)

    def pending(self) -> int:
        return 0

    def close(self) -> None:
        """Does nothing: memory is freed with the objects."""


class StatePlan(Protocol):
    """A job's choice of where its tasks keep their state; pickled to the workers."""

    @property
    def in_memory(self) -> bool:
        """Whether all state has to fit into memory anyway."""

    def state_of(self, job_id: str, task: TaskId, small: Callable[[], Piece]) -> WorkingState:
        """The state of a new copy of a task; ``small`` gives the task's state without the keyed state."""

    def discard(self, job_id: str) -> None:
        """The job has ended: delete its files on this machine."""


@dataclass(frozen=True)
class InMemory:
    """State in the memory of the workers."""

    in_memory: ClassVar[bool] = True

    def state_of(self, job_id: str, task: TaskId, small: Callable[[], Piece]) -> WorkingState:
        return MemoryState()

    def discard(self, job_id: str) -> None:
        """Does nothing: there are no files."""


def back_to(task: TaskId, past: Past, storage: StateStorage, wanted: int | None) -> Past:
    """``past``, extended by earlier versions until it contains ``wanted`` or begins with a whole state."""
    while not past.begins and wanted not in past.versions:
        past = past.after(storage.read_past(task, past.versions[0]))
    return past


def rebuild(task: TaskId, past: Past, storage: StateStorage) -> Iterator[tuple[int, Piece]]:
    """The last whole state and the changes since then, as (version, changes)."""
    past = back_to(task, past, storage, None)
    whole, *changed = past.versions
    if whole != INITIAL:
        for piece in storage.read_full(task, whole if past.stored is None else past.stored):
            yield whole, piece
    for version in changed:
        yield version, storage.read_delta(task, version)
