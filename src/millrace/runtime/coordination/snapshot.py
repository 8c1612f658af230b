"""A job at the end of an epoch, as a checkpoint records it, and which state files each task has.

The state of the tasks lies in their files: those that the running job and its checkpoints need. ``Chains`` also says
when to write new ones. Whether what functions do with restored state fits what it is shows in part only when they are
at work: ``RestoredStates`` looks at that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from millrace.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from millrace.relational.rules.plan_text import changed
from millrace.runtime.bases.epoch_protocol import OperatorReport, TaskAck
from millrace.runtime.coordination.reading import ReadingSnapshot
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.operators.one_input_operators import operator_class
from millrace.runtime.operators.specs import TableStep, Window
from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.restoring.key_forms import Form, common, differ, form_text
from millrace.runtime.storage import INITIAL, TaskId, epoch_and_run, version_of
from millrace.runtime.tables.stored_calls import Kept, StoredCalls, check_counted, kept
from millrace.runtime.tables.stored_types import NotKeptError
from millrace.runtime.windows.choice import describe_windows

# State files

COMPACT_BYTES = 32 * 1024 * 1024
"""Changes below this size are not worth a compaction."""
COMPACT_VERSIONS = 500
"""Versions of a task after which it should write its whole state."""
TOGETHER = 32
"""One task in so many, and one at least, writes its whole state in the same epoch."""


@dataclass(frozen=True)
class TaskFiles:
    """The files that make up the state of one task at the end of an epoch, as a checkpoint records them."""

    whole: int = INITIAL
    """the version with a whole state, ``INITIAL`` if the task began without any"""
    whole_bytes: int | None = None
    """size of that file; None: there is none"""
    delta_bytes: int = 0
    """size of all changes since"""
    changes: str = ""
    """the versions since, oldest first: ``<epoch>-<run>:<bytes>:<checksum>`` for each, with blanks between them; in
    earlier versions of Millrace without checksums"""
    whole_checksum: int | None = None
    """of the file with the whole state; None: it is not known"""

    @property
    def first(self) -> int:
        """The oldest epoch that is needed."""
        return epoch_and_run(self.whole)[0]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return (self.whole_bytes or 0) + self.delta_bytes

    def beyond(self, known: TaskFiles) -> TaskFiles:
        """Those files that ``known`` has not; what that costs does not depend on how many both have."""
        if (known.whole, known.whole_bytes) != (self.whole, self.whole_bytes):
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


class TaskChain:
    """The same for a task that runs. What an epoch adds costs the same however many there were."""

    def __init__(self, files: TaskFiles | None = None) -> None:
        """``files``: what it goes on from."""
        files = files or TaskFiles()
        self.head = self.whole = files.whole
        self.whole_bytes, self.whole_checksum = files.whole_bytes, files.whole_checksum
        self.delta_bytes = files.delta_bytes
        self.added_bytes = 0
        """those that a whole state would have, too, as far as this driver has heard"""
        self.versions = 0
        """those since the whole state"""
        for self.head, *_ in files.since():
            self.versions += 1
        self.ran = self.head
        """the last run that counts, as a version, whether it changed anything or not"""
        self._changes = bytearray(files.changes.encode())

    @property
    def first(self) -> int:
        """The oldest epoch that is needed."""
        return epoch_and_run(self.whole)[0]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return (self.whole_bytes or 0) + self.delta_bytes

    @property
    def at_whole(self) -> bool:
        """Whether there is a file with the whole state of the last version."""
        return self.head == self.whole != INITIAL

    @property
    def urgency(self) -> float:
        """How much the task should write its whole state: from 1 on. Rows that are only ever added would be written
        again and again, for nothing."""
        replaced = self.delta_bytes - self.added_bytes
        grown = replaced / max(COMPACT_BYTES, (self.whole_bytes or 0) + self.added_bytes)
        return max(grown, self.versions / COMPACT_VERSIONS)

    def add(self, ack: TaskAck) -> None:
        """The task has acknowledged an epoch that counts."""
        self.ran = version_of(ack.epoch, ack.run)
        if ack.full_bytes is not None:
            self.head = self.whole = self.ran
            self.whole_bytes, self.whole_checksum = ack.full_bytes, ack.full_checksum
            self.delta_bytes, self.added_bytes, self.versions = 0, 0, 0
            self._changes = bytearray()
        elif ack.delta_bytes is not None:
            self.head = self.ran
            self.delta_bytes += ack.delta_bytes
            self.added_bytes += ack.added_bytes
            self.versions += 1
            self._changes += b" %d-%d:%d" % (ack.epoch, ack.run, ack.delta_bytes)
            if ack.delta_checksum is not None:
                self._changes += b":%08x" % ack.delta_checksum

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
        return TaskFiles(self.whole, self.whole_bytes, self.delta_bytes, changes, self.whole_checksum)


class Chains:
    """The chains of all tasks at the end of an epoch."""

    def __init__(self, tasks: Iterable[TaskId]) -> None:
        self.tasks: dict[TaskId, TaskChain] = {task: TaskChain() for task in tasks}

    def validate(self) -> None:
        """:raises AssertionError: the chain of a task contradicts itself, or too many tasks would be compacted."""
        for task, chain in self.tasks.items():
            try:
                chain.validate()
            except AssertionError as error:
                raise AssertionError(f"task {task}: {error}") from None
        compacted = self.to_compact()
        most = max(1, len(self.tasks) // TOGETHER)
        assert len(compacted) <= most, f"{len(compacted)} tasks write their whole state in one epoch, not {most}"

    def restore(self, files: Mapping[TaskId, TaskFiles]) -> None:
        """The tasks go on from these files."""
        self.tasks = {task: TaskChain(known) for task, known in files.items()}

    def files(self) -> dict[TaskId, TaskFiles]:
        return {task: chain.files() for task, chain in self.tasks.items()}

    def sizes(self) -> dict[TaskId, int]:
        """Bytes of all files of each task."""
        return {task: chain.bytes for task, chain in self.tasks.items()}

    def record(self, acks: Iterable[TaskAck]) -> None:
        """An epoch is complete."""
        for ack in acks:
            self.tasks[ack.stage, ack.partition].add(ack)

    def to_compact(self) -> frozenset[TaskId]:
        """Tasks that should write their whole state in the next epoch. Never many at once: those that need it most."""
        urgent = [(chain.urgency, task) for task, chain in self.tasks.items() if chain.urgency >= 1]
        urgent.sort(key=lambda entry: (-entry[0], entry[1]))
        return frozenset(task for _, task in urgent[: max(1, len(self.tasks) // TOGETHER)])


# The snapshot


def meaning_of(info: OperatorInfo) -> tuple[str, ...]:
    """What the state of an operator of a query means."""
    return info.spec.config.meaning if isinstance(info.spec, TableStep) else ()


def earlier_meaning_of(info: OperatorInfo) -> tuple[str, ...]:
    """The same as earlier versions said it, where that differs."""
    return info.spec.config.earlier_meaning if isinstance(info.spec, TableStep) else ()


def stored_of(info: OperatorInfo) -> tuple[StoredCalls, tuple[Any, ...]] | None:
    """How accumulators lie in the state of an operator of a query, and one of nothing."""
    return info.spec.config.stored() if isinstance(info.spec, TableStep) else None


@dataclass(frozen=True)
class OperatorPlace:
    """One operator, and where its subtasks lay."""

    uid: str
    name: str
    operator: str
    """name of the class that ran"""
    parallelism: int
    max_parallelism: int
    stage: int
    offset: int
    origin: str = ""
    windows: dict[str, Any] | None = None
    """which windows it has and how it keeps them, as plain JSON; None for other operators"""
    meaning: tuple[str, ...] = ()
    """what the state of an operator of a query means; nothing: it is not known"""
    calls: dict[str, Any] | None = None
    """how accumulators and rows lie in its state (``StoredCalls``, plain JSON)"""
    kin: str = ""
    """what an operator of a query is known by where its uid has changed with the query"""

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
        )

    def changed(self, info: OperatorInfo) -> str | None:
        """How what its state means differs from what it means for an operator of today; None: not, or not known."""
        now = meaning_of(info)
        if not self.meaning or not now:
            return None
        try:
            as_it_was = self.kept(info) is None
        except NotKeptError as error:
            return str(error)
        return changed(self.meaning, now) if as_it_was and self.meaning != earlier_meaning_of(info) else None

    def kept(self, info: OperatorInfo) -> Kept | None:
        """What of its accumulators and rows an operator of today goes on with; None: all as it is, or it is not known.

        :raises NotKeptError: it can't go on.
        """
        now = stored_of(info)
        if self.calls is None or now is None or not isinstance(info.spec, TableStep):
            return None
        before = StoredCalls.of(self.calls)
        check_counted(before, now[0])
        if self.meaning == earlier_meaning_of(info):
            return None
        return kept(before, *now, info.spec.config.new_calls_begin_empty)

    @property
    def layout(self) -> tuple[Any, ...]:
        """What must be the same for its tasks to go on as they were."""
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
    """Whether an operator of a query is what an earlier one was, though its uid may be another one."""
    known = place.calls is not None and stored_of(info) is not None and place.kin == info.kin
    return known and place.operator == operator_class(info.spec, info.final).__name__


@dataclass(frozen=True)
class JobSnapshot:
    """All that the driver has to know to go on from the end of epoch ``epoch``."""

    job_id: str
    job_name: str
    epoch: int
    """also the number of the checkpoint"""
    time: int
    """ms"""
    operators: tuple[OperatorPlace, ...]
    tasks: dict[TaskId, TaskFiles] = field(default_factory=dict)
    sources: dict[str, ReadingSnapshot] = field(default_factory=dict)
    """uid -> positions"""
    loops: tuple[Any, ...] = ()
    committables: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """uid of a sink -> what is prepared and not yet committed"""
    writers: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """uid of a sink -> states of its writers"""
    states: dict[str, tuple[StateInfo, ...]] = field(default_factory=dict)
    """uid -> the states that its function has asked for"""
    key_types: dict[str, TypeInformation] = field(default_factory=dict)
    """uid -> type of the keys of its input, as far as it is known"""
    edges: int = 0
    """number of connections between operators"""
    aggregates: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """uid -> name -> accumulator of a global aggregate, pickled"""
    linked: bool = True
    """whether the tasks' files name those before them: not those of earlier versions of Millrace"""
    waiting: bool = False
    """whether something waits at operators that had no time for it"""

    @property
    def by_uid(self) -> dict[str, OperatorPlace]:
        return {place.uid: place for place in self.operators}

    @property
    def bytes(self) -> int:
        """Size of the tasks' files."""
        return sum(files.bytes for files in self.tasks.values())

    def fits(self, job: JobGraph) -> bool:
        """Whether the tasks of ``job`` can go on from these very files."""
        before, now = self.operators, tuple(OperatorPlace.of(info) for info in job.operators)
        same = [place.layout for place in before] == [place.layout for place in now]
        same = same and all(old.meaning in ((), new.meaning) for old, new in zip(before, now))
        return same and self.edges == len(job.edges) and self.linked


