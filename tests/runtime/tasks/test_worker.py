"""``run_task``: tasks stay or are rebuilt, failures become acknowledgements, nothing half done is kept."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.runtime.jobs import Engine, elements_of, job_of, numbers

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.common.time import Duration
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.source_base import QueueEnumerator
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from millrace.datastream.state import StateTtlConfig, ValueStateDescriptor
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.bases.process_operators import FunctionOperator
from millrace.runtime.coordination.coordinator import EpochResult, JobFailedError
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.storage import REACH, TaskId, version_of
from millrace.runtime.tasks.worker import LiveTask, StaleOrderError, run_task

LIFE: list[str] = []
"""What functions did; they run in this process."""


class Sum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        LIFE.append("open")
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.sum.update((self.sum.value() or 0) + value)
        yield (ctx.get_current_key(), self.sum.value())

    def close(self) -> None:
        LIFE.append("close")


@pytest.fixture(autouse=True)
def _new_life() -> None:
    LIFE.clear()


def summing(values: range = range(1, 9), epoch_records: int | None = 1) -> Engine:
    """Two stages of one task each: source, keyed sum."""
    return Engine(job_of(lambda env: numbers(env, values).key_by(lambda v: v % 2).process(Sum()), epoch_records))


def collected(results: list[EpochResult]) -> list[Any]:
    return [value for result in results for part in result.collected for value in pickle.loads(part)]


SUM = (1, 0)
"""the task of the keyed sum"""


def reads(engine: Engine) -> list[tuple[str, int]]:
    found = [(what, epoch) for what, task, epoch in engine.storage.log if task == SUM]
    engine.storage.log.clear()
    return found


def test_a_task_that_stays_reads_nothing() -> None:
    engine = summing()
    results = [engine.epoch() for _ in range(4)]
    assert reads(engine) == []
    assert [result.replayed for result in results] == [0] * 4
    assert collected(results) == [(1, 1), (0, 2), (1, 4), (0, 6)]
    assert LIFE == ["open"]


def test_a_task_that_moves_is_rebuilt_and_what_it_left_is_not_used() -> None:
    engine = summing()
    turns = [0, 0, 1, 1, 0, 0]
    found, log = [], []
    for worker in turns:
        found.append(engine.epoch(worker))
        log.append(reads(engine))
    assert log == [[], [], deltas(1, 2), [], deltas(1, 2, 3, 4), []]
    assert collected(found) == [(1, 1), (0, 2), (1, 4), (0, 6), (1, 9), (0, 12)]
    assert LIFE == ["open", "open", "close", "open"]


def deltas(*epochs: int) -> list[tuple[str, int]]:
    return [("delta", epoch) for epoch in epochs]


def test_a_long_chain_is_found_from_its_head() -> None:
    engine = summing(range(1, 3 * REACH))
    for _ in range(2 * REACH + 5):
        engine.epoch(0)
    reads(engine)
    result = engine.epoch(1)
    assert reads(engine) == deltas(*range(1, 2 * REACH + 6))
    number = 2 * REACH + 6
    assert collected([result]) == [(number % 2, sum(range(number, 0, -2)))]


def compacting(engine: Engine, *tasks: TaskId) -> EpochPlan:
    """The next epoch, in which these tasks write their whole state."""
    plan = engine.coordinator.plan()
    return replace(plan, tasks={task: replace(own, compact=task in tasks) for task, own in plan.tasks.items()})


def test_a_new_worker_begins_with_the_last_whole_state() -> None:
    engine = summing()
    engine.epoch()
    plan = compacting(engine, (0, 0), SUM)
    engine.coordinator.complete(plan, engine.tasks(plan)[0])
    engine.epoch()
    reads(engine)
    result = engine.epoch(worker=1)
    assert reads(engine) == [("full", 2), ("delta", 3)]
    assert collected([result]) == [(0, 6)]


class LastSeen(KeyedProcessFunction):
    """Remembers every key for 2 ms of event time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        seen = ValueStateDescriptor("seen", Types.LONG())
        ttl = StateTtlConfig.new_builder(Duration.of_millis(2)).use_event_time()
        seen.enable_time_to_live(ttl.disable_cleanup_in_background().cleanup_full_snapshot().build())
        self.seen = runtime_context.get_state(seen)

    def process_element(self, value: int, ctx: Any) -> None:
        self.seen.update(value)


