"""``run_task``: old copies catch up, failures become acknowledgements, nothing half done is kept."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest
from tests.runtime.jobs import Engine, elements_of, job_of, numbers

from millrace.common.time import Duration
from millrace.common.typeinfo import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from millrace.datastream.state import StateTtlConfig, ValueStateDescriptor
from millrace.runtime.coordinator import EpochResult, JobFailedError
from millrace.runtime.epoch import EpochOrder, TaskAck
from millrace.runtime.exchange import Packet
from millrace.runtime.worker import run_task

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


def test_an_old_copy_reads_only_what_it_missed() -> None:
    engine = summing()
    turns = [0, 0, 1, 0, 1, 1, 0]
    found, log = [], []
    for worker in turns:
        found.append(engine.epoch(worker))
        log.append(reads(engine))
    assert log == [
        [], [], [("delta", 1), ("delta", 2)], [("delta", 3)], [("delta", 4)], [], [("delta", 5), ("delta", 6)],
    ]  # fmt: skip
    assert collected(found) == [(1, 1), (0, 2), (1, 4), (0, 6), (1, 9), (0, 12), (1, 16)]
    assert LIFE == ["open", "open"], "one function in each worker"


def test_a_new_worker_begins_with_the_last_whole_state() -> None:
    engine = summing()
    order = engine.coordinator.plan()
    engine.coordinator.complete(order, engine.tasks(order)[0])
    order = replace(engine.coordinator.plan(), compact=frozenset({(0, 0), SUM}))
    engine.coordinator.complete(order, engine.tasks(order)[0])
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

    def epoch(worker: int, compact: frozenset[tuple[int, int]] = frozenset()) -> Any:
        order = replace(engine.coordinator.plan(), compact=compact)
        engine.coordinator.complete(order, engine.tasks(order, worker)[0])
        cached = engine.workers[worker].take(engine.job.job_id, 0, seen)
        assert cached is not None
        engine.workers[worker].put(engine.job.job_id, 0, seen, cached)
        pieces = cached.task.full_pieces()
        return [keyed["seen"][1] for piece in pieces for keyed, *_ in piece.values() if keyed]

    for _ in range(4):
        epoch(0)
    assert epoch(1) == [{n: (n, n) for n in range(1, 6)}]
    # the watermark is one less than the last timestamp
    assert epoch(1, frozenset({seen})) == [{4: (4, 4), 5: (5, 5), 6: (6, 6)}]
    assert epoch(0) == [{4: (4, 4), 5: (5, 5), 6: (6, 6), 7: (7, 7)}], "caught up from the deltas"


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


def test_a_copy_from_before_the_last_whole_state_is_rebuilt() -> None:
    engine = summing()
    engine.epoch(0)
    engine.epoch(1)
    order = replace(engine.coordinator.plan(), compact=frozenset({(0, 0), SUM}))
    engine.coordinator.complete(order, engine.tasks(order, 1)[0])
    reads(engine)
    assert collected([engine.epoch(0)]) == [(0, 6)]
    assert reads(engine) == [("full", 3)]


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
    order = replace(engine.coordinator.plan(), compact=frozenset({SUM}))
    engine.coordinator.complete(order, engine.tasks(order)[0])
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
    assert engine.workers[0].take(engine.job.job_id, 0, (1, 0)) is None, "half an epoch is not kept"
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


def test_acknowledgements_of_earlier_stages_get_through_a_failed_task() -> None:
    engine = Engine(
        job_of(lambda env: numbers(env, range(3)).rebalance().map(FailsAt(0)).rebalance().map(lambda v: v))
    )
    acks, _ = engine.tasks(engine.coordinator.plan())
    assert sorted((ack.stage, ack.failure is None) for ack in acks) == [(0, True), (1, False), (2, True)]


def test_a_failure_of_the_engine_is_an_acknowledgement_too() -> None:
    engine = summing()
    order = engine.coordinator.plan()
    lost = [Packet(0, 0, 0, 5, b"")]
    packets = list(
        run_task(engine.job.job_id, engine.local._load, SUM, order, lost, engine.storage, engine.workers[0], lambda: 0)
    )
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


def test_a_new_attempt_gets_new_tasks() -> None:
    engine = summing()
    engine.epoch()
    engine.coordinator.attempt = 1
    assert collected([engine.epoch()]) == [(0, 2)]
    assert LIFE == ["open", "close", "open"]


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
    assert EpochOrder.decode(order.encode()) == order
    acks, packets = engine.tasks(order)
    assert elements_of(packets) == [1]
    assert [type(ack).decode(ack.encode()) for ack in acks] == acks
