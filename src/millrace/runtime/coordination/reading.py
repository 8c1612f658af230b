"""The driver's side of operators that read: splits, finished subtasks, read positions, and how much an epoch reads.

In an epoch sources read as much as the later stages can process in it. At first the cost of an element in later stages
is unknown, so the first epoch is short. Each following epoch goes by the measured time of the last one, and nothing new
is read while packets wait at a gate. A subtask that has nothing to read holds back the watermark of its whole source,
so no window fires; ``QuietSubtasks`` logs a warning for that.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.common.source import SourceEvent, SplitEnumerator, SplitEnumeratorContext
from millrace.common.watermark_strategy import WatermarkAlignment
from millrace.runtime.bases import epoch_protocol
from millrace.runtime.bases.epoch_protocol import SourceOrder, SourceReport, TaskAck, TaskSoFar
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.failure import failed_on_driver
from millrace.runtime.operators.iteration import END_OF_TIME
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.operators.specs import Iterate, ReadsSplits, Source

# How much is read in an epoch

FIRST_MILLIS, FIRST_PART = 100, 0.1
"""How long sources read in the first epoch: this many ms, or this part of the longest epoch, whichever is more."""
RISING = 8
"""An epoch reads at most this many times the records, and lasts at most this many times as long, as the one before."""
PART = 0.8
"""The part of an epoch's time that the slowest later stage is planned to need; the rest is reserve."""


class ReadingPace:
    """Decides how long and how many records the sources of a job read in the next epoch.

    :param longest: how long a subtask of a source may read in an epoch (ms), and a task may work on its input; None:
        there is no limit.
    """

    def __init__(self, job: JobGraph, longest: int | None) -> None:
        self._readers = {info.id for info in job.operators if isinstance(info.spec, ReadsSplits)}
        self._longest = longest
        self.millis = None if longest is None else min(max(FIRST_MILLIS, int(FIRST_PART * longest)), longest)
        """how long a source subtask reads in the next epoch (ms)"""
        self.records: int | None = None
        """how many records a source subtask reads at most; None: no limit"""
        self.waiting = False
        """whether packets wait at a gate because the tasks had no time for them"""
        self._read = 0
        self._worked = 0.0

    @property
    def paused(self) -> bool:
        """Whether sources read nothing in the next epoch."""
        return self._longest is not None and self.waiting

    def ran(self, acks: Sequence[TaskAck]) -> None:
        """Take the acknowledgements of a complete epoch."""
        reports = [report for ack in acks for report in ack.reports]
        self.waiting = any(report.waiting for report in reports)
        if self._longest is None or self.millis is None:
            return
        self._read += max((each.records_out for each in reports if each.operator in self._readers), default=0)
        self._worked += self._slowest(acks)
        if self.waiting or not self._read:
            return
        self.millis = min(RISING * self.millis, self._longest)
        fitting = self._read * PART * self._longest / max(self._worked, 0.001)
        self.records = max(1, int(min(fitting, RISING * self._read)))
        self._read, self._worked = 0, 0.0

    def _slowest(self, acks: Sequence[TaskAck]) -> float:
        """How long the slowest task after the first exchange has worked (ms). Sources, and operators in their tasks,
        are limited by ``millis``."""
        return max((self._work(ack) for ack in acks if ack.stage > 0), default=0.0)

    def _work(self, ack: TaskAck) -> float:
        times = (report.times for report in ack.reports if report.operator not in self._readers)
        return sum(each.work + each.sort for each in times) / 1000


# The state of reading

logger = logging.getLogger(__name__)

FIRST_BACKLOG = 16
"""The most unfinished splits that a reader gets in its first epoch; see ``SplitEnumerator``."""
MOST_BACKLOG = 512


