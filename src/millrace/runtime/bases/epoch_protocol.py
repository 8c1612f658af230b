"""What the driver and the tasks tell each other: an order per epoch and one per task, an acknowledgement per task.

An epoch is a micro-batch, and its end is the barrier: when every task has acknowledged, the job's whole state is the
source positions and the state versions of that moment. Times are microseconds of the wall clock. Figures of an epoch
that goes on (``TaskSoFar``) are for those who look at the job; they count only when the epoch is complete.

Little of what a task has collected for the program travels in its acknowledgement, much goes through files. A batch job
has one epoch, so its order has to carry all splits of a source. Those of one subtask are pickled and compressed in
chunks (paths have much in common): the other tasks, which get the same order, never unpack them.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from millrace.runtime.bases.runtime_context import AddedPart, MeasureState
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.exchange.exchange import Tallies
from millrace.runtime.failure import Failure
from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.restoring.key_forms import Form
from millrace.runtime.storage import INITIAL, TaskId, dumps

# Times and figures


class OperatorTimes(NamedTuple):
    """One operator in one task."""

    work: int = 0
    """in its code and the user's, and what they wait for"""
    sort: int = 0
    """sorting what it emits by receiver, and packing it"""
    write: int = 0
    """waiting until packets are taken"""


class TaskTimes(NamedTuple):
    """A task as a whole, beyond its operators."""

    read: int = 0
    """waiting for the packets of the stage before, and reading them"""
    passing: int = 0
    """handing on what is for later stages"""
    record: int = 0
    """writing state"""
    wait: int = 0
    """sources that had nothing to read"""
    other: int = 0
    pressed: int | None = None
    """of a task in flow: waiting for credit"""
    pools: tuple[float, float] | None = None
    """of a task in flow: how full its inboxes and its outboxes were, 0 to 1"""


class OperatorSoFar(NamedTuple):
    """What one operator's subtask has done. The fields are those of an ``OperatorReport``."""

    operator: int
    subtask: int
    records_in: int
    records_out: int
    watermark: int
    """that has come (ms)"""
    watermark_out: int
    bytes_in: int
    bytes_out: int
    times: OperatorTimes
    holds_back: bool | None
    """of a source: whether others of its alignment group wait for this subtask; None: of no source"""


class TaskSoFar(NamedTuple):
    """What one task has done."""

    stage: int
    partition: int
    reports: tuple[OperatorSoFar, ...]
    times: TaskTimes


@dataclass(frozen=True)
class WorkerReport:
    """One process at the end of a run."""

    host: str
    executor: str
    """id of Spark's executor that it belongs to"""
    pid: int
    memory: int = -1
    """bytes that it holds; -1: not known"""
    cpu_ms: int = -1
    """processor time since it began; -1: not known"""


# Many splits on their way to one reader

CHUNK = 1_024
"""splits that are packed together"""


def pack(splits: Sequence[Any]) -> tuple[bytes, ...]:
    """In order, as chunks."""
    starts = range(0, len(splits), CHUNK)
    return tuple(zlib.compress(dumps(tuple(splits[start : start + CHUNK])), 1) for start in starts)


def unpack(chunks: Iterable[bytes]) -> Iterator[Any]:
    """Only for what ``pack`` of this job's driver made."""
    for chunk in chunks:
        yield from pickle.loads(zlib.decompress(chunk))


# Results for the program

INLINE_BYTES = 256 * 1024
"""The most that travels in an acknowledgement: those of all tasks go through one action of Spark."""
FILE_BYTES = 8 * 1024 * 1024
"""A task that has gathered so much writes it into a file, before the epoch ends."""


@dataclass(frozen=True)
class ResultFile:
    """A file of results of one task: pickled lists of values, one after the other.

    :ivar parts: the length in bytes and the CRC-32 of each list.
    """

    path: str
    parts: tuple[tuple[int, int], ...]


Result = bytes | ResultFile
"""A pickled list of values, or a file of many"""


def parts_of(results: Iterable[Result]) -> Iterator[bytes]:
    """The parts where there are no files."""
    for result in results:
        assert isinstance(result, bytes), f"nobody has said where {result} is"
        yield result


class ResultFiles(Protocol):
    """Where one run of a task puts them; the driver reads there what the run that it has heard of names."""

    def write(self, parts: Sequence[bytes]) -> ResultFile: ...


