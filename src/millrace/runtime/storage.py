"""How the state of tasks is written between epochs: pickles, versions, and the protocols of storages.

Plain pickle finds classes by name. That fails in a worker for classes of the user's main module or of a function's
body; then ``dumps`` lets cloudpickle write the class itself, which is slower but always works. ``pickle.loads`` reads
both.

A task's state has a version for each epoch that changed it, and for each run of the task in that epoch. Spark may run a
task twice in one epoch: because its answer or its output got lost, or because it was slow. Only one run is
acknowledged, and the other may have done something else, so their files and the copies of the task in processes must
not be confused. A version is a number, which is higher for later epochs.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from millrace.util.by_value import pickled_by_value

if TYPE_CHECKING:
    from millrace.runtime.bases.epoch_protocol import SavedSubtask
    from millrace.runtime.coordination.snapshot import JobSnapshot
    from millrace.runtime.operators.job_graph import OperatorInfo
    from millrace.runtime.state.info import StateInfo
    from millrace.runtime.state.restoring.saved import EarlierState, SubtaskState


# Pickles


def dumps(value: Any) -> bytes:
    """``value`` as bytes. Raises what cloudpickle raises for values that can't be pickled at all."""
    try:
        return pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return pickled_by_value(value)


def first_unpicklable(values: Iterable[Any]) -> Any:
    """The first value that ``dumps`` refuses, for an error that names it; there must be one."""
    return next(value for value in values if not _can_be_pickled(value))


def _can_be_pickled(value: Any) -> bool:
    try:
        dumps(value)
    except Exception:
        return False
    return True


# Versions

INITIAL = 0
"""The version of a task that has run no epoch; epochs count from 1."""

REACH = 32
"""The number of preceding versions that each version's file names."""

_RUNS = 1 << 32


def version_of(epoch: int, run: int) -> int:
    """The version of an epoch's end. ``run`` is the run of the task that was acknowledged."""
    return epoch * _RUNS + run


def epoch_and_run(version: int) -> tuple[int, int]:
    return divmod(version, _RUNS)


def first_of_epoch(epoch: int) -> int:
    """A lower limit of the epoch's versions; all versions of earlier epochs are lower."""
    return epoch * _RUNS


@dataclass(frozen=True)
class Past:
    """The versions that make up a task's state, oldest first; each contains changes onto the one before it."""

    versions: tuple[int, ...]
    begins: bool
    """whether the first version is ``INITIAL`` or contains the whole state; else there are earlier ones"""
    stored: int | None = None
    """the version in the name of the file with the whole state, if that was made from the task's files (ADR 31); None:
    the first version itself"""

    def then(self, version: int) -> Past:
        """With one more version; versions out of ``REACH`` of the next one are left out."""
        versions = (*self.versions, version)
        begins = self.begins and len(versions) <= REACH
        return Past(versions[-REACH:], begins, self.stored if begins else None)

    def after(self, earlier: Past) -> Past:
        """With the earlier versions of ``earlier`` in front."""
        return Past((*earlier.versions, *self.versions), earlier.begins, earlier.stored)

    def since(self, whole: int, stored: int | None) -> Past:
        """The versions from the whole state ``whole`` on, in the file of version ``stored``.

        :raises LookupError: ``whole`` is none of them.
        """
        if whole not in self.versions:
            raise LookupError(f"version {whole} with the whole state is not among {self.versions}")
        return Past(self.versions[self.versions.index(whole) :], True, stored)


NO_PAST = Past((INITIAL,), True)
"""the past of a task without any state"""


def whole_at(version: int, stored: int | None = None) -> Past:
    """The past of a task whose last version is there as a whole state, in the file of version ``stored``."""
    return Past((version,), True, stored)


# Protocols, and a storage in memory

TaskId = tuple[int, int]
"""(stage, partition)"""

Wanted = Callable[[str], "StateInfo | None"]
"""name of a state -> its description by the operator's function; None before the function has requested it"""


class Written(NamedTuple):
    """A version of a state that was stored."""

    size: int
    """size in bytes"""
    checksum: int | None = None
    """checksum of the stored content; None: none was computed"""


class StateStorage(Protocol):
    """Immutable versions of task state (see ``version_of``): the changes of each version, and now and then the whole
    state.

    A whole state comes in pieces that have the form of changes, so that a state larger than memory never is in memory
    as a whole.
    """

    def write_delta(self, task: TaskId, version: int, past: Past, delta: Any) -> Written:
        """Store an epoch's changes onto ``past``; they become visible as a whole or not at all."""

    def write_full(self, task: TaskId, version: int, pieces: Iterable[Any]) -> Written:
        """Store the whole state as of the end of an epoch."""

    def read_delta(self, task: TaskId, version: int) -> Any:
        """The changes of a version. Raises ``KeyError`` if there are none."""

    def read_past(self, task: TaskId, version: int) -> Past:
        """The versions that a version's changes follow, as far as its file names them. Raises ``KeyError``."""

    def read_full(self, task: TaskId, version: int) -> Iterator[Any]:
        """The pieces of a whole state. Raises ``KeyError`` if there are none."""

    def discard(self, task: TaskId, before: int) -> None:
        """Delete the task's versions below this one."""


class SnapshotFiles(Protocol):
    """Savepoints and checkpoints as the tasks use them: each task writes, or reads, the state of its operators."""

    def save(self, uri: str, info: OperatorInfo, subtask: int, state: SubtaskState) -> SavedSubtask: ...

    def load(self, uri: str, info: OperatorInfo, subtask: int, wanted: Wanted) -> EarlierState | None:
        """The state of one subtask; None if the operator is not in the snapshot. ``wanted`` is called when the keyed
        state is read: its values are converted to the types that the function declares."""


class CheckpointStore(Protocol):
    """Where the driver records checkpoints."""

    def write(self, snapshot: JobSnapshot) -> str:
        """Record a checkpoint, from which a new driver then continues. Returns its path."""

    def reserve(self, epoch: int) -> None:
        """Record that an epoch with this number may run, whether or not it leaves other traces."""

    def delete(self, checkpoint_id: int) -> None:
        """Delete a checkpoint. Files of its tasks are deleted by ``StateStorage.discard`` when no longer needed."""


class MemoryStorage:
    """Versions as bytes in this process, for ``millrace.testing``. Pickling them reveals objects that copies share."""

    def __init__(self) -> None:
        self._deltas: dict[tuple[TaskId, int], tuple[Past, bytes]] = {}
        self._fulls: dict[tuple[TaskId, int], list[bytes]] = {}

    def write_delta(self, task: TaskId, version: int, past: Past, delta: Any) -> Written:
        payload = dumps(delta)
        self._deltas[task, version] = (past, payload)
        return Written(len(payload))

    def write_full(self, task: TaskId, version: int, pieces: Iterable[Any]) -> Written:
        self._fulls[task, version] = payloads = [dumps(piece) for piece in pieces]
        return Written(sum(map(len, payloads)))

    def read_delta(self, task: TaskId, version: int) -> Any:
        return pickle.loads(self._deltas[task, version][1])

    def read_past(self, task: TaskId, version: int) -> Past:
        return self._deltas[task, version][0]

    def read_full(self, task: TaskId, version: int) -> Iterator[Any]:
        return map(pickle.loads, self._fulls[task, version])

    def discard(self, task: TaskId, before: int) -> None:
        stored: dict[tuple[TaskId, int], Any]
        for stored in (self._deltas, self._fulls):
            for key in [key for key in stored if key[0] == task and key[1] < before]:
                del stored[key]

    def __len__(self) -> int:
        return len(self._deltas) + len(self._fulls)