@dataclass(frozen=True)
class ReadingSnapshot:
    """The state of one source at the end of an epoch: read positions of its splits, and its enumerator."""

    enumerator: Any
    """``snapshot_state`` of the enumerator; None: it was never made"""
    enumerated: bool
    """whether there was an enumerator"""
    splits: dict[int, tuple[Any, ...]]
    """subtask -> unfinished splits with their read positions"""
    no_more: frozenset[int]
    finished: frozenset[int]
    watermarks: dict[int, int]
    parallelism: int
    unsent: dict[int, int] | None = None
    """subtask -> how many of its splits, the last ones, were not sent to its task yet; None: all must be sent, since
    the tasks of Millrace 0.1 did not store splits"""
    heard: tuple[tuple[int, Any], ...] = ()
    """(subtask, event): events from readers that the enumerator has not got yet"""
    messages: tuple[tuple[int, Any], ...] = ()
    """(subtask, event): events from the enumerator that the readers have not got yet"""
    requests: tuple[tuple[int, int], ...] = ()
    """(subtask, number of splits that it has requested)"""

    def known(self, subtask: int) -> list[Any]:
        """The splits of a subtask that its task has in its own state."""
        splits = self.splits.get(subtask, ())
        return [] if self.unsent is None else list(splits[: len(splits) - self.unsent.get(subtask, 0)])

    def unknown(self, subtask: int) -> list[Any]:
        """The splits of a subtask that have to be sent to its task."""
        return list(self.splits.get(subtask, ())[len(self.known(subtask)) :])


