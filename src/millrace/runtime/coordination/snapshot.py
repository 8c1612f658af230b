"""The state of a job at the end of an epoch, as a checkpoint records it, and the state files of each task.

The state of tasks lies in files, which the running job and its checkpoints need. ``Chains`` also decides when a task
writes its whole state. Whether restored state fits the functions that use it shows in part only while they run:
``RestoredStates`` checks that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from millrace.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from millrace.relational.rules.plan_text import changed
from millrace.runtime.bases.epoch_protocol import OperatorReport, TaskAck
from millrace.runtime.coordination.reading import ReadingSnapshot
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.operators.making import operator_class
from millrace.runtime.operators.specs import TableStep, Window
from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.restoring.key_forms import Form, common, differ, form_text
from millrace.runtime.storage import INITIAL, TaskId, epoch_and_run, version_of
from millrace.runtime.tables.state_table import StateTable, tables_of
from millrace.runtime.tables.stored_calls import Kept, StoredCalls, check_counted, kept
from millrace.runtime.tables.stored_types import NotKeptError
from millrace.runtime.windows.choice import describe_windows

# State files

COMPACT_BYTES = 32 * 1024 * 1024
"""Size of changes (bytes) below which a task is not compacted."""
COMPACT_VERSIONS = 500
"""Number of state versions of a task after which it should write its whole state."""
TOGETHER = 32
"""At most 1/``TOGETHER`` of the tasks, and at least one, write their whole state in the same epoch."""


@dataclass(frozen=True)
class TaskFiles:
    """The files that make up the state of one task at the end of an epoch, as a checkpoint records them."""

    whole: int = INITIAL
    """the version with the whole state; ``INITIAL`` if the task began without state"""
    whole_bytes: int | None = None
    """size of the file with the whole state; None: there is no file"""
    delta_bytes: int = 0
    """total size of the changes since ``whole``"""
    changes: str = ""
    """the versions since ``whole``, oldest first: ``<epoch>-<run>:<bytes>:<checksum>`` for each, separated by blanks;
    earlier versions of Millrace wrote no checksums"""
    whole_checksum: int | None = None
    """checksum of the file with the whole state; None: not known"""
    whole_run: int = 0
    """the run in the name of that file, if it was made from the task's files (ADR 31); 0: the run of ``whole``"""

    @property
    def first(self) -> int:
        """The oldest epoch whose files are needed."""
        return epoch_and_run(self.whole)[0]

    @property
    def stored(self) -> int | None:
        """The version in the name of the file with the whole state, if that is not ``whole``."""
        return version_of(self.first, self.whole_run) if self.whole_run else None

    @property
    def last(self) -> int:
        """The last version that the files contain."""
        return max((version for version, *_ in self.since()), default=self.whole)

    @property
    def bytes(self) -> int:
        """Total size of the files."""
        return (self.whole_bytes or 0) + self.delta_bytes

    def beyond(self, known: TaskFiles) -> TaskFiles:
        """The files that ``known`` does not contain. The cost does not depend on how many both contain."""
        if (known.whole, known.whole_run, known.whole_bytes) != (self.whole, self.whole_run, self.whole_bytes):
            return self
        rest = self.changes[len(known.changes) :]
        if not self.changes.startswith(known.changes) or (known.changes and rest[:1] not in ("", " ")):
            return self
        return TaskFiles(changes=rest.lstrip())

    def since(self) -> Iterator[tuple[int, int, int | None]]:
        """The versions since the whole state, oldest first, with the sizes and checksums of their changes."""
        for entry in self.changes.split():
            version, size, *checksum = entry.split(":")
            epoch, _, run = version.partition("-")
            yield version_of(int(epoch), int(run)), int(size), int(checksum[0], 16) if checksum else None


class WholeFile(NamedTuple):
    """A file with a whole state that was made from the files of a task."""

    run: int
    """positive number in the file's name, which no other file of the epoch has"""
    size: int
    """size in bytes"""
    checksum: int | None


