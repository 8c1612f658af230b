"""The messages between the driver and the tasks: an order per epoch, an order per task, and a task's acknowledgement.

An epoch is a micro-batch, and its end is the barrier: when every task has acknowledged it, the job's whole state is the
source positions and the state versions of that moment. Operator and task times are microseconds of the wall clock. The
figures of an epoch that still runs (``TaskSoFar``) are for display only; figures count when their epoch is complete.

Small results for the program travel in the acknowledgement, large ones through files. A batch job has one epoch, so its
order carries all splits of a source. The splits of one subtask are pickled and compressed in chunks (paths have much in
common), because every task gets the same order and only one of them needs to unpack them.
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
    """Where one operator spent its time in one task, in microseconds."""

    work: int = 0
    """the operator's own code and the user's function, including what they block on"""
    sort: int = 0
    """sorting the emitted records by receiver, and packing them"""
    write: int = 0
    """waiting until the receivers take the packets"""


class TaskTimes(NamedTuple):
    """Where a task spent its time outside its operators, in microseconds."""

    read: int = 0
    """waiting for the packets of the stage before, and reading them"""
    passing: int = 0
    """forwarding packets that are meant for later stages"""
    record: int = 0
    """writing state"""
    wait: int = 0
    """waiting for sources that had nothing to read"""
    other: int = 0
    pressed: int | None = None
    """waiting for credit; None: the task does not run in flow"""
    pools: tuple[float, float] | None = None
    """fill ratio (0 to 1) of the task's inboxes and of its outboxes; None: the task does not run in flow"""


class OperatorSoFar(NamedTuple):
    """What one operator's subtask has done so far in the running epoch. The fields are those of an
    ``OperatorReport``.
    """

    operator: int
    subtask: int
    records_in: int
    records_out: int
    watermark: int
    """the watermark that has arrived (ms)"""
    watermark_out: int
    bytes_in: int
    bytes_out: int
    times: OperatorTimes
    holds_back: bool | None
    """whether other subtasks of the source's watermark alignment group wait for this one; None: not a source"""


class TaskSoFar(NamedTuple):
    """What one task has done so far in the running epoch."""

    stage: int
    partition: int
    reports: tuple[OperatorSoFar, ...]
    times: TaskTimes


@dataclass(frozen=True)
class WorkerReport:
    """A worker process at the end of a task's run."""

    host: str
    executor: str
    """id of the Spark executor that the process belongs to"""
    pid: int
    memory: int = -1
    """resident memory in bytes; -1: not known"""
    cpu_ms: int = -1
    """processor time in ms since the process began; -1: not known"""


# Many splits on their way to one reader

CHUNK = 1_024
"""number of splits that are packed together"""


def pack(splits: Sequence[Any]) -> tuple[bytes, ...]:
    """The splits in their order, pickled and compressed in chunks of ``CHUNK``."""
    starts = range(0, len(splits), CHUNK)
    return tuple(zlib.compress(dumps(tuple(splits[start : start + CHUNK])), 1) for start in starts)


def unpack(chunks: Iterable[bytes]) -> Iterator[Any]:
    """The splits that ``pack`` of this job's own driver packed; pickled data of any other origin must not get here."""
    for chunk in chunks:
        yield from pickle.loads(zlib.decompress(chunk))


# Results for the program

INLINE_BYTES = 256 * 1024
"""The most bytes of results in one acknowledgement: the acknowledgements of all tasks come through one Spark action."""
FILE_BYTES = 8 * 1024 * 1024
"""Number of gathered bytes at which a task writes its results into a file, before the epoch ends."""


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
    """The result parts of a job that writes none into files."""
    for result in results:
        assert isinstance(result, bytes), f"nobody has said where {result} is"
        yield result


class ResultFiles(Protocol):
    """Where one run of a task writes its result files. The driver reads the files that an acknowledged run names."""

    def write(self, parts: Sequence[bytes]) -> ResultFile: ...


class Results:
    """Gathers the results of one operator in an epoch, in their order."""

    def __init__(self, files: ResultFiles | None) -> None:
        """:param files: None: the driver shares no folder with the task, so all results travel in the
        acknowledgement.
        """
        self._files = files
        self._done: list[Result] = []
        self._parts: list[bytes] = []
        self._size = 0
        """total length of ``_parts``"""

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
        """The number of results to take, where a file counts as one."""
        return len(self._done) + len(self._parts)

    def take(self) -> tuple[Result, ...]:
        """Take all gathered results, in order."""
        if self._size > INLINE_BYTES:
            self._write()
        results, self._done, self._parts, self._size = (*self._done, *self._parts), [], [], 0
        return results


