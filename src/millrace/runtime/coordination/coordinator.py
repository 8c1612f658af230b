"""The driver's side of a job, without any I/O of its own: plans epochs, judges acknowledgements, commits sinks."""

from __future__ import annotations

import contextlib
import enum
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType

from millrace.metrics.report import MetricsReport
from millrace.runtime.bases.epoch_protocol import (
    EpochOrder,
    EpochPlan,
    OperatorReport,
    Result,
    SavedSubtask,
    SourceOrder,
    StateQuery,
    TaskAck,
    TaskOrder,
    TaskSoFar,
)
from millrace.runtime.bases.runtime_context import GlobalAggregateError, GlobalAggregates
from millrace.runtime.clocks import steady_of
from millrace.runtime.coordination.checkpoints import (
    AtOnce,
    CheckpointLog,
    Checkpoints,
    Cleaner,
    Pending,
    Restored,
    TaskBytes,
)
from millrace.runtime.coordination.commits import Commits, Named
from millrace.runtime.coordination.compactions import Compactions, Saving
from millrace.runtime.coordination.figures import Figures, Loads
from millrace.runtime.coordination.history import EpochRecord, JobHistory, Phases, TaskMoves
from millrace.runtime.coordination.job_metrics import AccumulatorConflictError, JobMetrics, JobReporter
from millrace.runtime.coordination.reading import FIRST_MILLIS, Alignment, QuietSubtasks, ReadingPace, reading_states
from millrace.runtime.coordination.snapshot import Chains, JobSnapshot, OperatorPlace, RestoredStates
from millrace.runtime.exchange.exchange import Tally, total
from millrace.runtime.failure import Failure, JobFailedError
from millrace.runtime.operators.iteration import Loops, has_loops
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.operators.specs import Source
from millrace.runtime.state.info import StateInfo, with_news
from millrace.runtime.storage import StateStorage, TaskId, epoch_and_run, first_of_epoch

__all__ = ["Coordinator", "EpochResult", "JobFailedError", "ProtocolError"]

_NOTHING: dict[int, SourceOrder] = {}

RESERVED_AHEAD = 64
"""Number of epoch numbers that are recorded as used at once, where epochs leave no other trace in the file system."""
SWEEP_MS = 60_000
"""Interval (ms) at which sinks look for transactions of task runs that were never acknowledged."""
SWEEP_AFTER_FAILURE_MS = 5_000
"""The first such interval after a failure (ms), doubled each time: tasks from before the failure may have run on for a
while."""


class Trigger(enum.Enum):
    """What a requested checkpoint consists of."""

    INCREMENTAL = "incremental"
    """the changes since the last checkpoint, and the earlier files"""
    FULL = "full"
    """the whole state: no file from before the request is needed"""


class ProtocolError(Exception):
    """An acknowledgement is missing or came twice: a task did not run, or ran twice."""


@dataclass(frozen=True)
class EpochResult:
    """The results of a complete epoch."""

    epoch: int
    printed: tuple[str, ...]
    collected: tuple[Result, ...]
    records: int
    """number of elements that the sources have read"""
    watermark: int
    """the lowest watermark of the job's last operators (ms); operators have none before event time begins"""
    reports: tuple[OperatorReport, ...]
    replayed: int
    """number of state versions that tasks had to read"""
    checkpoint: str | None = None
    """path of the checkpoint that the end of this epoch became"""
    saved: tuple[SavedSubtask, ...] = ()
    """the parts of a savepoint that the tasks wrote"""
    saving: Saving | None = None
    """the other parts of the savepoint, which are made from the tasks' files; None: there is no savepoint"""
    not_saved: str | None = None
    """why the savepoint failed"""
    answers: dict[int, bytes] = field(default_factory=dict)
    """number of a query -> pickled value"""
    more: bool = False
    """whether the next epoch has work at once: a source stopped at a limit, or a task had no time for all its input"""
    next_due: int | None = None
    """when the earliest processing-time timer is due (ms); None: there is none"""
    phases: dict[str, float] = field(default_factory=dict)
    """plan, start, read, process, exchange, record, commit -> ms"""


@dataclass(frozen=True)
class TakenSavepoint:
    """What a savepoint contains besides the state of tasks, as of the end of its epoch."""

    snapshot: JobSnapshot
    named: Named
    """what it contains of the sinks"""


