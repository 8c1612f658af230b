"""How the state of tasks is written between epochs: pickles, versions, and the protocols of what stores them.

Plain pickle finds classes by name. That fails in a worker for classes of the user's main module or of a function's
body; ``dumps`` then lets cloudpickle write the class itself, which is slower but always works. ``pickle.loads`` reads
both.

A task's state has a version for each epoch that changed it, and for each run of the task in that epoch. Spark may run a
task twice in one epoch: because its answer got lost, or its output, or since it was slow. Only one run counts, and the
other need not have done the same, so what they leave (files, copies of the task in processes) must not be taken for one
another. A version is a number, which is higher for later epochs.
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
"""The version of a task that has seen no epoch; epochs count from 1."""

REACH = 32
"""So many versions before it does each version name."""

_RUNS = 1 << 32


def version_of(epoch: int, run: int) -> int:
    """``run`` is the one in which the task has acknowledged the epoch."""
    return epoch * _RUNS + run


def epoch_and_run(version: int) -> tuple[int, int]:
    return divmod(version, _RUNS)


def first_of_epoch(epoch: int) -> int:
    """No version of the epoch is lower, and none of an earlier one is as high."""
    return epoch * _RUNS


@dataclass(frozen=True)
class Past:
    """Versions of a task that make up its state, oldest first: each is changes onto the one before it."""

    versions: tuple[int, ...]
    begins: bool
    """whether the first of them is ``INITIAL`` or one with the whole state; else there are others before it"""

    def then(self, version: int) -> Past:
        """With another version; what is out of ``REACH`` of the next one is left out."""
        versions = (*self.versions, version)
        return Past(versions[-REACH:], self.begins and len(versions) <= REACH)

    def after(self, earlier: Past) -> Past:
        """With the versions before its first one in front."""
        return Past((*earlier.versions, *self.versions), earlier.begins)


NO_PAST = Past((INITIAL,), True)
"""That of a task without any state yet."""


def whole_at(version: int) -> Past:
    """The past of a task whose whole state has just been written."""
    return Past((version,), True)


# Protocols, and a storage in memory

TaskId = tuple[int, int]
"""(stage, partition)"""

Wanted = Callable[[str], "StateInfo | None"]
"""name of a state -> what the function of an operator says about it; None before it has asked for it"""


class Written(NamedTuple):
    """A version that was stored."""

    size: int
    """bytes"""
    checksum: int | None = None
    """of its content; None: it has none"""


class StateStorage(Protocol):
    """Immutable versions of task state (see ``versions``): for each the changes, now and then everything.

    A whole state comes in pieces, each of which has the form of changes: what is larger than memory never is in it as a
    whole.
    """

    def write_delta(self, task: TaskId, version: int, past: Past, delta: Any) -> Written:
        """Store an epoch's changes onto ``past``; visible as a whole or not at all."""

    def write_full(self, task: TaskId, version: int, pieces: Iterable[Any]) -> Written:
        """Store the whole state as of the end of an epoch."""

    def read_delta(self, task: TaskId, version: int) -> Any:
        """Raises ``KeyError`` if there is none."""

    def read_past(self, task: TaskId, version: int) -> Past:
        """What the changes of a version are onto: the versions before it within reach. Raises ``KeyError``."""

    def read_full(self, task: TaskId, version: int) -> Iterator[Any]:
        """The pieces. Raises ``KeyError`` if there are none."""

    def discard(self, task: TaskId, before: int) -> None:
        """Delete the task's versions that are lower than this one."""


class SnapshotFiles(Protocol):
    """Savepoints and checkpoints as the tasks see them: each writes, or reads, what belongs to its operators."""

    def save(self, uri: str, info: OperatorInfo, subtask: int, state: SubtaskState) -> SavedSubtask: ...

    def load(self, uri: str, info: OperatorInfo, subtask: int, wanted: Wanted) -> EarlierState | None:
        """None if the operator is not in there. ``wanted`` is asked when the keyed state is read: its values
        become what the function declares."""


class CheckpointStore(Protocol):
    """Where the driver records checkpoints."""

    def write(self, snapshot: JobSnapshot) -> str:
        """Record a checkpoint: after this it is what a new driver goes on from. Returns its path."""

    def reserve(self, epoch: int) -> None:
        """Remember that an epoch of this number may run, whether it leaves a trace or not."""

    def delete(self, checkpoint_id: int) -> None:
        """Forget one. Files of its tasks that are not needed any more are deleted by ``StateStorage.discard``."""


class MemoryStorage:
    """Versions as bytes in this process: what ``millrace.testing`` runs on. Pickling them finds shared objects."""

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