def test_what_has_expired_is_dropped_from_the_whole_state_and_from_all_copies() -> None:
    engine = Engine(job_of(lambda env: numbers(env, range(1, 9)).key_by(lambda v: v).process(LastSeen()), 1))
    seen = (1, 0)

    def epoch(worker: int, *compact: TaskId) -> Any:
        plan = compacting(engine, *compact)
        engine.coordinator.complete(plan, engine.tasks(plan, worker)[0])
        pieces = living(engine, worker, seen).task.full_pieces()
        return [keyed["seen"][1] for piece in pieces for keyed, *_ in piece.values() if keyed]

    for _ in range(4):
        epoch(0)
    assert epoch(1) == [{n: (n, n) for n in range(1, 6)}]
    # the watermark is one less than the last timestamp
    assert epoch(1, seen) == [{4: (4, 4), 5: (5, 5), 6: (6, 6)}]
    assert epoch(0) == [{4: (4, 4), 5: (5, 5), 6: (6, 6), 7: (7, 7)}], "rebuilt from the files"


def living(engine: Engine, worker: int, task: TaskId) -> LiveTask:
    """The task that waits in a worker for its next epoch."""
    return engine.workers[worker]._jobs[engine.job.job_id].tasks[task]


def test_the_copy_of_a_failed_epoch_is_not_used() -> None:
    """The tasks of an epoch may succeed and the epoch fail all the same: in another task, or in Spark."""
    engine = summing()
    engine.epoch()
    lost = engine.coordinator.plan()
    acks, _ = engine.tasks(lost)
    assert all(ack.failure is None for ack in acks)
    again = engine.epoch()
    assert again.epoch == lost.epoch + 1, "a repeated epoch has a new number"
    assert collected([again]) == [(0, 2)]
    assert reads(engine) == [("delta", 1)], "rebuilt from the beginning"
    assert LIFE == ["open", "close", "open"]


def test_the_copy_of_a_run_that_nobody_heard_of_is_not_used() -> None:
    """Spark may run a task again, in another worker, and the two runs need not do the same."""
    engine = summing()
    engine.epoch()
    order = engine.coordinator.plan()
    engine.tasks(order, 0)
    engine.coordinator.complete(order, engine.tasks(order, 1, run=2)[0])
    reads(engine)
    assert collected([engine.epoch(0)]) == [(1, 4)]
    assert reads(engine) == [("delta", 1), ("delta", 2)], "rebuilt, from the run that counts"


def test_a_lost_whole_state_is_noticed() -> None:
    """What lies there of the time before it does not pass for all."""
    engine = summing()
    engine.epoch()
    plan = compacting(engine, SUM)
    engine.coordinator.complete(plan, engine.tasks(plan)[0])
    engine.storage._fulls.clear()
    order = engine.coordinator.plan()
    acks, _ = engine.tasks(order, 1)
    assert [ack.failure is None for ack in acks] == [True, False]


class FailsAt(MapFunction):
    def __init__(self, bad: int) -> None:
        self.bad = bad

    def map(self, value: int) -> int:
        if value == self.bad:
            raise ValueError(f"no {value}")
        return value

    def close(self) -> None:
        LIFE.append("close map")


def test_a_failure_of_the_user_is_an_acknowledgement() -> None:
    engine = Engine(job_of(lambda env: numbers(env, range(5)).rebalance().map(FailsAt(3)), 2))
    engine.epoch()
    order = engine.coordinator.plan()
    acks, _ = engine.tasks(order)
    assert [(ack.stage, ack.failure is None) for ack in acks] == [(0, True), (1, False)]
    failure = acks[1].failure
    assert failure is not None
    assert (failure.operator, failure.element, failure.cause) == ("Map", "3", "ValueError: no 3")
    assert "test_worker.py" in failure.origin
    assert LIFE == ["close map"]
    assert list(engine.workers[0]._jobs[engine.job.job_id].tasks) == [(0, 0)], "half an epoch is not kept"
    with pytest.raises(JobFailedError, match="no 3"):
        engine.coordinator.complete(order, acks)