class Results:
    """Gathers the results of one operator in an epoch, in their order."""

    def __init__(self, files: ResultFiles | None) -> None:
        """:param files: None: there is no place that the driver sees, so all travels in the acknowledgement."""
        self._files = files
        self._done: list[Result] = []
        self._parts: list[bytes] = []
        self._size = 0
        """bytes of the parts"""

    def add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size >= FILE_BYTES:
            self._write()

    def _write(self) -> None:
        if self._files is not None:
            self._done.append(self._files.write(self._parts))
            self._parts, self._size = [], 0

    def __len__(self) -> int:
        """How many there are to take, about."""
        return len(self._done) + len(self._parts)

    def take(self) -> tuple[Result, ...]:
        """All of them."""
        if self._size > INLINE_BYTES:
            self._write()
        results, self._done, self._parts, self._size = (*self._done, *self._parts), [], [], 0
        return results


# Orders and acknowledgements

Latency = tuple[int, int, int]
"""(id of a source's operator, its subtask, ms that its mark was on the way)"""
NO_TIMES, NO_TASK_TIMES = OperatorTimes(), TaskTimes()


@dataclass(frozen=True)
class SourceOrder:
    """What one source subtask reads in this epoch."""

    splits: tuple[Any, ...] = ()
    """newly assigned ones; the subtask knows the others"""
    packed: tuple[bytes, ...] = ()
    """more newly assigned ones, see ``runtime/bases/epoch_protocol.py``"""
    no_more_splits: bool = False
    events: tuple[Any, ...] = ()
    """what the enumerator tells the reader"""
    checkpoint: int | None = None
    """the last epoch whose end was recorded"""
    paused: bool = False
    """too far ahead of its watermark alignment group: read nothing"""
    limit: int | None = None
    """the watermark (ms) above which single splits are left alone, for the same reason"""
    stop: bool = False
    """the job shall end: treat the source as finished"""
    whole: bool = False
    """batch mode: read to the end, also where that means to wait"""
    millis: int | None = None
    """how long it may read (ms), from its first piece on if the task is new; None: no limit but the job's"""
    records: int | None = None
    """how many records at most; None: no limit but the job's"""


@dataclass(frozen=True)
class StateQuery:
    """A question: what does a keyed state hold for one key at the end of the epoch."""

    number: int
    uid: str
    state: str
    key: Any


@dataclass(frozen=True)
class EpochOrder:
    """What all tasks of an epoch have to know."""

    epoch: int
    """number of this epoch; never used twice, a repeated epoch gets a new one"""
    keep_state: bool = True
    """whether another epoch may follow"""
    attempt: int = 0
    """how often the job was restarted"""
    last: int | None = None
    """the epoch at whose end the state was that this one begins with; None: it is the beginning of the job"""
    restore: str | None = None
    """a checkpoint or savepoint: the tasks take over its state and do nothing else"""
    may_drop: bool = False
    """whether operators may drop what they have no use for of that state"""
    uids: dict[str, str] = field(default_factory=dict)
    """uid of an operator -> the one that it has there, where that is another one"""
    savepoint: str | None = None
    """the folder of a savepoint that the tasks shall write after this epoch"""
    queries: tuple[StateQuery, ...] = ()
    aggregates: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """uid -> name -> accumulator of a global aggregate, pickled"""
    checkpoint: bool = False
    """whether somebody has asked for its end to be a checkpoint"""
    aligned: bool = False
    """under flow: the tasks take what arrives when all of it is there, as if the stages ran one after the other"""
    work_millis: int | None = None
    """how long a task may work on what arrives (ms): what is left is done in the next epoch. None: until all is done"""


@dataclass(frozen=True)
class TaskOrder:
    """What one task of an epoch has to know beyond that: as much for a job of two tasks as for one of thousands."""

    base: int = INITIAL
    """the version of the state that it starts from"""
    whole: bool = False
    """whether there is a file with the whole state of that version"""
    ran: int = INITIAL
    """its last run that counts, as a version: one that changed nothing has left none"""
    compact: bool = False
    """write the whole state, so that old changes can go"""
    sources: dict[int, SourceOrder] = field(default_factory=dict)
    """operator id -> what the task's subtask of it reads"""


@dataclass(frozen=True)
class EpochPlan:
    """An epoch as the driver plans it."""

    order: EpochOrder
    tasks: dict[TaskId, TaskOrder] = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        return self.order.epoch

    def of(self, task: TaskId) -> TaskOrder:
        return self.tasks.get(task) or TaskOrder()


