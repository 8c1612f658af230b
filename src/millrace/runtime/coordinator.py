"""The driver's side of a job, without any I/O of its own: plans epochs, judges acknowledgements, commits sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.common.sink import Committer
from millrace.common.source import SplitEnumerator, SplitEnumeratorContext
from millrace.common.watermark_strategy import WatermarkAlignment
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.epoch import EpochOrder, OperatorReport, SourceOrder, SourceReport, TaskAck
from millrace.runtime.failure import Failure, describe, full_traceback, user_location
from millrace.runtime.job import JobGraph, OperatorInfo
from millrace.runtime.job_metrics import AccumulatorConflictError, JobMetrics
from millrace.runtime.loops import Loops
from millrace.runtime.operators.base import ReadingOperator
from millrace.runtime.operators.iterate import IterateOperator
from millrace.runtime.operators.sink import SinkOperator
from millrace.runtime.operators.source import SourceOperator
from millrace.runtime.storage import StateStorage, TaskId

COMPACT_BYTES = 4 * 1024 * 1024
"""Changes below this size are not worth a compaction."""
COMPACT_VERSIONS = 500
"""Versions that a new worker reads at most before it has the state."""


class JobFailedError(Exception):
    """The job has failed; the text begins with the operator and the user's line."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.render())
        self.failure = failure


def failed_on_driver(info: OperatorInfo, cause: Exception, during: str) -> JobFailedError:
    """What to raise when the driver's side of an operator (enumerator, committer) failed."""
    return JobFailedError(
        Failure(
            operator=info.name,
            subtask=-1,
            origin=info.origin,
            cause=describe(cause),
            location=user_location(cause),
            detail=full_traceback(cause),
            during=during,
        )
    )


class ProtocolError(Exception):
    """Acknowledgements are missing or doubled: a task did not run, or ran twice."""


@dataclass
class _SourceState(SplitEnumeratorContext[Any]):
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
        if self.enumerator is None:
            self.enumerator = self.info.args[0].create_enumerator(self)
            self.enumerator.start()
        open_readers = [s for s in range(self.info.parallelism) if s not in self.finished]
        before = -1
        while before != self.assigned:
            before = self.assigned
            for subtask in open_readers:
                if subtask not in self.no_more:
                    self.enumerator.handle_split_request(subtask)

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


class _HeadState(_SourceState):
    """The head of a loop: ``Loops`` says what it reads."""

    @property
    def alignment(self) -> WatermarkAlignment | None:
        return None

    def ask_for_splits(self) -> None:
        """There is nobody to ask."""


def _reading(info: OperatorInfo, clock: Callable[[], int]) -> _SourceState:
    return (_HeadState if issubclass(info.factory, IterateOperator) else _SourceState)(info, clock)


@dataclass(frozen=True)
class EpochResult:
    """What an epoch brought to the driver."""

    epoch: int
    printed: tuple[str, ...]
    collected: tuple[bytes, ...]
    records: int
    """elements read by the sources"""
    watermark: int
    """the lowest watermark of all operators (ms)"""
    reports: tuple[OperatorReport, ...]
    replayed: int
    """state versions that tasks had to read"""


@dataclass
class _TaskVersions:
    """What a task has in the state storage."""

    first: int = 0
    """oldest epoch that is still needed"""
    delta_bytes: int = 0
    deltas: int = 0
    full_bytes: int = 0