# Orders and acknowledgements

Latency = tuple[int, int, int]
"""(operator id of a source, its subtask, time in ms that its latency mark was under way)"""
NO_TIMES, NO_TASK_TIMES = OperatorTimes(), TaskTimes()


@dataclass(frozen=True)
class SourceOrder:
    """What one source subtask reads in this epoch."""

    splits: tuple[Any, ...] = ()
    """newly assigned splits; the subtask knows the earlier ones"""
    packed: tuple[bytes, ...] = ()
    """more newly assigned splits, in chunks that ``pack`` made"""
    no_more_splits: bool = False
    events: tuple[Any, ...] = ()
    """events that the enumerator sends to the reader"""
    checkpoint: int | None = None
    """the last epoch whose end was recorded"""
    paused: bool = False
    """read nothing: the subtask is too far ahead of its watermark alignment group"""
    limit: int | None = None
    """the watermark (ms) above which a split is not read, because it is too far ahead of its alignment group"""
    stop: bool = False
    """the job shall end here: treat the source as finished"""
    whole: bool = False
    """batch mode: read to the end of the input, also if that means waiting"""
    millis: int | None = None
    """how long the subtask may read (ms), counted from its first batch of records if the task is new; None: no limit
    but the job's"""
    records: int | None = None
    """how many records at most; None: no limit but the job's"""


@dataclass(frozen=True)
class StateQuery:
    """Asks what a keyed state holds for one key at the end of the epoch."""

    number: int
    uid: str
    state: str
    key: Any


@dataclass(frozen=True)
class EpochOrder:
    """What all tasks of an epoch have to know."""

    epoch: int
    """number of this epoch; a repeated epoch gets a new number"""
    keep_state: bool = True
    """whether another epoch may follow, so that the tasks write their state"""
    attempt: int = 0
    """how often the job has been restarted"""
    last: int | None = None
    """the epoch whose end state this epoch starts from; None: the job begins"""
    restore: str | None = None
    """path of a checkpoint or savepoint: the tasks restore its state and do nothing else"""
    may_drop: bool = False
    """whether operators may drop restored state that they have no use for"""
    uids: dict[str, str] = field(default_factory=dict)
    """uid of an operator -> its uid in ``restore``, where the two differ"""
    savepoint: str | None = None
    """folder of a savepoint that the tasks write after this epoch"""
    queries: tuple[StateQuery, ...] = ()
    aggregates: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """uid -> name -> pickled accumulator of a global aggregate"""
    checkpoint: bool = False
    """whether a checkpoint was requested for the end of this epoch"""
    aligned: bool = False
    """in flow: each task waits for all input of the epoch before it works, as if the stages ran one after the other"""
    work_millis: int | None = None
    """how long a task may work on its input (ms); the rest is left for the next epoch. None: until all is done"""


@dataclass(frozen=True)
class TaskOrder:
    """What one task has to know beyond the ``EpochOrder``. Its size does not grow with the number of tasks in the
    job.
    """

    base: int = INITIAL
    """version of the state that the task starts from"""
    whole: int = INITIAL
    """the version up to which there is a file with the whole state; ``INITIAL``: the changes begin without state"""
    stored: int | None = None
    """the version in the name of that file, if it was made from the task's files; None: ``whole``"""
    ran: int = INITIAL
    """state version of the task's last acknowledged run; runs that changed nothing wrote no version"""
    compact: bool = False
    """the end of the epoch becomes a whole state, so that old changes can be deleted: write it, unless ``from_files``
    """
    from_files: bool = False
    """the whole state of the epoch's end, or the task's part of a savepoint, is made from the task's files (ADR 31):
    write only the changes"""
    sources: dict[int, SourceOrder] = field(default_factory=dict)
    """operator id -> what the task's subtask of this source reads"""