@dataclass(frozen=True)
class SourceReport:
    """What a source subtask did in an epoch."""

    splits: tuple[Any, ...]
    """unfinished splits with their positions"""
    finished: bool
    watermark: int
    idle: bool = False
    events: tuple[Any, ...] = ()
    """what the reader tells the enumerator"""
    requests: int = 0
    """how many splits it has asked for"""
    more: bool = False
    """whether it could have gone on: it came to a limit of the epoch"""


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
    collected: tuple[Result, ...] = ()
    """in order"""
    fed_back: tuple[bytes, ...] = ()
    """what the end of a loop sends back to its head, in the format of an exchange"""
    watermark_out: int = MIN_TIMESTAMP
    measures: MeasureState | None = None
    """what has changed in metrics and accumulators, None for nothing"""
    writer_states: tuple[Any, ...] = ()
    """what a sink writer that is committed for needs to go on"""
    states: tuple[StateInfo, ...] | None = None
    """the states that the function has asked for; None: as before"""
    aggregates: dict[str, AddedPart] = field(default_factory=dict)
    """name -> what was added to a global aggregate"""
    bytes_in: int = 0
    """of the packets that have come for it"""
    bytes_out: int = 0
    times: OperatorTimes = NO_TIMES
    heavy_keys: tuple[tuple[str, float], ...] | None = None
    """keys with a large share of its input, each with that share; None: as before"""
    latencies: tuple[Latency, ...] = ()
    state_sizes: dict[str, int] | None = None
    """name of a state -> about how many bytes it takes; None: as before, or not known"""
    waiting: int = 0
    """packets and chunks at its gate for which there was no time"""
    key_form: Form = None
    """what the keys look like of the state that was restored, or of the first elements that have come since it was
    built"""


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
    delta_bytes: int | None = None
    """size of the changes that the task wrote; None: nothing has changed, so its version is the one before"""
    full_bytes: int | None = None
    """size of the whole state, if the task was told to write it"""
    delta_checksum: int | None = None
    full_checksum: int | None = None
    replayed: int = 0
    """how many versions had to be read to get at the state"""
    failure: Failure | None = None
    run: int = 0
    """distinguishes the runs of one task in one epoch; positive"""
    sent: Tallies = field(default_factory=dict)
    received: Tallies = field(default_factory=dict)
    saved: tuple[SavedSubtask, ...] = ()
    """what the task has written to the savepoint"""
    answers: dict[int, bytes] = field(default_factory=dict)
    """number of a query -> the value, pickled; queries without a value here are missing"""
    not_saved: str | None = None
    """why it could not write the savepoint, which then has failed; the epoch has not"""
    process: str | None = None
    """the process that the task lives in from now on; None: it lives on in none"""
    at: int = -1
    """when the task was done (ms, by its clock); -1: not known"""
    worker: WorkerReport | None = None
    """the process that it ran in; None: nobody has asked"""
    times: TaskTimes = NO_TASK_TIMES
    first_write: Any = None
    """what its process has written to see whether the driver finds it; None after the first time, and where all is on
    one machine"""
    added_bytes: int = 0
    """how much of the changes only adds to the state, and replaces nothing: a whole state would have it, too"""
    next_due: int | None = None
    """when its earliest timer in processing time is due (ms); None: it has none"""

    def encode(self) -> bytes:
        return dumps(self)

    @staticmethod
    def decode(payload: bytes) -> TaskAck:
        """Only for payloads of this job's own tasks."""
        ack: TaskAck = pickle.loads(payload)
        return ack


# Orders for tasks in flow


def flowing(plan: EpochPlan, aligned: bool) -> EpochPlan:
    """The same epoch in flow: how long it takes is said by its marks, and how much is read by credit.

    :param aligned: it is the first one of a bounded job.
    """
    if aligned:
        return replace(plan, order=replace(plan.order, aligned=True))
    tasks = {task: _unlimited(own) for task, own in plan.tasks.items()}
    return replace(plan, tasks=tasks)


def _unlimited(own: TaskOrder) -> TaskOrder:
    sources = {id: _source(reads) for id, reads in own.sources.items()}
    return replace(own, sources=sources) if sources else own


def _source(reads: SourceOrder) -> SourceOrder:
    # Who is ahead of its alignment group waits for a new limit, not for the next epoch; and who has to wait for slow
    # operators is told so by credit.
    return replace(reads, millis=None, records=None, whole=False, paused=False)