@dataclass
class ReadingState(SplitEnumeratorContext[Any]):
    """The state of one source of the job on the driver; also the context of its enumerator."""

    info: OperatorInfo
    clock: Callable[[], int]
    splits: dict[int, list[Any]] = field(default_factory=dict)
    """subtask -> unfinished splits that it reported"""
    no_more: set[int] = field(default_factory=set)
    finished: set[int] = field(default_factory=set)
    watermarks: dict[int, int] = field(default_factory=dict)
    holds_back: dict[int, bool] = field(default_factory=dict)
    """subtask -> whether others of the alignment group wait for it: not if it is idle or has nothing to read"""
    enumerator: SplitEnumerator[Any] | None = None
    assigned: int = 0
    _new: dict[int, list[Any]] = field(default_factory=dict)
    """subtask -> splits assigned since the last complete epoch"""
    _messages: dict[int, list[Any]] = field(default_factory=dict)
    """subtask -> events for its reader"""
    _sent: dict[int, tuple[int, int]] = field(default_factory=dict)
    """subtask -> how many of its new splits, and of its events, the last order contains"""
    _heard: list[tuple[int, Any]] = field(default_factory=list)
    """(subtask, event): events from readers for the enumerator"""
    _requests: Counter[int] = field(default_factory=Counter)
    _backlogs: dict[int, int] = field(default_factory=dict)
    _held_back: set[int] = field(default_factory=set)
    """subtasks that got no more splits because they had enough"""
    _left: ReadingSnapshot | None = None
    """the snapshot that the enumerator starts from; it is made when it is first needed"""
    _unassigned: list[tuple[int, Any]] = field(default_factory=list)
    """(earlier subtask, split): splits that the enumerator has to assign again"""

    def current_parallelism(self) -> int:
        return self.info.parallelism

    def assign_split(self, split: Any, subtask_id: int) -> None:
        self._new.setdefault(subtask_id, []).append(split)
        self.assigned += 1

    def signal_no_more_splits(self, subtask_id: int) -> None:
        self.no_more.add(subtask_id)

    def send_event_to_source_reader(self, subtask_id: int, event: SourceEvent) -> None:
        self._messages.setdefault(subtask_id, []).append(event)

    def current_processing_time(self) -> int:
        return self.clock()

    @property
    def alignment(self) -> WatermarkAlignment | None:
        return self._spec.strategy.alignment

    @property
    def _spec(self) -> Source:
        assert isinstance(self.info.spec, Source)
        return self.info.spec

    def ask_for_splits(self, everything: bool = False) -> None:
        """Let every reader request splits in turn, until none gets one.

        :param everything: assign all splits; else only until each reader has enough.
        """
        try:
            enumerator = self.enumerator or self._begin()
            self._pass_on(enumerator)
            self._ask_in_turn(enumerator, everything)
        except Exception as error:
            raise failed_on_driver(self.info, error, " to find its splits") from error

    def _pass_on(self, enumerator: SplitEnumerator[Any]) -> None:
        """Give the events and requests of the readers to the enumerator."""
        while self._heard:
            enumerator.handle_source_event(*self._heard[0])
            self._heard.pop(0)
        for subtask, count in self._requests.items():
            for _ in range(count):
                if subtask not in self.no_more:
                    enumerator.handle_split_request(subtask)
        self._requests.clear()

    def _ask_in_turn(self, enumerator: SplitEnumerator[Any], everything: bool) -> None:
        open_readers = [s for s in range(self.info.parallelism) if s not in self.finished]
        unlimited = everything or not enumerator.splits_end
        before = -1
        while before != self.assigned:
            before = self.assigned
            for subtask in open_readers:
                if subtask not in self.no_more and (unlimited or self._has_room(subtask)):
                    enumerator.handle_split_request(subtask)

    def _has_room(self, subtask: int) -> bool:
        held = len(self.splits.get(subtask, ())) + len(self._new.get(subtask, ()))
        if held < self._backlogs.get(subtask, FIRST_BACKLOG):
            return True
        self._held_back.add(subtask)
        return False

    def _begin(self) -> SplitEnumerator[Any]:
        left = self._left
        if left is None or not left.enumerated:
            enumerator = self._spec.source.create_enumerator(self)
        else:
            enumerator = self._spec.source.create_enumerator(self, left.enumerator)
        self.enumerator = enumerator
        enumerator.start()
        for subtask, split in self._unassigned:
            enumerator.add_splits_back([split], subtask)
        self._unassigned.clear()
        return enumerator

    def order(self, subtask: int, stop: bool, limit: int | None, whole: bool, checkpoint: int | None) -> SourceOrder:
        ahead = limit is not None and self.watermarks.get(subtask, MIN_TIMESTAMP) > limit
        new, messages = tuple(self._new.get(subtask, ())), tuple(self._messages.get(subtask, ()))
        self._sent[subtask] = (len(new), len(messages))
        many = len(new) > epoch_protocol.CHUNK
        return SourceOrder(
            () if many else new,
            epoch_protocol.pack(new) if many else (),
            subtask in self.no_more,
            messages,
            checkpoint,
            paused=ahead,
            limit=limit,
            stop=stop,
            whole=whole,
        )

    def has_all_splits(self) -> bool:
        return len(self.no_more | self.finished) == self.info.parallelism

    def done(self) -> bool:
        return len(self.finished) == self.info.parallelism

    def take(self, subtask: int, report: SourceReport) -> None:
        """Take the report of a subtask on its last order."""
        splits, messages = self._sent.pop(subtask, (0, 0))
        del self._new.get(subtask, [])[:splits], self._messages.get(subtask, [])[:messages]
        self.splits[subtask] = list(report.splits)
        self.watermarks[subtask] = report.watermark
        self.holds_back[subtask] = bool(report.splits) and not report.idle
        self._heard += ((subtask, event) for event in report.events)
        self._requests[subtask] += report.requests
        if subtask in self._held_back:
            self._backlogs[subtask] = min(2 * self._backlogs.get(subtask, FIRST_BACKLOG), MOST_BACKLOG)
            self._held_back.discard(subtask)
        if report.finished:
            self.finished.add(subtask)

    def validate(self) -> None:
        """:raises AssertionError: what is known of the subtasks contradicts itself."""
        name, subtasks = self.info.name, set(range(self.info.parallelism))
        for what, some in (
            ("finished", self.finished),
            ("without further splits", self.no_more),
            ("with splits", self.splits.keys()),
            ("with new splits", self._new.keys()),
            ("held back", self._held_back),
        ):
            assert subtasks.issuperset(some), f"{name}: subtasks {sorted(some)} are {what}, there are {len(subtasks)}"
        for subtask, (splits, messages) in self._sent.items():
            new, said = len(self._new.get(subtask, ())), len(self._messages.get(subtask, ()))
            assert splits <= new, f"{name} ({subtask}): {splits} splits are under way of {new} that it has to get"
            assert messages <= said, f"{name} ({subtask}): {messages} events are under way of {said} that it has to get"
        for subtask in self.finished:
            assert not self.splits.get(subtask), f"{name} ({subtask}) has finished and reports splits that are left"

    def job_ended(self) -> None:
        """Let the enumerator clean up after the job's last checkpoint. Errors are only logged: the job's result is
        already final."""
        if self.enumerator is None:
            return
        try:
            self.enumerator.job_ended([split for subtask in sorted(self.splits) for split in self.splits[subtask]])
        except Exception:
            logger.warning("source %r could not finish after the job's last checkpoint", self.info.name, exc_info=True)

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def snapshot(self, checkpoint_id: int) -> ReadingSnapshot:
        """The state of the source for a checkpoint. Raises ``JobFailedError`` if the enumerator can't give its
        state.
        """
        try:
            if self.enumerator is None and self._left is not None and self._left.enumerated:
                self._begin()  # nobody has asked it since the job went on: it is not to be forgotten
            enumerator = self.enumerator.snapshot_state(checkpoint_id) if self.enumerator is not None else None
        except Exception as error:
            raise failed_on_driver(self.info, error, " to save its enumerator") from error
        unsent = {subtask: splits for subtask, splits in self._new.items() if splits}
        splits = {s: (*self.splits.get(s, ()), *unsent.get(s, ())) for s in self.splits.keys() | unsent}
        return ReadingSnapshot(
            enumerator,
            self.enumerator is not None,
            {subtask: left for subtask, left in sorted(splits.items()) if left},
            frozenset(self.no_more),
            frozenset(self.finished),
            dict(self.watermarks),
            self.info.parallelism,
            {subtask: len(new) for subtask, new in unsent.items()},
            tuple(self._heard),
            tuple((subtask, event) for subtask, events in self._messages.items() for event in events),
            tuple((subtask, count) for subtask, count in self._requests.items() if count),
        )

    def go_on(self, snapshot: ReadingSnapshot) -> None:
        """Continue from a snapshot of this same job, whose tasks have the splits in their own state."""
        self._left = snapshot
        self.splits = {subtask: snapshot.known(subtask) for subtask in snapshot.splits}
        self._new = {subtask: snapshot.unknown(subtask) for subtask in snapshot.splits}
        self.no_more = set(snapshot.no_more)
        self.finished = set(snapshot.finished)
        self.watermarks = dict(snapshot.watermarks)
        self._resume_talks(snapshot)

    def begin_from(self, snapshot: ReadingSnapshot) -> None:
        """Start new tasks, perhaps with another parallelism, on the unfinished splits of a snapshot. Each of them will
        report its end, even if it had ended before."""
        self._left = snapshot
        if snapshot.parallelism == self.info.parallelism:
            self._new = {subtask: list(splits) for subtask, splits in snapshot.splits.items()}
            self._resume_talks(snapshot)
        else:
            self._unassigned = [(subtask, split) for subtask, splits in snapshot.splits.items() for split in splits]

    def _resume_talks(self, snapshot: ReadingSnapshot) -> None:
        self._heard = list(snapshot.heard)
        self._requests = Counter(dict(snapshot.requests))
        for subtask, event in snapshot.messages:
            self.send_event_to_source_reader(subtask, event)