@dataclass(frozen=True)
class EpochPlan:
    """An epoch as the driver plans it: the common order, and the orders of single tasks."""

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
    """unfinished splits with their read positions"""
    finished: bool
    watermark: int
    idle: bool = False
    events: tuple[Any, ...] = ()
    """events that the reader sends to the enumerator"""
    requests: int = 0
    """number of splits that the reader has requested"""
    more: bool = False
    """whether the subtask stopped at a limit of the epoch and could have read more"""


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
    """results for the program, in order"""
    fed_back: tuple[bytes, ...] = ()
    """elements that the end of a loop sends back to its head, in the format of an exchange"""
    watermark_out: int = MIN_TIMESTAMP
    measures: MeasureState | None = None
    """metrics and accumulators that the driver has to update; None: nothing has changed"""
    writer_states: tuple[Any, ...] = ()
    """states of the sink writer, for a sink that commits"""
    states: tuple[StateInfo, ...] | None = None
    """the states that the user's function has requested; None: as before"""
    aggregates: dict[str, AddedPart] = field(default_factory=dict)
    """name -> what was added to a global aggregate"""
    bytes_in: int = 0
    """size of the packets that have arrived for the operator"""
    bytes_out: int = 0
    times: OperatorTimes = NO_TIMES
    heavy_keys: tuple[tuple[str, float], ...] | None = None
    """keys with a large share of the operator's input, each with that share (0 to 1); None: as before"""
    latencies: tuple[Latency, ...] = ()
    state_sizes: dict[str, int] | None = None
    """name of a state -> its approximate size in bytes; None: as before, or not known"""
    waiting: int = 0
    """number of packets and chunks that wait at the operator's gate because the epoch had no time for them"""
    key_form: Form = None
    """the form of the keys in the restored state, or of the keys of the first elements since the operator was built"""


@dataclass(frozen=True)
class SavedSubtask:
    """What one subtask of an operator has written to a savepoint."""

    uid: str
    subtask: int
    files: tuple[Any, ...]
    """descriptions of the files that hold the subtask's state"""
    small: bytes | None
    """the operator's own small state, pickled; None: it has none"""
    watermark: int


@dataclass(frozen=True)
class TaskAck:
    """What one task of an epoch reports; with ``failure`` the epoch as a whole has failed."""

    epoch: int
    stage: int
    partition: int
    reports: tuple[OperatorReport, ...] = ()
    delta_bytes: int | None = None
    """size in bytes of the changes that the task wrote; None: nothing has changed, so its state version is the one
    before"""
    full_bytes: int | None = None
    """size of the whole state in bytes; None: the task had no order to write it"""
    delta_checksum: int | None = None
    full_checksum: int | None = None
    replayed: int = 0
    """number of state versions that had to be read to restore the state"""
    failure: Failure | None = None
    run: int = 0
    """positive number that tells apart the runs of one task in one epoch"""
    sent: Tallies = field(default_factory=dict)
    received: Tallies = field(default_factory=dict)
    saved: tuple[SavedSubtask, ...] = ()
    """the parts of the savepoint that this task has written"""
    answers: dict[int, bytes] = field(default_factory=dict)
    """number of a query -> pickled value; a query without an entry has no value for its key"""
    not_saved: str | None = None
    """why the task could not write the savepoint; the savepoint has failed then, but not the epoch"""
    process: str | None = None
    """id of the process that the task stays alive in; None: it does not stay alive"""
    at: int = -1
    """when the task was done (ms, by the clock of its machine); -1: not known"""
    worker: WorkerReport | None = None
    """the process that the task ran in; None: no report was requested"""
    times: TaskTimes = NO_TASK_TIMES
    first_write: Any = None
    """a test file that the process has written, to see whether the driver finds it; None after the first time, and
    where all processes are on one machine"""
    added_bytes: int = 0
    """the part of ``delta_bytes`` that only adds to the state: a file with the whole state would contain it, too"""
    next_due: int | None = None
    """when the task's earliest processing-time timer is due (ms); None: it has none"""

    def encode(self) -> bytes:
        return dumps(self)

    @staticmethod
    def decode(payload: bytes) -> TaskAck:
        """Only for payloads of this job's own tasks: it unpickles."""
        ack: TaskAck = pickle.loads(payload)
        return ack


# Orders for tasks in flow


def flowing(plan: EpochPlan, aligned: bool) -> EpochPlan:
    """The plan for tasks in flow: marks end their epoch, and credit limits how much sources read.

    :param aligned: whether this is the first epoch of a bounded job.
    """
    if aligned:
        return replace(plan, order=replace(plan.order, aligned=True))
    tasks = {task: _unlimited(own) for task, own in plan.tasks.items()}
    return replace(plan, tasks=tasks)


def _unlimited(own: TaskOrder) -> TaskOrder:
    sources = {id: _source(reads) for id, reads in own.sources.items()}
    return replace(own, sources=sources) if sources else own


def _source(reads: SourceOrder) -> SourceOrder:
    # A source that is ahead of its alignment group waits for a new limit, not for the next epoch; and credit slows down
    # a source that is faster than the operators behind it.
    return replace(reads, millis=None, records=None, whole=False, paused=False)
