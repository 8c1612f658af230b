"""``Coordinator``: judges acknowledgements, commits once and only then, pauses sources, thins out state."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.programs import ListSource
from tests.runtime.jobs import CountingStorage, Engine, job_of, numbers

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.time import Duration
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import EpochPlan, SourceReport, TaskAck
from millrace.runtime.coordination import snapshot
from millrace.runtime.coordination.coordinator import Coordinator, JobFailedError, ProtocolError
from millrace.runtime.failure import Failure
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import INITIAL, TaskId, first_of_epoch, version_of
from millrace.testing import run_locally

LOG: list[tuple[str, list[Any]]] = []


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        time: int = value
        return time


class LogCommitter(Committer[Any]):
    def commit(self, committables: Sequence[Any]) -> None:
        LOG.append(("commit", list(committables)))

    def abort(self, committables: Sequence[Any]) -> None:
        LOG.append(("abort", list(committables)))

    def close(self) -> None:
        LOG.append(("close", []))


class ListWriter(SinkWriter[Any]):
    def __init__(self) -> None:
        self.values: list[Any] = []

    def write(self, element: Any, context: SinkWriterContext) -> None:
        if element == 13:
            raise ValueError("unlucky")
        self.values.append(element)

    def prepare_commit(self) -> list[Any]:
        values, self.values = self.values, []
        return [tuple(values)] if values else []


class LogSink(Sink[Any]):
    def create_writer(self, context: WriterInitContext) -> ListWriter:
        return ListWriter()

    def create_committer(self) -> LogCommitter:
        return LogCommitter()


@pytest.fixture(autouse=True)
def _empty_log() -> None:
    LOG.clear()


def sinking(values: Sequence[int] = range(4), epoch_records: int | None = 1, parallelism: int = 2) -> Engine:
    """Source of one task, then as many sinks as asked for."""

    def build(env: StreamExecutionEnvironment) -> None:
        numbers(env, values).rebalance().sink_to(LogSink()).set_parallelism(parallelism)

    return Engine(job_of(build, epoch_records))


def test_commits_when_all_have_acknowledged() -> None:
    engine = sinking(epoch_records=2)
    order = engine.coordinator.plan()
    acks, _ = engine.tasks(order)
    assert LOG == []
    engine.coordinator.complete(order, acks)
    assert LOG == [("commit", [(0,), (1,)])], "in the order of subtasks"
    while not engine.coordinator.finished:
        engine.epoch()
    engine.coordinator.close()
    assert sorted(v for what, parts in LOG if what == "commit" for part in parts for v in part) == [0, 1, 2, 3]
    assert LOG[-1] == ("close", [])


def test_a_failure_aborts_the_epoch() -> None:
    engine = sinking([12, 13], epoch_records=None)
    order = engine.coordinator.plan()
    with pytest.raises(JobFailedError, match="unlucky"):
        engine.coordinator.complete(order, engine.tasks(order)[0])
    assert LOG == [("abort", [(12,)])]


def test_the_first_failure_counts() -> None:
    engine = sinking()
    order = engine.coordinator.plan()
    failed = [
        TaskAck(order.epoch, stage, partition, failure=Failure(f"at {stage}.{partition}", 0, "here", "cause"))
        for stage, partition in ((1, 1), (0, 0), (1, 0))
    ]
    with pytest.raises(JobFailedError, match=r"at 0\.0"):
        engine.coordinator.complete(order, failed)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda acks: acks[:-1], r"missing .*\[\(1, 1\)\].*doubled: \[\]"),
        (lambda acks: [*acks, acks[0]], r"missing .*\[\].*doubled: \[\(0, 0\)\]"),
        (lambda acks: [acks[0], acks[0], acks[2]], r"missing .*\[\(1, 0\)\].*doubled: \[\(0, 0\)\]"),
        (lambda acks: [], r"missing .*\[\(0, 0\), \(1, 0\), \(1, 1\)\]"),
        (lambda acks: [replace(acks[0], epoch=77), *acks[1:]], "another epoch"),
        (lambda acks: [*acks, replace(acks[0], partition=9)], "exactly once"),
    ],
)
def test_every_task_must_acknowledge_once(damage: Any, message: str) -> None:
    engine = sinking(epoch_records=2)
    order = engine.coordinator.plan()
    acks = sorted(engine.tasks(order)[0], key=lambda ack: (ack.stage, ack.partition))
    with pytest.raises(ProtocolError, match=message):
        engine.coordinator.complete(order, damage(acks))
    assert not any(what == "commit" for what, _ in LOG)
    assert {own.base for own in engine.coordinator.plan().tasks.values()} == {INITIAL}, "nothing of it counts"


def test_tasks_go_on_from_completed_epochs_only() -> None:
    engine = sinking()
    assert engine.epoch().epoch == 1
    lost = engine.coordinator.plan()
    engine.tasks(lost)  # nobody hears of this
    assert engine.epoch().epoch == 3
    own = engine.coordinator.plan().of((1, 0))
    assert (own.base, own.ran) == (version_of(3, 1), version_of(3, 1))


def test_the_result_counts() -> None:
    engine = sinking([3, 5, 8], epoch_records=2, parallelism=1)
    results = []
    while not engine.coordinator.finished:
        results.append(engine.epoch())
    assert [result.records for result in results] == [2, 1]
    assert [result.watermark for result in results] == [4, 2**63 - 1]


def test_the_watermark_is_that_of_where_event_time_has_begun() -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
    env.from_collection([5, 9]).map(lambda value: value).assign_timestamps_and_watermarks(times).print()
    results = run_locally(env, epoch_records=1).epochs
    assert [result.watermark for result in results][:2] == [4, 8]


def test_stopping_ends_the_sources() -> None:
    engine = sinking()
    engine.epoch()
    engine.coordinator.stop()
    assert not engine.coordinator.finished
    engine.epoch()
    assert engine.coordinator.finished
    assert LOG == [("commit", [(0,)])]


# -- old state --------------------------------------------------------------------------------------------------------


def acks_of(job: JobGraph, plan: EpochPlan, delta_bytes: int | None = 1) -> list[TaskAck]:
    """What tasks would say that wrote so much."""
    return [
        TaskAck(plan.epoch, s, p, (), delta_bytes, 3 if plan.of((s, p)).compact else None, run=1)
        for s, partitions in enumerate(job.partitions)
        for p in range(partitions)
    ]


def run_epoch(coordinator: Coordinator, delta_bytes: int | None = 1) -> EpochPlan:
    plan = coordinator.plan()
    coordinator.complete(plan, acks_of(coordinator.job, plan, delta_bytes))
    return plan


def compacted(plan: EpochPlan) -> list[TaskId]:
    return [task for task, own in plan.tasks.items() if own.compact]


def test_many_versions_are_compacted_and_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "COMPACT_VERSIONS", 3)
    engine = sinking()
    storage = CountingStorage()
    coordinator = Coordinator(engine.job, lambda: 0, storage)
    discarded: list[Any] = []
    monkeypatch.setattr(storage, "discard", lambda task, before: discarded.append((task, before)))
    plans = [run_epoch(coordinator) for _ in range(10)]
    tasks = [(0, 0), (1, 0), (1, 1)]
    turns = list(zip((4, 5, 6, 8, 9, 10), itertools.cycle(tasks)))
    assert [(plan.epoch, task) for plan in plans for task in compacted(plan)] == turns, "one after the other"
    assert discarded == [(task, first_of_epoch(epoch)) for epoch, task in turns]
    last = coordinator.plan()
    assert [own.base for own in last.tasks.values()] == [version_of(10, 1)] * 3
    assert [own.whole == own.base for own in last.tasks.values()] == [False, False, True]


def test_compactions_are_spread_over_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if all tasks need one at the same time; those with most changes come first."""
    monkeypatch.setattr(snapshot, "COMPACT_VERSIONS", 10)
    monkeypatch.setattr(snapshot, "COMPACT_BYTES", 1_000_000)
    coordinator = Coordinator(sinking(parallelism=319).job, lambda: 0, CountingStorage())
    plans = []
    for _ in range(60):
        plan = coordinator.plan()
        acks = acks_of(coordinator.job, plan)
        heavy = [replace(ack, delta_bytes=200_000) if ack.partition >= 315 else ack for ack in acks]
        coordinator.complete(plan, heavy)
        plans.append(compacted(plan))
    assert {len(tasks) for tasks in plans[10:]} == {10}
    assert {task for tasks in plans[5:7] for task in tasks} >= {(1, partition) for partition in range(315, 319)}
    longest = max(chain.versions for chain in coordinator._chains.tasks.values())
    assert longest <= 10 + 320 // 10 + 2