class HeadState(ReadingState):
    """The head of a loop, which reads what ``Loops`` assigns to it."""

    @property
    def alignment(self) -> WatermarkAlignment | None:
        return None

    def ask_for_splits(self, everything: bool = False) -> None:
        """Does nothing: the head of a loop has no enumerator."""

    def begin_from(self, snapshot: ReadingSnapshot) -> None:
        # The sources will end again, and send their last watermark again.
        waiting = [split for splits in snapshot.splits.values() for split in splits if split != END_OF_TIME]
        for number, split in enumerate(waiting):
            self.assign_split(split, number % self.info.parallelism)


def reading_states(job: JobGraph, clock: Callable[[], int]) -> list[ReadingState]:
    """A state for every source and for every head of a loop."""
    return [
        (HeadState if isinstance(info.spec, Iterate) else ReadingState)(info, clock)
        for info in job.operators
        if isinstance(info.spec, ReadsSplits)
    ]


# -- watermark alignment ----------------------------------------------------------------------------------------------

Place = tuple[int, int]
"""(id of a source's operator, subtask)"""


class Alignment:
    """Watermark alignment: limits how far the sources of a group may be ahead of the slowest one."""

    def __init__(self, sources: Sequence[ReadingState]) -> None:
        self._sources = [(source, source.alignment) for source in sources if source.alignment is not None]
        self._so_far: dict[Place, tuple[int, bool]] = {}
        """(watermark in ms, whether others wait for it) of each subtask in the running epoch"""
        self._said: dict[int, int] = {}

    def begin_epoch(self) -> dict[int, int]:
        """The limits of a new epoch: id of a source's operator -> the watermark (ms) above which it pauses."""
        self._so_far.clear()
        self._said = self._limits()
        return self._said

    def so_far(self, tasks: Iterable[TaskSoFar]) -> dict[int, int]:
        """Take the reports of tasks in the running epoch: returns the new limits as ``begin_epoch`` does, or an empty
        dict if they have not changed."""
        if not self._sources:
            return {}
        for task in tasks:
            for report in task.reports:
                if report.holds_back is not None:
                    self._so_far[report.operator, report.subtask] = report.watermark_out, report.holds_back
        limits = self._limits()
        if limits == self._said:
            return {}
        self._said = limits
        return limits

    def _limits(self) -> dict[int, int]:
        groups: dict[str, list[tuple[int, int]]] = {}
        for source, alignment in self._sources:
            marks = self._holding_back(source)
            groups.setdefault(alignment.group, []).extend((mark, alignment.max_drift_ms) for mark in marks)
        limits = {
            group: min(mark for mark, _ in members) + min(drift for _, drift in members)
            for group, members in groups.items()
            if members
        }
        groups_of = {source.info.id: alignment.group for source, alignment in self._sources}
        return {id: limits[group] for id, group in groups_of.items() if group in limits}

    def _holding_back(self, source: ReadingState) -> Iterator[int]:
        """The watermarks (ms) of the subtasks that others wait for. Idle subtasks, and those without splits, are left
        out."""
        for subtask in range(source.info.parallelism):
            if subtask not in source.finished:
                known = source.watermarks.get(subtask, MIN_TIMESTAMP), source.holds_back.get(subtask, True)
                mark, holds_back = self._so_far.get((source.info.id, subtask), known)
                if holds_back:
                    yield max(mark, known[0])