class TaskChain:
    """The state files of a running task. Adding an epoch takes the same time however many there are."""

    def __init__(self, files: TaskFiles | None = None) -> None:
        """``files``: the files that the task was restored from."""
        files = files or TaskFiles()
        self.head = self.whole = files.whole
        self.whole_bytes, self.whole_checksum = files.whole_bytes, files.whole_checksum
        self.stored = files.stored
        """the version in the name of the file with the whole state, if that is not ``whole``"""
        self.delta_bytes = files.delta_bytes
        self.added_bytes = 0
        """the part of ``delta_bytes`` that a whole state would contain, too, as far as this driver has been informed"""
        self.versions = 0
        """number of versions since the whole state"""
        for self.head, *_ in files.since():
            self.versions += 1
        self.ran = self.head
        """version of the last acknowledged run, whether it changed state or not"""
        self._changes = bytearray(files.changes.encode())

    @property
    def first(self) -> int:
        """The oldest epoch whose files are needed."""
        return epoch_and_run(self.whole)[0]

    @property
    def bytes(self) -> int:
        """Total size of the files."""
        return (self.whole_bytes or 0) + self.delta_bytes

    def known(self) -> set[int]:
        """The versions whose changes are in the files."""
        return {version for version, *_ in self.files().since()}

    @property
    def urgency(self) -> float:
        """How much the task should write its whole state; it should from 1 on. Rows that are only ever added don't
        count: writing them again would gain nothing."""
        replaced = self.delta_bytes - self.added_bytes
        grown = replaced / max(COMPACT_BYTES, (self.whole_bytes or 0) + self.added_bytes)
        return max(grown, self.versions / COMPACT_VERSIONS)

    def add(self, ack: TaskAck) -> None:
        """Add the acknowledgement of a complete epoch."""
        self.ran = version_of(ack.epoch, ack.run)
        if ack.full_bytes is not None:
            self.head = self.whole = self.ran
            self.whole_bytes, self.whole_checksum, self.stored = ack.full_bytes, ack.full_checksum, None
            self.delta_bytes, self.added_bytes, self.versions = 0, 0, 0
            self._changes = bytearray()
        elif ack.delta_bytes is not None:
            self.head = self.ran
            self.added_bytes += ack.added_bytes
            self._add_changes(self.ran, ack.delta_bytes, ack.delta_checksum)

    def begin_at(self, head: int, added_bytes: int, made: WholeFile) -> None:
        """Let a whole state that was made from the files take their place.

        :param head: the last version that it contains.
        :param added_bytes: ``added_bytes`` when that was the chain's last version.
        """
        left = [entry for entry in self.files().since() if entry[0] > head]
        self.whole, self.stored = head, version_of(epoch_and_run(head)[0], made.run)
        self.whole_bytes, self.whole_checksum = made.size, made.checksum
        self.delta_bytes, self.added_bytes, self.versions = 0, self.added_bytes - added_bytes, 0
        self._changes = bytearray()
        for version, size, checksum in left:
            self._add_changes(version, size, checksum)

    def _add_changes(self, version: int, size: int, checksum: int | None) -> None:
        self.delta_bytes += size
        self.versions += 1
        self._changes += b" %d-%d:%d" % (*epoch_and_run(version), size)
        if checksum is not None:
            self._changes += b":%08x" % checksum

    def validate(self) -> None:
        """:raises AssertionError: the counters of the chain are not those of its files, or their order is wrong."""
        files = self.files()
        versions, sizes = [], 0
        for version, size, _ in files.since():
            versions.append(version)
            sizes += size
        # A task acknowledges each epoch once, whatever run of it that was.
        epochs = [epoch_and_run(version)[0] for version in (self.whole, *versions)]
        assert all(one < other for one, other in pairwise(epochs)), f"changes are not in order: {epochs}"
        assert self.head == (versions[-1] if versions else self.whole), f"{self.head} is not the last version"
        assert self.versions == len(versions), f"{self.versions} versions are counted, there are {len(versions)}"
        assert self.delta_bytes == sizes, f"{self.delta_bytes} bytes of changes are counted, there are {sizes}"
        assert self.added_bytes <= self.delta_bytes, f"{self.added_bytes} of {self.delta_bytes} bytes are additions"
        assert self.ran >= self.head, f"run {self.ran} counts, and version {self.head} is there already"
        assert self.whole == INITIAL or self.whole_bytes is not None, f"the whole state {self.whole} has no size"

    def files(self) -> TaskFiles:
        changes = self._changes.decode().lstrip()
        run = 0 if self.stored is None else epoch_and_run(self.stored)[1]
        return TaskFiles(self.whole, self.whole_bytes, self.delta_bytes, changes, self.whole_checksum, run)


