"""``Coordinator``: judges acknowledgements, commits once and only then, pauses sources, thins out state."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.programs import ListSource
from tests.runtime.jobs import CountingStorage, Engine, job_of, numbers

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.time import Duration
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime import chains as module
from millrace.runtime.coordinator import Coordinator, JobFailedError, ProtocolError
from millrace.runtime.epoch import EpochOrder, SourceReport, TaskAck
from millrace.runtime.failure import Failure
from millrace.runtime.job import JobGraph
from millrace.runtime.versions import first_of_epoch

LOG: list[tuple[str, list[Any]]] = []


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
        return [tuple(self.values)] if self.values else []


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
    assert engine.coordinator.plan().history == (), "nothing of it counts"


def test_history_grows_with_completed_epochs_only() -> None:
    engine = sinking()
    assert engine.epoch().epoch == 1
    engine.coordinator.plan()  # this epoch never ends
    assert engine.epoch().epoch == 3
    assert engine.coordinator.plan().history == (1, 3)


def test_the_result_counts() -> None:
    engine = sinking([3, 5, 8], epoch_records=2, parallelism=1)
    results = []
    while not engine.coordinator.finished:
        results.append(engine.epoch())
    assert [result.records for result in results] == [2, 1]
    assert [result.watermark for result in results] == [4, 2**63 - 1]


def test_stopping_ends_the_sources() -> None:
    engine = sinking()
    engine.epoch()
    engine.coordinator.stop()
    assert not engine.coordinator.finished
    engine.epoch()
    assert engine.coordinator.finished
    assert LOG == [("commit", [(0,)])]


# -- old state --------------------------------------------------------------------------------------------------------


def acks_of(job: JobGraph, order: EpochOrder, delta_bytes: int = 1) -> list[TaskAck]:
    """What tasks would say that wrote so much."""
    return [
        TaskAck(order.epoch, s, p, (), delta_bytes, 3 if (s, p) in order.compact else None)
        for s, partitions in enumerate(job.partitions)
        for p in range(partitions)
    ]


def run_epoch(coordinator: Coordinator, delta_bytes: int = 1) -> EpochOrder:
    order = coordinator.plan()
    coordinator.complete(order, acks_of(coordinator.job, order, delta_bytes))
    return order


def test_many_versions_are_compacted_and_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPACT_VERSIONS", 3)
    engine = sinking()
    storage = CountingStorage()
    coordinator = Coordinator(engine.job, lambda: 0, storage)
    discarded: list[Any] = []
    monkeypatch.setattr(storage, "discard", lambda task, before: discarded.append((task, before)))
    orders = [run_epoch(coordinator) for _ in range(8)]
    tasks = {(0, 0), (1, 0), (1, 1)}
    assert [order.epoch for order in orders if order.compact] == [4, 8]
    assert orders[3].compact == tasks
    assert set(discarded) == {(task, first_of_epoch(epoch)) for task in tasks for epoch in (4, 8)}
    assert [order.history for order in orders[3:6]] == [(1, 2, 3), (4,), (4, 5)]


def test_large_changes_are_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPACT_BYTES", 100)
    coordinator = Coordinator(sinking().job, lambda: 0, CountingStorage())
    assert not run_epoch(coordinator, 60).compact
    assert not run_epoch(coordinator, 60).compact
    assert run_epoch(coordinator, 60).compact
    assert not run_epoch(coordinator, 60).compact


def test_a_compacted_job_goes_on_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPACT_VERSIONS", 2)

    def build(env: StreamExecutionEnvironment) -> Any:
        return numbers(env, range(12)).key_by(lambda v: v % 3).sum()

    engine = Engine(job_of(build, 1), workers=3)
    totals = []
    for worker in [0, 1, 0, 2, 2, 1, 0, 0, 2, 1, 0, 2]:
        totals.append(engine.epoch(worker))
    found = [value for result in totals for part in result.collected for value in pickle.loads(part)]
    assert found == [0, 1, 2, 3, 5, 7, 9, 12, 15, 18, 22, 26]
    assert max(result.replayed for result in totals) <= 2 * len(engine.job.partitions) * 3
    assert len(engine.storage) < 15


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
        paused.append({names[op] for op, subtasks in order.sources.items() for o in subtasks.values() if o.paused})
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
    (operator, subtasks), *_ = order.sources.items()
    paused = replace(order, sources={operator: {0: replace(subtasks[0], paused=True)}})
    result = engine.coordinator.complete(paused, engine.tasks(paused)[0])
    (report,) = [report.source for report in result.reports if report.source]
    assert report == SourceReport(subtasks[0].splits, False, report.watermark)
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
