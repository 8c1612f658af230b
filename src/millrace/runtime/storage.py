"""Where the state of tasks lives between epochs, and where checkpoints go: protocols, and a storage in memory."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from millrace.runtime.pickling import dumps
from millrace.runtime.versions import Past

if TYPE_CHECKING:
    from millrace.runtime.coordination.snapshot import JobSnapshot
    from millrace.runtime.jobs.job import OperatorInfo
    from millrace.runtime.protocol.epoch import SavedSubtask
    from millrace.runtime.state.info import StateInfo
    from millrace.runtime.state.restoring.saved import EarlierState, SubtaskState

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