def test_large_changes_are_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "COMPACT_BYTES", 100)
    coordinator = Coordinator(sinking(parallelism=1).job, lambda: 0, CountingStorage())
    found = [len(compacted(run_epoch(coordinator, 60))) for _ in range(6)]
    assert found == [0, 0, 1, 1, 0, 1], "two tasks, one at a time"


def test_idle_tasks_have_no_versions_and_are_never_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "COMPACT_VERSIONS", 3)
    coordinator = Coordinator(sinking().job, lambda: 0, CountingStorage())
    run_epoch(coordinator)
    plans = [run_epoch(coordinator, None) for _ in range(10)]
    assert not any(map(compacted, plans))
    assert {(own.base, own.ran) for own in coordinator.plan().tasks.values()} == {(version_of(1, 1), version_of(11, 1))}


def test_a_compacted_job_goes_on_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "COMPACT_VERSIONS", 2)

    def build(env: StreamExecutionEnvironment) -> Any:
        return numbers(env, range(12)).key_by(lambda v: v % 3).sum()

    engine = Engine(job_of(build, 1), workers=3)
    totals = []
    for worker in [0, 1, 0, 2, 2, 1, 0, 0, 2, 1, 0, 2]:
        totals.append(engine.epoch(worker))
    found = [value for result in totals for part in result.collected for value in pickle.loads(part)]
    assert found == [0, 1, 2, 3, 5, 7, 9, 12, 15, 18, 22, 26]
    assert max(result.replayed for result in totals) <= 2 * len(engine.job.partitions) * 3
    assert len(engine.storage) < 20