class Coordinator:
    """Runs a job epoch by epoch: ``plan`` gives the order, ``complete`` takes the acknowledgements."""

    def __init__(self, job: JobGraph, clock: Callable[[], int], storage: StateStorage | None = None) -> None:
        self.job = job
        self._storage = storage
        self.metrics = JobMetrics(job, clock)
        self._sources = [_reading(info, clock) for info in job.operators if issubclass(info.factory, ReadingOperator)]
        self._loops = Loops(job, {source.info.id: source for source in self._sources})
        self._committers: dict[int, Committer[Any]] = {}
        for info in job.operators:
            if issubclass(info.factory, SinkOperator):
                committer = info.args[0].create_committer()
                if committer is not None:
                    self._committers[info.id] = committer
        self._tasks: dict[TaskId, _TaskVersions] = {
            (stage, partition): _TaskVersions()
            for stage, partitions in enumerate(job.partitions)
            for partition in range(partitions)
        }
        self._history: list[int] = []
        self._next_epoch = 1
        self._stopping = False
        self.attempt = 0

    @property
    def finished(self) -> bool:
        """Whether all sources have ended and their last elements are through."""
        return all(source.done() for source in self._sources)

    def use_storage(self, storage: StateStorage) -> None:
        """Where tasks write their state: old versions are deleted there."""
        self._storage = storage

    def find_splits(self) -> None:
        """Let the sources look for their splits: what is missing shows before anything runs."""
        for source in self._sources:
            source.ask_for_splits()

    def stop(self) -> None:
        """Let the sources end with the next epoch."""
        self._stopping = True

    def plan(self, keep_state: bool = True) -> EpochOrder:
        """The order of the next epoch. Without ``keep_state`` it is the only one, if the sources know all their
        splits."""
        self.metrics.begin_epoch()
        epoch, self._next_epoch = self._next_epoch, self._next_epoch + 1
        orders: dict[int, dict[int, SourceOrder]] = {}
        limits = self._alignment_limits()
        for source in self._sources:
            if not self._stopping:
                source.ask_for_splits()
        whole = not keep_state and all(source.has_all_splits() for source in self._sources)
        for source in self._sources:
            alignment = source.alignment
            limit = None if alignment is None else limits.get(alignment.group)
            orders[source.info.id] = {
                subtask: source.order(subtask, self._stopping, limit, whole)
                for subtask in range(source.info.parallelism)
                if subtask not in source.finished
            }
        compact = frozenset(task for task, versions in self._tasks.items() if _worth_compaction(versions))
        return EpochOrder(
            epoch, tuple(self._history), orders, keep_state=not whole, compact=compact, attempt=self.attempt
        )

    def _alignment_limits(self) -> dict[str, int]:
        """Alignment group -> the watermark (ms) above which its sources pause."""
        groups: dict[str, list[tuple[int, int]]] = {}
        for source in self._sources:
            if source.alignment is not None:
                for subtask in range(source.info.parallelism):
                    if subtask in source.finished or not source.holds_back.get(subtask, True):
                        continue
                    known = source.watermarks.get(subtask, MIN_TIMESTAMP)
                    groups.setdefault(source.alignment.group, []).append((known, source.alignment.max_drift_ms))
        return {
            group: min(mark for mark, _ in members) + min(drift for _, drift in members)
            for group, members in groups.items()
        }

    def complete(self, order: EpochOrder, acks: Sequence[TaskAck]) -> EpochResult:
        """Judge an epoch: raise if it failed (nothing of it counts then), else commit it."""
        failures = [ack for ack in acks if ack.failure is not None]
        if failures:
            first = min(failures, key=lambda ack: (ack.stage, ack.partition))
            self.abort(acks)
            assert first.failure is not None
            raise JobFailedError(first.failure)
        self._check_complete(order, acks)
        self._count(acks)
        for source in self._sources:
            for report in _reports(acks, source.info.id):
                if report.source is not None and report.subtask in order.sources.get(source.info.id, {}):
                    source.take(report.subtask, report.source)
        self._loops.complete(report for ack in acks for report in ack.reports)
        if order.keep_state:
            self._record(order, acks)
        self._commit(acks)
        return self._result(order, acks)

    def _count(self, acks: Sequence[TaskAck]) -> None:
        try:
            self.metrics.take(report for ack in acks for report in ack.reports)
        except AccumulatorConflictError as error:
            self.abort(acks)
            failure = Failure(operator=self.job.name, subtask=-1, origin="", cause=str(error))
            raise JobFailedError(failure) from None

    def _check_complete(self, order: EpochOrder, acks: Sequence[TaskAck]) -> None:
        seen = [(ack.stage, ack.partition) for ack in acks if ack.epoch == order.epoch]
        if len(seen) != len(acks):
            raise ProtocolError(f"epoch {order.epoch}: acknowledgements of another epoch arrived")
        if sorted(seen) != sorted(self._tasks):
            missing = sorted(set(self._tasks) - set(seen))
            doubled = sorted({task for task in seen if seen.count(task) > 1})
            raise ProtocolError(
                f"epoch {order.epoch}: every task must run exactly once; missing (stage, partition): {missing}, "
                f"doubled: {doubled}"
            )

    def _record(self, order: EpochOrder, acks: Sequence[TaskAck]) -> None:
        self._history.append(order.epoch)
        for ack in acks:
            task_id = (ack.stage, ack.partition)
            versions = self._tasks[task_id]
            versions.delta_bytes += ack.delta_bytes
            versions.deltas += 1
            if ack.full_bytes is not None:
                self._tasks[task_id] = _TaskVersions(first=order.epoch, full_bytes=ack.full_bytes)
                if self._storage is not None:
                    self._storage.discard(task_id, order.epoch)
        oldest = min((versions.first for versions in self._tasks.values()), default=0)
        self._history = [epoch for epoch in self._history if epoch >= oldest]

    def _commit(self, acks: Sequence[TaskAck]) -> None:
        for operator, committer in self._committers.items():
            committables = _committables(acks, operator)
            if committables:
                try:
                    committer.commit(committables)
                except Exception as error:
                    raise failed_on_driver(self.job.by_id[operator], error, " to commit") from error

    def abort(self, acks: Sequence[TaskAck]) -> None:
        """Take back what the tasks of a failed epoch prepared."""
        for operator, committer in self._committers.items():
            committables = _committables(acks, operator)
            if committables:
                committer.abort(committables)

    def _result(self, order: EpochOrder, acks: Sequence[TaskAck]) -> EpochResult:
        reports = sorted(
            (report for ack in acks for report in ack.reports), key=lambda report: (report.operator, report.subtask)
        )
        sources = {info.id for info in self.job.operators if issubclass(info.factory, SourceOperator)}
        return EpochResult(
            epoch=order.epoch,
            printed=tuple(line for report in reports for line in report.printed),
            collected=tuple(part for report in reports for part in report.collected),
            records=sum(report.records_out for report in reports if report.operator in sources),
            watermark=min((report.watermark for report in reports if report.operator not in sources), default=0),
            reports=tuple(reports),
            replayed=sum(ack.replayed for ack in acks),
        )

    def close(self) -> None:
        """Release enumerators and committers."""
        for source in self._sources:
            if source.enumerator is not None:
                source.enumerator.close()
        for committer in self._committers.values():
            committer.close()


def _worth_compaction(versions: _TaskVersions) -> bool:
    grown = versions.delta_bytes > max(COMPACT_BYTES, versions.full_bytes)
    return grown or versions.deltas >= COMPACT_VERSIONS


def _reports(acks: Iterable[TaskAck], operator: int) -> list[OperatorReport]:
    return [report for ack in acks for report in ack.reports if report.operator == operator]


def _committables(acks: Iterable[TaskAck], operator: int) -> list[Any]:
    reports = sorted(_reports(acks, operator), key=lambda report: report.subtask)
    return [committable for report in reports for committable in report.committables]