@dataclass(frozen=True)
class EndedEpoch:
    """An epoch that all tasks have acknowledged, until its end is recorded and committed."""

    order: EpochOrder
    acks: Sequence[TaskAck]
    reports: Sequence[OperatorReport]
    """the reports of all operators, by operator and subtask"""
    began: int
    """when the epoch was planned (ms), by the wall clock"""
    began_steady: int
    """the same by the monotonic clock"""
    phases: Phases
    snapshot: JobSnapshot | None
    """what is recorded, without committables; None: the end of the epoch does not become a checkpoint"""
    commits: bool
    """whether sinks commit at the end of the epoch"""
    last: bool
    """whether the job ends with the epoch"""
    more: bool
    """see ``EpochResult``"""
    saving: Saving | None
    """see ``EpochResult``"""


class Coordinator:
    """Runs a job epoch by epoch: ``plan`` gives the order, ``complete`` takes the acknowledgements.

    ``complete`` has two parts. ``end`` judges the acknowledgements, and is brief. ``conclude`` records and commits, and
    may run on a thread of its own while the next epoch is planned and runs (ADR 28). The next epoch's ``end`` comes
    after it.

    :param checkpoints: None: the job records no checkpoints, and commits sinks after every epoch.
    :param cleaner: deletes files that are no longer needed.
    :param one_thread: whether committers are called on a thread of their own; for callers of ``conclude`` on another
        thread.
    """

    def __init__(
        self,
        job: JobGraph,
        clock: Callable[[], int],
        storage: StateStorage | None = None,
        checkpoints: Checkpoints | None = None,
        cleaner: Cleaner | None = None,
        one_thread: bool = False,
    ) -> None:
        self.job = job
        self.checkpoints = checkpoints
        self.log = CheckpointLog() if checkpoints is None else checkpoints.log
        self.history = JobHistory(clock)
        self.metrics = JobMetrics(job, clock)
        self.figures = Figures(job, clock())
        self._loads = Loads(job)
        self._phases = Phases(self._loads)
        """those of the last planned epoch"""
        self.attempt = 0
        self.reporter = JobReporter(
            job, clock, self.metrics, self.figures, self.history, self.log, lambda: self.attempt
        )
        self._clock = clock
        self._steady = steady_of(clock)
        self._storage = storage
        self.cleaner = cleaner or AtOnce()
        self._sources = reading_states(job, clock)
        self._alignment = Alignment(self._sources)
        self._quiet = [QuietSubtasks(source) for source in self._sources]
        self._loops = Loops(job, {source.info.id: source for source in self._sources})
        self._has_loops = has_loops(job)
        self._pace = ReadingPace(job, None if job.batch else job.epoch_millis)
        self._commits = Commits(job, one_thread)
        self._aggregates = GlobalAggregates()
        self._moves = TaskMoves()
        self._commit_owed = False
        self._sweep_pause = SWEEP_MS
        self._next_sweep = self._steady() + SWEEP_MS
        self._chains = Chains(
            (stage, partition) for stage, partitions in enumerate(job.partitions) for partition in range(partitions)
        )
        self._discarded: dict[TaskId, int] = {}
        """task -> the oldest epoch whose files were not deleted"""
        self.compactions = Compactions()
        self._outgrown: set[TaskId] = set()
        """tasks that may have files older than their last whole state"""
        self._states: dict[str, tuple[StateInfo, ...]] = {}
        self._restored = RestoredStates()
        self._next_epoch = 1
        self._reserved = 0
        """the highest epoch number that is recorded as used"""
        self._left_no_trace = False
        """whether the last epoch changed no state and did not become a checkpoint"""
        self._epoch_began = self._epoch_began_steady = -1
        """when the last epoch was planned (ms), by the wall clock and by the monotonic one"""
        self._ended: EndedEpoch | None = None
        """the epoch whose end is not concluded yet"""
        self._last: int | None = None
        """the last complete epoch, of this job or of the job that it was restored from"""
        self._concluded: int | None = None
        """the last epoch whose end was recorded and committed"""
        self._begun = False
        """whether the sinks' committers were started or restored"""
        self._stopping = False
        self._suspended = False
        self._untold: list[OperatorReport] = []
        """reports of complete epochs that no ``EpochResult`` contains yet, because their checkpoint or commit failed"""

    @property
    def finished(self) -> bool:
        """Whether the job is done: all sources have ended and the sinks have their last elements, or it was
        suspended.
        """
        return self._suspended or (self._at_end and not self._untold)

    @property
    def _at_end(self) -> bool:
        return all(source.done() for source in self._sources) and not self._pace.waiting

    @property
    def states(self) -> dict[str, tuple[StateInfo, ...]]:
        """uid -> the states that its function has requested so far."""
        return self._states

    def report(self) -> MetricsReport:
        """All metrics of the job as they are now."""
        return self.reporter.report()

    def validate(self) -> None:
        """Check what must hold between any two calls; tests do so after each step of a job.

        :raises AssertionError: something does not hold. The text says what, with the numbers.
        """
        self._chains.validate()
        self._commits.validate()
        for source in self._sources:
            source.validate()
        last, concluded = self._last, self._concluded
        assert last is None or last < self._next_epoch, f"epoch {last} is complete and the next is {self._next_epoch}"
        assert concluded is None or (last is not None and concluded <= last), f"{concluded} is recorded before {last}"
        for task, chain in self._chains.tasks.items():
            ran = epoch_and_run(chain.ran)[0]
            assert ran <= (last or 0), f"task {task} has acknowledged epoch {ran}, and the last complete one is {last}"
            discarded = self._discarded.get(task, 0)
            assert discarded <= chain.first, (
                f"task {task} needs epoch {chain.first}, files before {discarded} are deleted"
            )
        self.compactions.validate(self._chains, self._discarded)
        if not self._states.keys() <= {info.uid for info in self.job.operators}:
            # States of operators that the program no longer has come with a checkpoint only.
            assert self._begun, f"there are states of {sorted(self._states)}, and nothing has begun"

    def find_splits(self) -> None:
        """Let the sources discover their splits, so that missing input shows before anything runs."""
        for source in self._sources:
            source.ask_for_splits(everything=self.job.batch)

    @cached_property
    def _places(self) -> tuple[OperatorPlace, ...]:
        return tuple(OperatorPlace.of(info) for info in self.job.operators)

    @property
    def open_ended(self) -> list[OperatorInfo]:
        """The operators that will read splits that the driver does not know yet, and so need a further epoch."""
        return [source.info for source in self._sources if not source.has_all_splits()]

    def stop(self) -> None:
        """Let the sources end with the next epoch."""
        self._stopping = True

    def keep_running(self) -> None:
        """Take ``stop`` back: the epoch that should have been the last one failed."""
        self._stopping = False

    def suspend(self) -> None:
        """End the job after the last epoch, although its sources have not ended."""
        self._suspended = True
        self._end_sources()

    def _end_sources(self) -> None:
        for source in self._sources:
            source.job_ended()

    # -- an epoch ---------------------------------------------------------------------------------------------------

    def plan(
        self,
        keep_state: bool = True,
        savepoint: str | None = None,
        queries: tuple[StateQuery, ...] = (),
        checkpoint: Trigger | None = None,
        drain: bool = False,
    ) -> EpochPlan:
        """Plan the next epoch. Without ``keep_state`` it is the only one, if the sources know all their splits.

        :param savepoint: the folder of a savepoint to take at the epoch's end.
        :param checkpoint: the kind of checkpoint that the epoch's end shall become, whether one is due or not; None: no
            request.
        :param drain: process everything that waits before the epoch ends, however long that takes.
        """
        plain = savepoint is None and checkpoint is None and not queries and not drain
        assert plain or self._ended is None, "the epoch before is to be concluded"
        self._phases = Phases(self._loads)
        self.metrics.begin_epoch()
        self._epoch_began = now = self._clock()
        self._epoch_began_steady = self._steady()
        if self._ended is None:
            self.log.give_up(now)
        if savepoint is not None or checkpoint is not None:
            self.log.expect(Pending(self._next_epoch, savepoint is not None, now))
        if not self._begun:
            self._begun = True
            self._commits.begin()
        if not self._stopping:
            for source in self._sources:
                source.ask_for_splits(everything=not keep_state)
        limits = self._alignment.begin_epoch()
        whole = not keep_state and not self.open_ended
        # A user is waiting for the epoch to end.
        brief = savepoint is not None or checkpoint is not None
        longest = _brief(self.job.epoch_millis) if brief else self.job.epoch_millis
        reading: dict[TaskId, dict[int, SourceOrder]] = {}
        for source in self._sources:
            info = source.info
            limit = limits.get(info.id)
            for subtask in range(info.parallelism):
                if subtask not in source.finished:
                    task = (info.stage, info.offset + subtask)
                    order = source.order(subtask, self._stopping, limit, whole, self._concluded)
                    order = replace(order, whole=True) if drain else self._paced(order, brief)
                    reading.setdefault(task, {})[info.id] = order
        if checkpoint is Trigger.FULL:
            self.compactions.ask(self._chains.tasks, self._next_epoch)
        compact = self.compactions.due(self._chains)
        tasks = {
            task: TaskOrder(
                chain.head,
                chain.whole,
                chain.stored,
                chain.ran,
                task in compact,
                (task in compact or savepoint is not None) and self.compactions.from_files(self._chains, task),
                reading.get(task, _NOTHING),
            )
            for task, chain in self._chains.tasks.items()
        }
        order_of_all = EpochOrder(
            self._take_number(),
            keep_state=not whole,
            attempt=self.attempt,
            last=self._last,
            savepoint=savepoint,
            queries=queries,
            aggregates=self._aggregates.known,
            checkpoint=checkpoint is not None,
            work_millis=None if whole or drain or self._has_loops else longest,
        )
        self._phases.planned()
        return EpochPlan(order_of_all, tasks)

    def _paced(self, order: SourceOrder, brief: bool) -> SourceOrder:
        """The order, limited to what the stages behind the source can process."""
        pace = self._pace
        millis = _brief(pace.millis) if brief else pace.millis
        return replace(order, paused=order.paused or pace.paused, millis=millis, records=pace.records)

    @property
    def next_epoch(self) -> int:
        """The number of the next epoch."""
        return self._next_epoch

    def _take_number(self) -> int:
        epoch, self._next_epoch = self._next_epoch, self._next_epoch + 1
        if self._left_no_trace and epoch > self._reserved and self.checkpoints is not None:
            self._reserved = epoch + RESERVED_AHEAD  # one file for many epochs of a job that has nothing to do
            self.checkpoints.epochs_begin(self._reserved)
        return epoch

    def _number_from(self, epoch: int) -> None:
        """Use epoch numbers from this one on, and record that for the next driver: an epoch may leave no other trace,
        and its tasks may still run when its driver is long dead."""
        self._next_epoch = self._reserved = epoch
        if self.checkpoints is not None:
            self.checkpoints.epochs_begin(epoch)

    def complete(self, plan: EpochPlan, acks: Sequence[TaskAck]) -> EpochResult:
        """Judge an epoch: record and commit it, or raise if it failed; a failed epoch changes nothing."""
        return self.conclude(self.end(plan, acks))

    def end(self, plan: EpochPlan, acks: Sequence[TaskAck]) -> EndedEpoch:
        """Judge an epoch: it is complete, or raises if it failed; a failed epoch changes nothing. ``conclude`` has to
        follow."""
        assert self._ended is None, "the epoch before is to be concluded"
        order = plan.order
        self._phases.ran(acks)
        self._judge(order, acks)
        reports = [report for ack in acks for report in ack.reports]
        reports.sort(key=lambda report: (report.operator, report.subtask))
        self._take_positions(plan, reports)
        self._loops.complete(reports)
        self._pace.ran(acks)
        if order.keep_state:
            self._record(acks)
            self._outgrown.update(self.compactions.take(self._chains))
            self.compactions.begin(self._chains, plan.tasks)
        self._commits.prepared(acks)
        self._untold += reports
        self.figures.take(acks, self._chains.sizes(), self._clock())
        self._last = order.epoch
        self._left_no_trace = all(ack.delta_bytes is ack.full_bytes is None for ack in acks)
        last = self._suspended or self._at_end
        due = last or order.savepoint is not None or order.checkpoint
        length = self._steady() - self._epoch_began_steady
        recorded = order.keep_state and self.checkpoints is not None and (due or self.checkpoints.due(length))
        self._ended = EndedEpoch(
            order,
            acks,
            reports,
            self._epoch_began,
            self._epoch_began_steady,
            self._phases,
            # Of this moment: the sources' enumerators go on with the next epoch.
            self.snapshot(order.epoch) if recorded else None,
            recorded or not order.keep_state or self.checkpoints is None,
            last,
            self._pace.waiting or any(report.source is not None and report.source.more for report in reports),
            None if order.savepoint is None else self.compactions.save(self._chains, plan.tasks, order.savepoint),
        )
        return self._ended

    def conclude(self, ended: EndedEpoch) -> EpochResult:
        """Record and commit an epoch. Any thread may call this while the next epoch is planned and runs.

        :raises JobFailedError: it can't be recorded, or not be committed. The epoch stays complete.
        """
        try:
            path = self._conclude(ended)
            result = self._result(ended, path)
            self._remember(ended, result)
        finally:
            self._ended = None
        return result

    def so_far(self, tasks: Sequence[TaskSoFar]) -> dict[int, int]:
        """Take what some tasks of the running epoch have done so far. It is only shown in figures until the epoch is
        complete.

        :returns: id of a source's operator -> the watermark (ms) above which it pauses from now on, if that is new.
        """
        self.figures.so_far(tasks, self._clock())
        self.metrics.so_far(report for task in tasks for report in task.reports)
        return self._alignment.so_far(tasks)

    def _remember(self, ended: EndedEpoch, result: EpochResult) -> None:
        self.history.epoch(
            EpochRecord(
                result.epoch,
                ended.began,
                self._steady() - ended.began_steady,
                result.records,
                result.watermark,
                result.checkpoint is not None,
                result.phases,
            )
        )

    def _take_positions(self, plan: EpochPlan, reports: Sequence[OperatorReport]) -> None:
        """Take the read positions from the reports of the subtasks that were ordered to read."""
        sources = {source.info.id: source for source in self._sources}
        for report in reports:
            source = sources.get(report.operator)
            if source is not None and report.source is not None:
                task = (source.info.stage, source.info.offset + report.subtask)
                if report.operator in plan.of(task).sources:
                    source.take(report.subtask, report.source)
        for quiet in self._quiet:
            quiet.look()

    def _judge(self, order: EpochOrder, acks: Sequence[TaskAck]) -> None:
        failures = [ack for ack in acks if ack.failure is not None]
        if failures:
            failures.sort(key=lambda ack: (ack.stage, ack.partition))
            self._commits.abort(acks)
            first, *others = (ack.failure for ack in failures if ack.failure is not None)
            raise JobFailedError(first, others)
        self._check_complete(order, acks)
        self._check_restored(acks)
        self._count(acks)

    def inherit(
        self, states: Mapping[str, tuple[StateInfo, ...]], goes_on: Callable[[StateInfo, StateInfo], str | None]
    ) -> None:
        """Add states that the job continues with, by uid, to those that its functions have requested.

        :param goes_on: (a state as it was, the state as its function requests it now) -> why it can't continue, None if
            it can.
        """
        for uid, infos in states.items():
            self._states[uid] = with_news(infos, self._states.get(uid, ()))
        self._restored.goes_on = goes_on

    def _check_restored(self, acks: Sequence[TaskAck]) -> None:
        """Check that the requested states and the keys that tasks have seen fit what was restored.

        :raises JobFailedError: they don't; the epoch's transactions are aborted.
        """
        for report in (report for ack in acks for report in ack.reports):
            info = self.job.by_id[report.operator]
            problem = self._restored.problem(info, report, self._states.get(info.uid, ()))
            if problem is not None:
                self._commits.abort(acks)
                raise JobFailedError(Failure(info.name, report.subtask, info.origin, problem, final=True))

    def _count(self, acks: Sequence[TaskAck]) -> None:
        reports = [report for ack in acks for report in ack.reports]
        uids = {info.id: info.uid for info in self.job.operators}
        try:
            known = self._aggregates.after(
                (uids[report.operator], report.subtask, report.aggregates) for report in reports
            )
            self.metrics.take(reports)
        except (AccumulatorConflictError, GlobalAggregateError) as error:
            self._commits.abort(acks)
            failure = Failure(operator=self.job.name, subtask=-1, origin="", cause=str(error))
            raise JobFailedError(failure) from None
        self.metrics.moved(self._moves.take(acks))
        self._aggregates.known = known

    def _check_complete(self, order: EpochOrder, acks: Sequence[TaskAck]) -> None:
        if any(ack.epoch != order.epoch for ack in acks):
            raise ProtocolError(f"epoch {order.epoch}: acknowledgements of another epoch arrived")
        seen = Counter((ack.stage, ack.partition) for ack in acks)
        tasks = self._chains.tasks
        if len(acks) != len(tasks) or seen.keys() != tasks.keys():
            missing = sorted(tasks.keys() - seen.keys())
            doubled = sorted(task for task, count in seen.items() if count > 1)
            raise ProtocolError(
                f"epoch {order.epoch}: every task must run exactly once; missing (stage, partition): {missing}, "
                f"doubled: {doubled}"
            )
        self._check_exchanges(order, acks)

    def _check_exchanges(self, order: EpochOrder, acks: Sequence[TaskAck]) -> None:
        """Check that every packet arrived once, and came from the acknowledged run of its sender: Spark may run a task
        again when its output got lost, and a source need not read the same twice."""
        sent, received = total(ack.sent for ack in acks), total(ack.received for ack in acks)
        for number in sorted(sent.keys() | received):
            left, arrived = sent.get(number, Tally()), received.get(number, Tally())
            if left != arrived:
                edge = self.job.edges[number]
                ends = f"{self.job.by_id[edge.source].name} to {self.job.by_id[edge.target].name}"
                what = "packets of another run" if left.packets == arrived.packets else "some were lost or came twice"
                raise ProtocolError(
                    f"epoch {order.epoch}: what was sent on edge {number}, from {ends}, is not what arrived: "
                    f"{left.packets} packets became {arrived.packets}, {what}"
                )

    def _record(self, acks: Sequence[TaskAck]) -> None:
        self._chains.record(acks)
        for ack in acks:
            if ack.full_bytes is not None:
                self._outgrown.add((ack.stage, ack.partition))
            for report in ack.reports:
                if report.states is not None:
                    uid = self.job.by_id[report.operator].uid
                    self._states[uid] = with_news(self._states.get(uid, ()), report.states)
        self.log.written(acks)

    def _conclude(self, ended: EndedEpoch) -> str | None:
        """Commit what may be committed. Returns the path of the checkpoint that was recorded first, if any."""
        if not ended.commits:
            return None
        path = None
        self._commits.before_recorded()
        if ended.snapshot is not None:
            assert self.checkpoints is not None
            snapshot = replace(ended.snapshot, committables=self._commits.pending())
            with ended.phases.recording():
                path = self.checkpoints.take(snapshot, ended.last, ended.began)
            if path is None:
                return None
            self._left_no_trace = False
        self._commit(ended.phases)
        self._sweep(ended.order.epoch)
        self._concluded = ended.order.epoch
        if ended.last:
            self._end_sources()
        self._discard()
        return path

    def _commit(self, phases: Phases) -> None:
        # A recorded commit has to be carried out, also after a failure.
        self._commit_owed = True
        with phases.committing():
            self._commits.commit()
        self._commit_owed = False

    def _sweep(self, epoch: int) -> None:
        now = self._steady()
        if now >= self._next_sweep:
            self._sweep_pause = min(2 * self._sweep_pause, SWEEP_MS)
            self._next_sweep = now + self._sweep_pause
            self._commits.sweep(self.job.job_id, epoch)

    def _discard(self) -> None:
        """Delete state files that neither the running job nor a checkpoint needs."""
        if self._storage is None:
            return
        oldest_of_all = min((chain.first for chain in self._chains.tasks.values()), default=0)
        for task in sorted(self._outgrown):
            chain = self._chains.tasks.get(task)
            # If the task existed only before the program was changed, this job needs none of its files.
            first = oldest_of_all if chain is None else chain.first
            oldest = self._oldest_needed(task, first)
            if oldest > self._discarded.get(task, 0):
                discard = partial(self._storage.discard, task, first_of_epoch(oldest))
                if not self.cleaner.submit(f"old state of task {task}", discard):
                    return
                self._discarded[task] = oldest
            if oldest == first:
                self._outgrown.discard(task)

    def _oldest_needed(self, task: TaskId, first: int) -> int:
        """The oldest epoch whose files of the task are still needed.

        :param first: the oldest epoch that the running job needs.
        """
        first = self.compactions.oldest_held(task, first)
        return first if self.checkpoints is None else self.checkpoints.oldest_needed(task, first)

    def abort(self, acks: Sequence[TaskAck]) -> None:
        """Abort what the tasks of a failed epoch prepared."""
        self._commits.abort(acks)

    def _result(self, ended: EndedEpoch, checkpoint: str | None) -> EpochResult:
        order, acks, reports = ended.order, ended.acks, ended.reports
        sources = {info.id for info in self.job.operators if isinstance(info.spec, Source)}
        inner = sources | {edge.source for edge in self.job.edges}
        told, self._untold = self._untold, []
        return EpochResult(
            epoch=order.epoch,
            printed=tuple(line for report in told for line in report.printed),
            collected=tuple(part for report in told for part in report.collected),
            records=sum(report.records_out for report in reports if report.operator in sources),
            watermark=min((report.watermark for report in reports if report.operator not in inner), default=0),
            reports=tuple(reports),
            replayed=sum(ack.replayed for ack in acks),
            checkpoint=checkpoint,
            saved=tuple(saved for ack in acks for saved in ack.saved),
            saving=ended.saving,
            answers={number: value for ack in acks for number, value in ack.answers.items()},
            more=ended.more,
            next_due=min((ack.next_due for ack in acks if ack.next_due is not None), default=None),
            phases=ended.phases.all(),
            not_saved=next((ack.not_saved for ack in acks if ack.not_saved is not None), None),
        )

    # -- going on after a failure -----------------------------------------------------------------------------------

    def snapshot(self, epoch: int) -> JobSnapshot:
        """All that a new driver needs to continue from the end of ``epoch``, the last complete one."""
        return JobSnapshot(
            job_id=self.job.job_id,
            job_name=self.job.name,
            epoch=epoch,
            time=self._clock(),
            operators=self._places,
            tasks=self._chains.files(),
            sources={source.info.uid: source.snapshot(epoch) for source in self._sources},
            loops=self._loops.snapshot(),
            committables=self._commits.pending(),
            writers=self._commits.writers(),
            states=dict(self._states),
            key_types={info.uid: info.key_type for info in self.job.operators if info.key_type is not None},
            edges=len(self.job.edges),
            aggregates=self._aggregates.known,
            waiting=self._pace.waiting,
        )

    def _begin_attempt(self) -> None:
        self.attempt += 1
        self._sweep_pause = min(SWEEP_AFTER_FAILURE_MS, SWEEP_MS)
        self._next_sweep = self._steady() + self._sweep_pause

    def restart(self) -> None:
        """Continue from the last complete epoch after one failed. No task may run at this moment."""
        assert self._ended is None, "the epoch before is to be concluded"
        self.figures.forget_epoch(self._clock())
        self.metrics.forget_epoch()
        self._begin_attempt()
        self._number_from(self._next_epoch)
        self._commits.recover(self.job.job_id)
        if self._commit_owed:
            self._commit(self._phases)

    def go_on(self, snapshot: JobSnapshot, next_epoch: int, path: str | None = None) -> None:
        """Continue as a new driver from a checkpoint of this same job: the tasks find their state in their own files.

        :param next_epoch: a number that no epoch of an earlier driver can have.
        :param path: path of the checkpoint.
        """
        self._begun = True
        self._begin_attempt()
        self._number_from(next_epoch)
        self._last = snapshot.epoch
        self._chains.restore(snapshot.tasks)
        self.log.restored(Restored(snapshot.epoch, self._clock(), savepoint=False, path=path))
        # The driver before may have died after it recorded a checkpoint and before it deleted the replaced files.
        self._outgrown.update(task for task, chain in self._chains.tasks.items() if chain.first)
        if self.checkpoints is not None:
            self._outgrown.update(self.checkpoints.adopted_tasks)
        for source in self._sources:
            source.go_on(snapshot.sources[source.info.uid])
        self._loops.restore(snapshot.loops)
        self._pace.waiting = snapshot.waiting
        self._aggregates.known = snapshot.aggregates
        self._commits.restore(snapshot.committables, snapshot.writers)
        self._commits.recover(snapshot.job_id)
        self._commit(self._phases)

    def begin_anew(self, next_epoch: int) -> None:
        """Start from the beginning, because the job's earlier driver died before it had a checkpoint.

        :param next_epoch: a number that no epoch of the earlier driver can have.
        """
        self._begun = True
        self._begin_attempt()
        self._number_from(next_epoch)
        self._commits.recover(self.job.job_id)

    def begin_from(
        self,
        snapshot: JobSnapshot,
        uri: str,
        ended: bool,
        next_epoch: int = 1,
        savepoint: bool = False,
        may_drop: bool = False,
        uids: Mapping[str, str] = MappingProxyType({}),
    ) -> EpochPlan:
        """Start this job from the state of another one. The tasks that run the returned plan restore that state; give
        their acknowledgements to ``begun``.

        :param ended: whether the other job is over, so that what it has prepared and not committed is aborted.
        :param next_epoch: a number that no epoch of an earlier driver of this job can have.
        :param savepoint: True for a savepoint, False for a checkpoint.
        :param may_drop: whether operators may drop state that they have no use for.
        :param uids: uid of an operator -> its uid in the snapshot, where the two differ.
        """
        self._begun = True
        self.log.restored(Restored(snapshot.epoch, self._clock(), savepoint, uri))
        for source in self._sources:
            left = snapshot.sources.get(source.info.uid)
            if left is not None:
                source.begin_from(left)
        self._number_from(max(self._next_epoch, next_epoch, snapshot.epoch + 1))
        self._loops.begin_from(snapshot.loops)
        self._pace.waiting = snapshot.waiting
        self._aggregates.known = snapshot.aggregates
        self._commits.restore(snapshot.committables, snapshot.writers)
        # The other job's transactions are aborted only if it is over; the sinks have to know the restored committables
        # in any case.
        self._commits.recover(snapshot.job_id if ended else self.job.job_id)
        self._commit(self._phases)
        if self.checkpoints is not None:
            self._outgrown.update(self.checkpoints.adopted_tasks)
        self._last = snapshot.epoch
        number, last = self._take_number(), self._last
        order = EpochOrder(number, attempt=self.attempt, last=last, restore=uri, may_drop=may_drop, uids=dict(uids))
        return EpochPlan(order)

    def repeat(self, plan: EpochPlan) -> EpochPlan:
        """The plan of a failed epoch, with a new number for the next try."""
        return replace(plan, order=replace(plan.order, epoch=self._take_number(), attempt=self.attempt))

    def begun(self, plan: EpochPlan, acks: Sequence[TaskAck]) -> None:
        """The tasks have restored their state. Raises if one failed."""
        self._judge(plan.order, acks)
        self._last = plan.epoch
        if not plan.order.may_drop:
            self._restored.begun(self.job, [report for ack in acks for report in ack.reports])
        self._record(acks)

    def taken(self, result: EpochResult) -> TakenSavepoint:
        """The savepoint of the last epoch, parts of which may still be written while later epochs run."""
        return TakenSavepoint(self.snapshot(result.epoch), self._commits.named())

    def saved(self, taken: TakenSavepoint, pending: Pending, parts: Sequence[SavedSubtask], path: str) -> None:
        """A savepoint is complete."""
        sizes = Counter(dict.fromkeys(self._chains.tasks, 0))
        uids = {info.uid: info for info in self.job.operators}
        for saved in parts:
            info = uids[saved.uid]
            small = 0 if saved.small is None else len(saved.small)
            sizes[info.stage, info.offset + saved.subtask] += small + sum(file.size for file in saved.files)
        now = self._clock()
        self.log.saved(pending, now, path, {task: TaskBytes(size, size, now) for task, size in sizes.items()})
        self._commits.saved(taken.named)

    def not_saved(self, pending: Pending, cause: str) -> None:
        """A savepoint has failed."""
        self.log.not_saved(pending, self._clock(), cause)

    def clean_up(self) -> None:
        """The job has finished: abort what killed tasks have left in the sinks."""
        self._commits.recover(self.job.job_id)

    def give_up(self, kept: Sequence[JobSnapshot]) -> None:
        """The job has failed or was cancelled: abort what sinks have prepared and will not commit.

        :param kept: the snapshots of the checkpoints that are retained.
        """
        if self._commit_owed:
            with contextlib.suppress(Exception):  # recorded, so it is worth another try
                self._commit(self._phases)
        self._commits.give_up(self.job.job_id, kept)

    def close(self) -> None:
        """Release enumerators and committers."""
        self.log.give_up(self._clock())
        for source in self._sources:
            if source.enumerator is not None:
                source.enumerator.close()
        self._commits.close()
        self.cleaner.close()


def _brief(millis: int | None) -> int | None:
    """The time limit (ms) of an epoch whose end a user waits for."""
    return None if millis is None else min(millis, FIRST_MILLIS)
