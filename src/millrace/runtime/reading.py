"""What the driver knows of the operators that read: their splits, who has ended, how far each subtask is."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.common.source import SplitEnumerator, SplitEnumeratorContext
from millrace.common.watermark_strategy import WatermarkAlignment
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.epoch import OperatorReport, SourceOrder, SourceReport
from millrace.runtime.failure import failed_on_driver
from millrace.runtime.job import JobGraph, OperatorInfo
from millrace.runtime.operators.base import ReadingOperator
from millrace.runtime.operators.iterate import END_OF_TIME, IterateOperator


@dataclass(frozen=True)
class ReadingSnapshot:
    """One source at the end of an epoch: positions of its splits, and its enumerator."""

    enumerator: Any
    """its ``snapshot_state``; None if it was never made"""
    enumerated: bool
    """whether there was an enumerator"""
    splits: dict[int, tuple[Any, ...]]
    """subtask -> unfinished splits with their positions"""
    no_more: frozenset[int]
    finished: frozenset[int]
    watermarks: dict[int, int]
    parallelism: int


@dataclass
class ReadingState(SplitEnumeratorContext[Any]):
    """One source of the job, as the driver sees it; also what its enumerator talks to."""

    info: OperatorInfo
    clock: Callable[[], int]
    splits: dict[int, list[Any]] = field(default_factory=dict)
    no_more: set[int] = field(default_factory=set)
    finished: set[int] = field(default_factory=set)
    watermarks: dict[int, int] = field(default_factory=dict)
    holds_back: dict[int, bool] = field(default_factory=dict)
    """whether others of the alignment group wait for this subtask: not if it is idle or has nothing to read"""
    enumerator: SplitEnumerator[Any] | None = None
    assigned: int = 0
    _left: ReadingSnapshot | None = None
    """what the enumerator, which is made when it is first needed, goes on from"""
    _unassigned: list[tuple[int, Any]] = field(default_factory=list)
    """(earlier subtask, split) that the enumerator has to assign again"""

    def current_parallelism(self) -> int:
        return self.info.parallelism

    def assign_split(self, split: Any, subtask_id: int) -> None:
        self.splits.setdefault(subtask_id, []).append(split)
        self.assigned += 1

    def signal_no_more_splits(self, subtask_id: int) -> None:
        self.no_more.add(subtask_id)

    def current_processing_time(self) -> int:
        return self.clock()

    @property
    def alignment(self) -> WatermarkAlignment | None:
        alignment: WatermarkAlignment | None = self.info.args[1].alignment
        return alignment

    def ask_for_splits(self) -> None:
        """Offer every reader in turn, until nobody gets anything."""
        try:
            self._ask_for_splits()
        except Exception as error:
            raise failed_on_driver(self.info, error, " to find its splits") from error

    def _ask_for_splits(self) -> None:
        enumerator = self.enumerator or self._begin()
        open_readers = [s for s in range(self.info.parallelism) if s not in self.finished]
        before = -1
        while before != self.assigned:
            before = self.assigned
            for subtask in open_readers:
                if subtask not in self.no_more:
                    enumerator.handle_split_request(subtask)

    def _begin(self) -> SplitEnumerator[Any]:
        left = self._left
        if left is None or not left.enumerated:
            enumerator = self.info.args[0].create_enumerator(self)
        else:
            enumerator = self.info.args[0].create_enumerator(self, left.enumerator)
        self.enumerator = enumerator
        enumerator.start()
        for subtask, split in self._unassigned:
            enumerator.add_splits_back([split], subtask)
        self._unassigned.clear()
        return enumerator  # type: ignore[no-any-return]

    def order(self, subtask: int, stop: bool, limit: int | None, whole: bool) -> SourceOrder:
        ahead = limit is not None and self.watermarks.get(subtask, MIN_TIMESTAMP) > limit
        splits = tuple(self.splits.get(subtask, ()))
        return SourceOrder(splits, subtask in self.no_more, paused=ahead, stop=stop, whole=whole)

    def has_all_splits(self) -> bool:
        return len(self.no_more | self.finished) == self.info.parallelism

    def done(self) -> bool:
        return len(self.finished) == self.info.parallelism

    def take(self, subtask: int, report: SourceReport) -> None:
        self.splits[subtask] = list(report.splits)
        self.watermarks[subtask] = report.watermark
        self.holds_back[subtask] = bool(report.splits) and not report.idle
        if report.finished:
            self.finished.add(subtask)

    def take_all(self, reports: Iterable[OperatorReport], ordered: Container[int]) -> None:
        """What the subtasks that were ordered to read have reported."""
        for report in reports:
            if report.operator == self.info.id and report.source is not None and report.subtask in ordered:
                self.take(report.subtask, report.source)

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def snapshot(self, checkpoint_id: int) -> ReadingSnapshot:
        """Raises ``JobFailedError`` if the enumerator can't say how far it is."""
        try:
            if self.enumerator is None and self._left is not None and self._left.enumerated:
                self._begin()  # nobody has asked it since the job went on: it is not to be forgotten
            enumerator = self.enumerator.snapshot_state(checkpoint_id) if self.enumerator is not None else None
        except Exception as error:
            raise failed_on_driver(self.info, error, " to save its enumerator") from error
        return ReadingSnapshot(
            enumerator,
            self.enumerator is not None,
            {subtask: tuple(splits) for subtask, splits in self.splits.items() if splits},
            frozenset(self.no_more),
            frozenset(self.finished),
            dict(self.watermarks),
            self.info.parallelism,
        )

    def go_on(self, snapshot: ReadingSnapshot) -> None:
        """The same tasks go on where the snapshot was taken."""
        self._left = snapshot
        self.splits = {subtask: list(splits) for subtask, splits in snapshot.splits.items()}
        self.no_more = set(snapshot.no_more)
        self.finished = set(snapshot.finished)
        self.watermarks = dict(snapshot.watermarks)

    def begin_from(self, snapshot: ReadingSnapshot) -> None:
        """New tasks, perhaps of another number, read what is left. All of them will report their end (again)."""
        self._left = snapshot
        if snapshot.parallelism == self.info.parallelism:
            self.splits = {subtask: list(splits) for subtask, splits in snapshot.splits.items()}
        else:
            self._unassigned = [(subtask, split) for subtask, splits in snapshot.splits.items() for split in splits]


