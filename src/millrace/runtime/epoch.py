"""What the driver and the tasks tell each other: an order per epoch and task, an acknowledgement per task.

An epoch is a micro-batch, and its end is the barrier: when every task has acknowledged, the job's whole state is the
source positions and the state versions of that moment.
"""

from __future__ import annotations

import base64
import pickle
from dataclasses import dataclass, field
from typing import Any

from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.failure import Failure
from millrace.runtime.measures import MeasureState
from millrace.runtime.pickling import dumps
from millrace.runtime.state.info import StateInfo
from millrace.runtime.versions import versions_of


@dataclass(frozen=True)
class SourceOrder:
    """What one source subtask reads in this epoch."""

    splits: tuple[Any, ...] = ()
    """unfinished splits of the epoch before, then new ones"""
    no_more_splits: bool = False
    paused: bool = False
    """too far ahead of its watermark alignment group: read nothing"""
    stop: bool = False
    """the job shall end: treat the source as finished"""
    whole: bool = False
    """batch mode: read to the end, also where that means to wait"""


@dataclass(frozen=True)
class StateQuery:
    """Somebody wants to know what a keyed state holds for one key at the end of the epoch."""

    number: int
    uid: str
    state: str
    key: Any


@dataclass(frozen=True)
class EpochOrder:
    """What every task of an epoch has to know."""

    epoch: int
    """number of this epoch; never used twice, a repeated epoch gets a new one"""
    history: tuple[int, ...] = ()
    """completed epochs whose changes make up the state that this one starts from, oldest first"""
    sources: dict[int, dict[int, SourceOrder]] = field(default_factory=dict)
    """operator id -> subtask -> order"""
    keep_state: bool = True
    """whether another epoch may follow"""
    compact: frozenset[tuple[int, int]] = frozenset()
    """(stage, partition) of tasks that shall write their whole state, so that old changes can go"""
    attempt: int = 0
    """how often the job was restarted"""
    restore: str | None = None
    """a checkpoint or savepoint: the tasks take over its state and do nothing else"""
    savepoint: str | None = None
    """the folder of a savepoint that the tasks shall write after this epoch"""
    queries: tuple[StateQuery, ...] = ()
    runs: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    """(stage, partition) -> the runs of the task whose files make up its state, see ``versions_of``"""

    def versions(self, task: tuple[int, int]) -> tuple[int, ...]:
        """The versions that make up the state that a task starts from, oldest first."""
        return versions_of(self.history, self.runs[task])

    def encode(self) -> str:
        """As text, small enough for a job property of Spark."""
        return base64.b64encode(dumps(self)).decode("ascii")

    @staticmethod
    def decode(text: str) -> EpochOrder:
        """Only for texts that ``encode`` of this job's driver made."""
        order: EpochOrder = pickle.loads(base64.b64decode(text))
        return order


@dataclass(frozen=True)
class SourceReport:
    """What a source subtask did in an epoch."""

    splits: tuple[Any, ...]
    """unfinished splits with their positions"""
    finished: bool
    watermark: int
    idle: bool = False


@dataclass(frozen=True)
class OperatorReport:
    """What one operator's subtask did in an epoch."""

    operator: int
    subtask: int
    records_in: int
    records_out: int
    watermark: int
    source: SourceReport | None = None
    committables: tuple[Any, ...] = ()
    printed: tuple[str, ...] = ()
    collected: tuple[bytes, ...] = ()
    """pickled lists of values, in order"""
    fed_back: tuple[bytes, ...] = ()
    """what the end of a loop sends back to its head, in the format of an exchange"""
    watermark_out: int = MIN_TIMESTAMP
    measures: MeasureState | None = None
    """what has changed in metrics and accumulators, None for nothing"""
    writer_states: tuple[Any, ...] = ()
    """what a sink writer that is committed for needs to go on"""
    states: tuple[StateInfo, ...] | None = None
    """the states that the function has asked for; None: as before"""


@dataclass(frozen=True)
class SavedSubtask:
    """What one subtask of an operator has written to a savepoint."""

    uid: str
    subtask: int
    files: tuple[Any, ...]
    """descriptions of its files"""
    small: bytes | None
    """the operator's own small state, pickled; None without"""
    watermark: int


@dataclass(frozen=True)
class TaskAck:
    """What one task of an epoch reports; with ``failure`` the epoch as a whole has failed."""

    epoch: int
    stage: int
    partition: int
    reports: tuple[OperatorReport, ...] = ()
    delta_bytes: int = 0
    """size of the changes that the task wrote"""
    full_bytes: int | None = None
    """size of the whole state, if the task was told to write it"""
    replayed: int = 0
    """how many versions had to be read to get at the state"""
    failure: Failure | None = None
    run: int = 0
    """distinguishes the runs of one task in one epoch; positive"""
    sent: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """(edge, channel, target) -> packets"""
    received: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """(edge, channel) -> (packets, the run that sent them)"""
    saved: tuple[SavedSubtask, ...] = ()
    """what the task has written to the savepoint"""
    answers: dict[int, bytes] = field(default_factory=dict)
    """number of a query -> the value, pickled; queries without a value here are missing"""
    not_saved: str | None = None
    """why it could not write the savepoint, which then has failed; the epoch has not"""

    def encode(self) -> bytes:
        return dumps(self)

    @staticmethod
    def decode(payload: bytes) -> TaskAck:
        """Only for payloads of this job's own tasks."""
        ack: TaskAck = pickle.loads(payload)
        return ack