# Restored state against what functions declare

GoesOn = Callable[[StateInfo, StateInfo], "str | None"]
"""(a state as it was, as its function asks for it now) -> why it can't go on so, None if it can"""


class RestoredStates:
    """The states and keys that a job has begun with."""

    def __init__(self) -> None:
        self.goes_on: GoesOn | None = None
        self._keys: dict[str, Form] = {}
        """uid -> what the keys of its state look like, until some have come"""

    def begun(self, job: JobGraph, reports: Sequence[OperatorReport]) -> None:
        """Tasks have taken over their state."""
        for report in reports:
            info = job.by_id[report.operator]
            if report.key_form is not None and _has_keys_of_one_kind(info):
                known = self._keys.setdefault(info.uid, report.key_form)
                self._keys[info.uid] = common(known, report.key_form)

    def problem(self, info: OperatorInfo, report: OperatorReport, states: Sequence[StateInfo]) -> str | None:
        """Why what a subtask reports does not go with what was restored; None: it does.

        :param states: those of the operator that are known.
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
    """Whether keys tell what an operator's state is of: queries say it themselves, and keys may be declared to be
    anything."""
    return not isinstance(info.spec, TableStep) and not isinstance(info.key_type, PickledBytesTypeInfo)


def _other_keys(before: Form, now: Form) -> str:
    return (
        f"the keys of its restored state are {form_text(before)}, those of what comes now are {form_text(now)}: none "
        f"would find its state. Key by what it was keyed by, give the operator another uid, or let its state be out of "
        f"reach (--allowNonRestoredState); key_by(..., key_type=Types.PICKLED_BYTE_ARRAY()) says that keys are of any "
        f"kind"
    )