def test_a_failure_in_open_closes_what_was_opened() -> None:
    class Broken(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            raise OSError("no database")

        def map(self, value: int) -> int:
            return value

    engine = Engine(job_of(lambda env: numbers(env, range(3)).map(FailsAt(9)).map(Broken())))
    acks, _ = engine.tasks(engine.coordinator.plan())
    assert acks[0].failure is not None
    assert acks[0].failure.during == " in open()"
    assert LIFE == ["close map"]


def test_a_copy_of_a_task_that_has_ended_closes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It opens nothing: it only says again that it has ended, as long as other tasks go on. What ``close`` of an
    operator takes back was made in ``open``."""
    engine = Engine(job_of(lambda env: numbers(env, range(4)).map(FailsAt(9)).key_by(lambda v: v % 2).process(Sum())))
    while not engine.coordinator.finished:
        engine.epoch()
    assert sorted(LIFE) == ["close", "close map", "open"]
    LIFE.clear()
    monkeypatch.setattr(FunctionOperator, "close", lambda operator: LIFE.append("close operator"))
    acks, _ = engine.tasks(engine.coordinator.plan(), worker=1)
    assert [ack.failure for ack in acks] == [None, None]
    assert [ack.replayed > 0 for ack in acks] == [True, True], "they are new ones"
    assert LIFE == []


def test_acknowledgements_of_earlier_stages_get_through_a_failed_task() -> None:
    engine = Engine(job_of(lambda env: numbers(env, range(3)).rebalance().map(FailsAt(0)).rebalance().map(lambda v: v)))
    acks, _ = engine.tasks(engine.coordinator.plan())
    assert sorted((ack.stage, ack.failure is None) for ack in acks) == [(0, True), (1, False), (2, True)]


def test_a_failure_of_the_engine_is_an_acknowledgement_too() -> None:
    engine = summing()
    plan = engine.coordinator.plan()
    lost = [Packet(0, 0, 0, 5, b"")]
    places = (engine.storage, engine.workers[0], lambda: 0)
    packets = list(run_task(engine.job.job_id, engine.local._load, SUM, plan.order, plan.of(SUM), lost, *places))
    failure = TaskAck.decode(packets[-1].payload).failure
    assert failure is not None
    assert failure.origin == "Millrace itself"
    assert "LostPacketError" in failure.cause


def test_without_state_the_task_ends_with_its_epoch() -> None:
    engine = summing(epoch_records=None)
    order = engine.coordinator.plan(keep_state=False)
    result = engine.coordinator.complete(order, engine.tasks(order)[0])
    assert len(collected([result])) == 8
    assert len(engine.storage) == 0
    assert LIFE == ["open", "close"]


def test_what_has_done_nothing_that_failed_is_used_again_after_a_restart() -> None:
    """The epoch fails before its second stage has run: Flink calls that local recovery."""
    engine = summing()
    engine.epoch()
    plan = engine.coordinator.plan()
    source, places = (0, 0), (engine.storage, engine.workers[0], lambda: 0)
    list(run_task(engine.job.job_id, engine.local._load, source, plan.order, plan.of(source), (), *places))
    engine.coordinator.restart()
    assert collected([engine.epoch()]) == [(0, 2)]
    assert reads(engine) == []
    assert [entry for entry in engine.storage.log if entry[1] == source] == []
    assert LIFE == ["open"]


def test_two_tasks_never_share_a_function() -> None:
    class Counts(MapFunction):
        def __init__(self) -> None:
            self.seen = 0

        def map(self, value: int) -> int:
            self.seen += 1
            return self.seen

    def build(env: StreamExecutionEnvironment) -> Any:
        return numbers(env, range(6)).rebalance().map(Counts()).set_parallelism(3)

    assert sorted(collected([Engine(job_of(build)).epoch()])) == [1, 1, 1, 2, 2, 2]


def test_orders_and_acknowledgements_travel() -> None:
    engine = summing()
    order = engine.coordinator.plan()
    assert pickle.loads(pickle.dumps(order)) == order
    acks, packets = engine.tasks(order)
    assert elements_of(packets) == [1]
    assert [type(ack).decode(ack.encode()) for ack in acks] == acks


# -- runs that cross --------------------------------------------------------------------------------------------------


def begun(engine: Engine, plan: EpochPlan, run: int) -> Iterator[Packet]:
    """A run of the source's task that is not at its end."""
    places = (engine.storage, engine.workers[0], lambda: 0)
    packets = run_task(engine.job.job_id, engine.local._load, (0, 0), plan.order, plan.of((0, 0)), (), *places, run=run)
    first = next(packets)
    return itertools.chain([first], packets)


def test_of_two_runs_at_once_one_gets_the_task_and_the_newer_one_leaves_it() -> None:
    engine = summing()
    engine.epoch()
    before = living(engine, 0, (0, 0)).task
    plan = engine.coordinator.plan()
    older, newer = begun(engine, plan, 1), begun(engine, plan, 2)
    newer_packets, older_packets = list(newer), list(older)
    left = living(engine, 0, (0, 0))
    assert left.task is not before
    assert left.ran == version_of(2, 2)
    for packets in (newer_packets, older_packets):
        assert TaskAck.decode(packets[-1].payload).failure is None
        assert elements_of(packets) == [2]


def test_a_late_order_is_refused() -> None:
    engine = summing()
    late = engine.coordinator.plan()
    engine.epoch()
    before = living(engine, 0, (0, 0))
    with pytest.raises(StaleOrderError, match="was to run epoch 1, but its job is at epoch 2 now"):
        engine.tasks(late)
    assert living(engine, 0, (0, 0)) is before
    assert collected([engine.epoch()]) == [(0, 2)]


def test_a_run_that_others_have_overtaken_leaves_nothing() -> None:
    engine = summing()
    engine.epoch()
    slow = begun(engine, engine.coordinator.plan(), 7)
    assert collected([engine.epoch()]) == [(0, 2)]
    kept = living(engine, 0, (0, 0))
    list(slow)
    assert living(engine, 0, (0, 0)) is kept
    assert collected([engine.epoch()]) == [(1, 4)]


def test_a_run_that_nobody_listens_to_is_closed() -> None:
    engine = summing()
    packets = engine.local._load, SUM
    plan = engine.coordinator.plan()
    places = (engine.storage, engine.workers[0], lambda: 0)
    passing = [Packet(0, ACK, 0, 0, b""), Packet(0, ACK, 0, 0, b"")]
    running = run_task(engine.job.job_id, *packets, plan.order, plan.of(SUM), passing, *places)
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert LIFE == ["open", "close"]
    assert len(engine.workers[0]) == 0


def test_a_task_that_lives_elsewhere_is_let_go() -> None:
    engine = summing()
    engine.epoch()
    cache = engine.workers[0]
    slow = begun(engine, engine.coordinator.plan(), 1)
    cache.let_go(engine.job.job_id, (0, 0))
    cache.let_go(engine.job.job_id, SUM)
    assert LIFE == ["open", "close"], "the one that does not run is closed at once"
    list(slow)
    assert len(cache) == 0, "the other when it is done"


def test_a_job_that_has_ended_is_forgotten() -> None:
    engine = summing()
    engine.epoch()
    cache = engine.workers[0]
    assert len(cache) == 2
    slow = begun(engine, engine.coordinator.plan(), 1)
    cache.forget(engine.job.job_id)
    list(slow)
    assert len(cache) == 0
    assert LIFE == ["open", "close"]


# -- nothing changes --------------------------------------------------------------------------------------------------


class Waits(Source[int, int]):
    """The numbers up to ``there``, divided among the subtasks; there may be more later."""

    there = 20

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[int], checkpoint: Any = None) -> QueueEnumerator[int]:
        return QueueEnumerator(context, range(context.current_parallelism()))

    def create_reader(self, context: SourceReaderContext) -> WaitsReader:
        return WaitsReader(context.current_parallelism())