# Subtasks that have nothing to read

PATIENCE = 3
"""The number of epochs with watermarks of other subtasks before the warning: splits may still be found."""


class QuietSubtasks:
    """Logs one warning for a source whose subtasks without splits hold back its watermark."""

    def __init__(self, source: ReadingState) -> None:
        self._source = source
        self._epochs = 0

    def look(self) -> None:
        """Check the subtasks at the end of an epoch."""
        found = self._quiet() if self._epochs < PATIENCE else ()
        if found:
            self._epochs += 1
            if self._epochs == PATIENCE:
                logger.warning("%s", self._text(found))

    def _quiet(self) -> tuple[int, ...]:
        source, spec = self._source, self._source.info.spec
        if not isinstance(spec, Source) or not spec.strategy.generator_factory:
            return ()
        marks = source.watermarks.values()
        if spec.strategy.idle_timeout_ms is not None or all(mark == MIN_TIMESTAMP for mark in marks):
            return ()
        return tuple(
            subtask
            for subtask in range(source.info.parallelism)
            if subtask not in source.finished
            and not source.splits.get(subtask)
            and source.watermarks.get(subtask, MIN_TIMESTAMP) == MIN_TIMESTAMP
        )

    def _text(self, quiet: tuple[int, ...]) -> str:
        info = self._source.info
        busy = info.parallelism - len(quiet)
        most = "one subtask" if busy == 1 else f"{busy} subtasks"
        which = ", ".join(map(str, quiet[:5])) + (", ..." if len(quiet) > 5 else "")
        return (
            f"source {info.name!r}: {len(quiet)} of {info.parallelism} subtasks ({which}) have no split to read, so "
            f"watermarks do not advance behind it and no window fires. Give it no more than {most} "
            "(set_parallelism, 'scan.parallelism', 'parallelism.default'), or let quiet ones count as idle "
            "(with_idleness, 'table.exec.source.idle-timeout')"
        )