# -- alignment --------------------------------------------------------------------------------------------------------


def test_alignment_pauses_what_is_ahead() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        aligned = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("g", Duration.of_millis(10))
        fast = env.from_source(ListSource([(n * 100, n) for n in range(5)]), aligned, "fast")
        slow = env.from_source(ListSource([(n * 40, n) for n in range(5)]), aligned, "slow")
        alone = WatermarkStrategy.for_monotonous_timestamps()
        other = env.from_source(ListSource([(n * 999, n) for n in range(5)]), alone, "other")
        return fast.union(slow, other)

    engine = Engine(job_of(build, 1))
    names = {info.id: info.name for info in engine.job.operators}
    paused, progress = [], []
    while not engine.coordinator.finished and len(paused) < 30:
        order = engine.coordinator.plan()
        paused.append({names[op] for own in order.tasks.values() for op, o in own.sources.items() if o.paused})
        result = engine.coordinator.complete(order, engine.tasks(order)[0])
        progress.append({names[r.operator]: r.source.watermark for r in result.reports if r.source})
    assert len(paused) < 30
    assert paused[0] == set()
    assert any("Source: fast" in names for names in paused)
    assert not any("Source: other" in names for names in paused)
    for before, names_of_paused in zip(progress, paused[1:]):
        ahead = before["Source: fast"] > before["Source: slow"] + 10
        assert ("Source: fast" in names_of_paused) == ahead


def test_a_paused_source_keeps_its_splits() -> None:
    engine = sinking()
    order = engine.coordinator.plan()
    own = order.of((0, 0))
    ((operator, source_order),) = own.sources.items()
    pausing = replace(own, sources={operator: replace(source_order, paused=True)})
    paused = replace(order, tasks={**order.tasks, (0, 0): pausing})
    result = engine.coordinator.complete(paused, engine.tasks(paused)[0])
    (report,) = [report.source for report in result.reports if report.source]
    assert report == SourceReport(source_order.splits, False, report.watermark)
    assert result.records == 0
    while not engine.coordinator.finished:
        engine.epoch()
    assert sorted(part for _, parts in LOG for part in parts) == [(0,), (1,), (2,), (3,)]


class FailsOnce(LogCommitter):
    def commit(self, committables: Sequence[Any]) -> None:
        super().commit(committables)
        if len(LOG) == 1:
            raise OSError("not now")


class FailsOnceSink(LogSink):
    def create_committer(self) -> FailsOnce:
        return FailsOnce()


@pytest.mark.parametrize("count", [1, 3])
def test_what_is_printed_and_collected_outlives_a_commit_that_fails(count: int) -> None:
    """The epoch is complete, so nobody will print its elements again."""

    def build(env: StreamExecutionEnvironment) -> None:
        values = numbers(env, range(count))
        values.print()
        values.sink_to(FailsOnceSink()).set_parallelism(1)

    engine = Engine(job_of(build, 1))
    with pytest.raises(JobFailedError, match="not now"):
        engine.epoch()
    engine.coordinator.restart()
    printed: list[str] = []
    while not engine.coordinator.finished:
        printed += engine.epoch().printed
    assert [line[-1] for line in printed] == ["0", "1", "2"][:count]


class Sweeping(LogCommitter):
    def sweep(self, job_id: str, epoch: int, committables: Sequence[Any], states: Sequence[Any]) -> None:
        LOG.append(("sweep", [epoch]))

    def recover(self, job_id: str, committables: Sequence[Any], states: Sequence[Any]) -> None:
        LOG.append(("recover", list(committables)))

    def commit(self, committables: Sequence[Any]) -> None:
        super().commit(committables)
        if (3,) in committables and LOG.count(("commit", [(3,)])) == 1:
            raise ConnectionError("for once")


class SweepingSink(LogSink):
    def create_committer(self) -> LogCommitter:
        return Sweeping()


def test_sinks_look_now_and_then_for_what_nobody_waits_for() -> None:
    now = 0
    engine = Engine(job_of(lambda env: numbers(env, range(4)).sink_to(SweepingSink()), 1))
    engine.coordinator._clock = engine.coordinator._steady = lambda: now
    for later in (1_000, 58_999, 60_000):
        now = later
        engine.epoch()
    assert [what for what, _ in LOG] == ["commit", "commit", "commit", "sweep"]
    assert LOG[-1] == ("sweep", [3])
    with pytest.raises(JobFailedError, match="for once"):
        engine.epoch()
    engine.coordinator.give_up([])
    assert LOG[-2:] == [("commit", [(3,)]), ("recover", [])], "what was to be committed is tried once more"