class HeadState(ReadingState):
    """The head of a loop: ``Loops`` says what it reads."""

    @property
    def alignment(self) -> WatermarkAlignment | None:
        return None

    def ask_for_splits(self) -> None:
        """There is nobody to ask."""

    def begin_from(self, snapshot: ReadingSnapshot) -> None:
        # The input will end again, and its last watermark come again.
        waiting = [split for splits in snapshot.splits.values() for split in splits if split != END_OF_TIME]
        for number, split in enumerate(waiting):
            self.assign_split(split, number % self.info.parallelism)


def reading_states(job: JobGraph, clock: Callable[[], int]) -> list[ReadingState]:
    """One for every source, and for every head of a loop."""
    return [
        (HeadState if issubclass(info.factory, IterateOperator) else ReadingState)(info, clock)
        for info in job.operators
        if issubclass(info.factory, ReadingOperator)
    ]


def alignment_limits(sources: Sequence[ReadingState]) -> dict[str, int]:
    """Alignment group -> the watermark (ms) above which its sources pause."""
    groups: dict[str, list[tuple[int, int]]] = {}
    for source in sources:
        if source.alignment is not None:
            for subtask in _holding_back(source):
                known = source.watermarks.get(subtask, MIN_TIMESTAMP)
                groups.setdefault(source.alignment.group, []).append((known, source.alignment.max_drift_ms))
    return {
        group: min(mark for mark, _ in members) + min(drift for _, drift in members)
        for group, members in groups.items()
    }


def _holding_back(source: ReadingState) -> Iterable[int]:
    subtasks = range(source.info.parallelism)
    return (s for s in subtasks if s not in source.finished and source.holds_back.get(s, True))