class Chains:
    """The state files of all tasks at the end of an epoch."""

    def __init__(self, tasks: Iterable[TaskId]) -> None:
        self.tasks: dict[TaskId, TaskChain] = {task: TaskChain() for task in tasks}

    def validate(self) -> None:
        """:raises AssertionError: the chain of a task contradicts itself, or too many tasks would be compacted."""
        for task, chain in self.tasks.items():
            try:
                chain.validate()
            except AssertionError as error:
                raise AssertionError(f"task {task}: {error}") from None
        count, most = len(self.to_compact()), self.together
        assert count <= most, f"{count} tasks write their whole state in one epoch, not {most}"

    def restore(self, files: Mapping[TaskId, TaskFiles]) -> None:
        """Continue from these files."""
        self.tasks = {task: TaskChain(known) for task, known in files.items()}

    def files(self) -> dict[TaskId, TaskFiles]:
        return {task: chain.files() for task, chain in self.tasks.items()}

    def sizes(self) -> dict[TaskId, int]:
        """Total size of each task's files in bytes."""
        return {task: chain.bytes for task, chain in self.tasks.items()}

    def record(self, acks: Iterable[TaskAck]) -> None:
        """Add the acknowledgements of a complete epoch."""
        for ack in acks:
            self.tasks[ack.stage, ack.partition].add(ack)

    def to_compact(self, busy: Collection[TaskId] = ()) -> frozenset[TaskId]:
        """The tasks whose state at the end of the next epoch should become a whole one: only the most urgent ones,
        since not many should at once.

        :param busy: tasks whose whole state is being made.
        """
        urgent = [
            (chain.urgency, task) for task, chain in self.tasks.items() if chain.urgency >= 1 and task not in busy
        ]
        urgent.sort(key=lambda entry: (-entry[0], entry[1]))
        return frozenset(task for _, task in urgent[: max(0, self.together - len(busy))])

    @property
    def together(self) -> int:
        """The most tasks whose whole state is made at the same time."""
        return max(1, len(self.tasks) // TOGETHER)


# The snapshot


def meaning_of(info: OperatorInfo) -> tuple[str, ...]:
    """A description of what an operator of a query stores in its state; empty for other operators."""
    return info.spec.config.meaning if isinstance(info.spec, TableStep) else ()


def earlier_meaning_of(info: OperatorInfo) -> tuple[str, ...]:
    """The description of an operator's state as earlier versions of Millrace wrote it, where that differs from
    ``meaning_of``."""
    return info.spec.config.earlier_meaning if isinstance(info.spec, TableStep) else ()


def stored_of(info: OperatorInfo) -> tuple[StoredCalls, tuple[Any, ...]] | None:
    """How accumulators are laid out in the state of an operator of a query, and the accumulators of no rows; None for
    other operators."""
    return info.spec.config.stored() if isinstance(info.spec, TableStep) else None


@dataclass(frozen=True)
class OperatorPlace:
    """One operator of a snapshot, and which tasks its subtasks were in."""

    uid: str
    name: str
    operator: str
    """class name of the operator that ran"""
    parallelism: int
    max_parallelism: int
    stage: int
    offset: int
    origin: str = ""
    windows: dict[str, Any] | None = None
    """the windows of a window operator and how they are stored, as plain JSON; None for other operators"""
    meaning: tuple[str, ...] = ()
    """what an operator of a query stores in its state; empty: not known"""
    calls: dict[str, Any] | None = None
    """layout of accumulators and rows in the state (``StoredCalls`` as plain JSON)"""
    kin: str = ""
    """identifies an operator of a query when its uid has changed with the query"""
    tables: tuple[StateTable, ...] = ()
    """the states of an operator of a query as tables"""

    @staticmethod
    def of(info: OperatorInfo) -> OperatorPlace:
        return OperatorPlace(
            info.uid,
            info.name,
            operator_class(info.spec, info.final).__name__,
            info.parallelism,
            info.max_parallelism,
            info.stage,
            info.offset,
            info.origin,
            describe_windows(info.spec.strategy) if isinstance(info.spec, Window) else None,
            meaning_of(info),
            None if (stored := stored_of(info)) is None else stored[0].plain(),
            info.kin,
            info.spec.config.state_tables() if isinstance(info.spec, TableStep) else (),
        )

    @property
    def state_tables(self) -> tuple[StateTable, ...]:
        """``tables``, or what earlier versions have recorded of them: columns are named by what they come from."""
        return self.tables or (() if self.calls is None else tables_of(StoredCalls.of(self.calls)))

    def changed(self, info: OperatorInfo) -> str | None:
        """How the state of this operator differs in meaning from that of today's operator; None: not at all, or not
        known."""
        now = meaning_of(info)
        if not self.meaning or not now:
            return None
        try:
            as_it_was = self.kept(info) is None
        except NotKeptError as error:
            return str(error)
        return changed(self.meaning, now) if as_it_was and self.meaning != earlier_meaning_of(info) else None

    def kept(self, info: OperatorInfo) -> Kept | None:
        """Which accumulators and rows today's operator can use; None: all of them unchanged, or not known.

        :raises NotKeptError: today's operator can't use this state.
        """
        now = stored_of(info)
        if self.calls is None or now is None or not isinstance(info.spec, TableStep):
            return None
        before = StoredCalls.of(self.calls)
        check_counted(before, now[0])
        if self.meaning == earlier_meaning_of(info) and before.shape == now[0].shape:
            return None
        return kept(before, *now, info.spec.config.new_calls_begin_empty)

    @property
    def layout(self) -> tuple[Any, ...]:
        """The values that must not change if the tasks are to continue with their own files."""
        return (
            self.uid,
            self.operator,
            self.parallelism,
            self.max_parallelism,
            self.stage,
            self.offset,
            self.windows,
        )


def same_state(place: OperatorPlace, info: OperatorInfo) -> bool:
    """Whether the operator of a snapshot and one of today's query have the same state, although their uids may
    differ.
    """
    known = place.calls is not None and stored_of(info) is not None and place.kin == info.kin
    return known and place.operator == operator_class(info.spec, info.final).__name__


@dataclass(frozen=True)
class JobSnapshot:
    """All that the driver needs to continue a job from the end of epoch ``epoch``."""

    job_id: str
    job_name: str
    epoch: int
    """the last epoch of the snapshot; also the id of the checkpoint"""
    time: int
    """when the snapshot was taken (ms)"""
    operators: tuple[OperatorPlace, ...]
    tasks: dict[TaskId, TaskFiles] = field(default_factory=dict)
    sources: dict[str, ReadingSnapshot] = field(default_factory=dict)
    """uid of a source -> its read positions"""
    loops: tuple[Any, ...] = ()
    committables: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """uid of a sink -> committables that were prepared and not committed yet"""
    writers: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """uid of a sink -> states of its writers"""
    states: dict[str, tuple[StateInfo, ...]] = field(default_factory=dict)
    """uid -> the states that the operator's function has requested"""
    key_types: dict[str, TypeInformation] = field(default_factory=dict)
    """uid -> type of the keys of the operator's input, as far as known"""
    edges: int = 0
    """number of connections between operators"""
    aggregates: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """uid -> name -> pickled accumulator of a global aggregate"""
    linked: bool = True
    """whether each file of a task names the file before it; False in earlier versions of Millrace"""
    waiting: bool = False
    """whether packets wait at gates for operators that had no time for them"""

    @property
    def by_uid(self) -> dict[str, OperatorPlace]:
        return {place.uid: place for place in self.operators}

    @property
    def bytes(self) -> int:
        """Size of the tasks' files."""
        return sum(files.bytes for files in self.tasks.values())

    def fits(self, job: JobGraph) -> bool:
        """Whether the tasks of ``job`` can continue from these same files."""
        before, now = self.operators, tuple(OperatorPlace.of(info) for info in job.operators)
        same = [place.layout for place in before] == [place.layout for place in now]
        same = same and all(old.meaning in ((), new.meaning) for old, new in zip(before, now))
        return same and self.edges == len(job.edges) and self.linked


# Restored state against what functions declare

GoesOn = Callable[[StateInfo, StateInfo], "str | None"]
"""(a restored state, the state as its function requests it now) -> why the function can't use it, None if it can"""


class RestoredStates:
    """The states and keys that a job has begun with."""

    def __init__(self) -> None:
        self.goes_on: GoesOn | None = None
        self._keys: dict[str, Form] = {}
        """uid -> form of the keys in the restored state, until the operator has seen keys of its own"""

    def begun(self, job: JobGraph, reports: Sequence[OperatorReport]) -> None:
        """The tasks have restored their state."""
        for report in reports:
            info = job.by_id[report.operator]
            if report.key_form is not None and _has_keys_of_one_kind(info):
                known = self._keys.setdefault(info.uid, report.key_form)
                self._keys[info.uid] = common(known, report.key_form)

    def problem(self, info: OperatorInfo, report: OperatorReport, states: Sequence[StateInfo]) -> str | None:
        """Why the report of a subtask does not fit the restored state; None: it does.

        :param states: the known states of the operator.
        """
        if report.key_form is not None and info.uid in self._keys:
            before = self._keys.pop(info.uid)
            if differ(before, report.key_form):
                return _other_keys(before, report.key_form)
        if self.goes_on is None or report.states is None:
            return None
        known = {(state.scope, state.name): state for state in states if state.described is not None}
        asked = ((known.get((state.scope, state.name)), state) for state in report.states if state.type is not None)
        found = (self.goes_on(before, state) for before, state in asked if before is not None)
        return next((problem for problem in found if problem is not None), None)


def _has_keys_of_one_kind(info: OperatorInfo) -> bool:
    """Whether the form of keys can tell whether state fits an operator. Not for queries, which have their own check,
    and not for keys of a declared type, which may be anything."""
    return not isinstance(info.spec, TableStep) and not isinstance(info.key_type, PickledBytesTypeInfo)


def _other_keys(before: Form, now: Form) -> str:
    return (
        f"the keys of its restored state are {form_text(before)}, those of what comes now are {form_text(now)}: none "
        f"would find its state. Key by what it was keyed by, give the operator another uid, or let its state be out of "
        f"reach (--allowNonRestoredState); key_by(..., key_type=Types.PICKLED_BYTE_ARRAY()) says that keys are of any "
        f"kind"
    )