class WaitsReader(SourceReader[int, int]):
    def __init__(self, step: int) -> None:
        self.step = step
        self.next: int | None = None

    def add_splits(self, splits: Sequence[int]) -> None:
        (self.next,) = splits

    def notify_no_more_splits(self) -> None:
        """There is one for each."""

    def poll_next(self, output: ReaderOutput[int]) -> InputStatus:
        while self.next is not None and self.next < Waits.there:
            output.collect(self.next, self.next)
            self.next += self.step
        return InputStatus.NOTHING_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[int]:
        return [] if self.next is None else [self.next]


def idle(parallelism: int = 3) -> Engine:
    """A job whose sources have elements for one epoch, and then nothing, but do not end."""
    return Engine(job_of(lambda env: waiting(env, parallelism).key_by(lambda v: v % 7).process(Sum())))


def waiting(env: StreamExecutionEnvironment, parallelism: int) -> Any:
    env.set_parallelism(parallelism)
    return env.from_source(Waits(), WatermarkStrategy.for_monotonous_timestamps(), "Waits")


def test_where_nothing_changes_nothing_is_written() -> None:
    engine = idle()
    for _ in range(3):
        engine.epoch()
    files, chains = len(engine.storage), engine.coordinator._chains.files()
    for _ in range(20):
        plan = engine.coordinator.plan()
        acks, _ = engine.tasks(plan)
        engine.coordinator.complete(plan, acks)
        assert [ack.delta_bytes for ack in acks] == [None] * 6
    assert len(engine.storage) == files
    assert engine.coordinator._chains.files() == chains
    assert engine.coordinator.plan().of((0, 0)).base < version_of(4, 0)


def test_an_idle_task_is_rebuilt_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = idle()
    results = [engine.epoch() for _ in range(12)]
    results.append(engine.epoch(worker=1))
    assert results[-1].replayed > 0
    monkeypatch.setattr(Waits, "there", 30)
    results.append(engine.epoch(worker=1))
    sums = dict(collected(results))
    assert sums == {key: sum(v for v in range(30) if v % 7 == key) for key in range(7)}


def test_an_idle_run_of_a_failed_epoch_is_not_used_again() -> None:
    """It has left no version, but its functions may have seen what does not count."""
    engine = idle(1)
    for _ in range(3):
        engine.epoch()
    plan = engine.coordinator.plan()
    acks, _ = engine.tasks(plan)
    assert {ack.delta_bytes for ack in acks} == {None}
    engine.coordinator.restart()
    LIFE.clear()
    engine.epoch()
    assert LIFE == ["close", "open"]
