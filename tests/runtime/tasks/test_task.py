"""``StageTask``: how the operators of one partition hang together."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from tests.runtime.jobs import Engine, job_of, numbers

from millrace.datastream import OutputTag, StreamExecutionEnvironment
from millrace.datastream.functions import CoMapFunction, ProcessFunction, RuntimeContext
from millrace.runtime.exchange.exchange import ACK
from millrace.runtime.operators.one_input_operators import ProcessOperator
from millrace.runtime.tasks.task import StageTask
from millrace.testing import run_locally

ODD = OutputTag("odd")


class Split(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        else:
            yield value


class Watermarks(ProcessFunction):
    """Each element with the watermark that it sees."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield (value, ctx.timer_service().current_watermark())


class Which(CoMapFunction):
    def map1(self, value: int) -> Any:
        return ("first", value)

    def map2(self, value: int) -> Any:
        return ("second", value)


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment().set_parallelism(1)


def test_a_diamond_in_one_task(env: StreamExecutionEnvironment) -> None:
    source = numbers(env, range(1, 4))
    joined = source.map(lambda v: v * 10).union(source.map(lambda v: v * 100)).process(Watermarks())
    assert len(env_job(env)) == 1
    run = run_locally(joined)
    low = -(2**63)
    assert sorted(run.collected) == [(10, low), (20, low), (30, low), (100, low), (200, low), (300, low)]


def env_job(env: StreamExecutionEnvironment) -> tuple[int, ...]:
    """The widths of the stages."""
    return env.job_graph().partitions


def test_a_diamond_through_an_exchange(env: StreamExecutionEnvironment) -> None:
    source = numbers(env, range(100))
    far = source.rebalance().map(lambda v: v).set_parallelism(3).rebalance().map(lambda v: v).set_parallelism(2)
    near = source.map(lambda v: v + 1000)
    both = near.connect(far).map(Which()).set_parallelism(1)
    assert env_job(env) == (1, 3, 2, 1)
    run = run_locally(both, epoch_records=7, workers=2, seed=1)
    assert Counter(run.collected) == Counter(
        [("first", v + 1000) for v in range(100)] + [("second", v) for v in range(100)]
    )


def test_a_stream_with_itself(env: StreamExecutionEnvironment) -> None:
    source = numbers(env, range(3))
    assert sorted(run_locally(source.union(source)).collected) == [0, 0, 1, 1, 2, 2]
    source = numbers(env, range(2))
    assert sorted(run_locally(source.connect(source).map(Which())).collected) == [
        ("first", 0), ("first", 1), ("second", 0), ("second", 1)
    ]  # fmt: skip


def test_side_outputs_inside_and_across_tasks(env: StreamExecutionEnvironment) -> None:
    split = numbers(env, range(6)).process(Split())
    near = split.get_side_output(ODD).map(lambda v: ("near", v))
    far = split.get_side_output(ODD).rebalance().map(lambda v: ("far", v)).set_parallelism(2)
    main = split.map(lambda v: ("main", v))
    assert sorted(run_locally(main.union(near, far)).collected) == [
        *[("far", v) for v in (1, 3, 5)],
        *[("main", v) for v in (0, 2, 4)],
        *[("near", v) for v in (1, 3, 5)],
    ]


def test_a_side_output_that_nobody_reads_is_dropped(env: StreamExecutionEnvironment) -> None:
    assert run_locally(numbers(env, range(6)).process(Split())).collected == [0, 2, 4]


def test_several_heads_in_one_stage() -> None:
    """Two chains that begin at the same exchange depth share a task and keep apart."""

    def build(env: StreamExecutionEnvironment) -> Any:
        source = numbers(env, range(10))
        left = source.rebalance().map(lambda v: ("left", v)).set_parallelism(2)
        right = source.key_by(lambda v: v % 3).map(lambda v: ("right", v)).set_parallelism(3)
        return left.union(right).map(lambda v: v).set_parallelism(1)

    engine = Engine(job_of(build))
    assert engine.job.partitions == (1, 3, 1)
    hosted = [{info.name for info, _ in engine.job.hosted(1, partition)} for partition in range(3)]
    assert [len(names) for names in hosted] == [1, 1, 1]  # both are called Map
    assert [len(engine.job.hosted(1, partition)) for partition in range(3)] == [2, 2, 1]


@pytest.mark.parametrize("middle", [1, 2])
@pytest.mark.parametrize("last", [1, 3])
def test_packets_pass_through_stages_that_they_are_not_for(middle: int, last: int) -> None:
    """Also where the stage between has fewer tasks than the one they are for."""

    def build(env: StreamExecutionEnvironment) -> Any:
        source = numbers(env, range(30), parallelism=2)
        long_way = source.rebalance().map(lambda v: ("long", v)).set_parallelism(middle)
        short_way = source.map(lambda v: ("short", v)).set_parallelism(2)
        return short_way.rebalance().union(long_way.rebalance()).map(lambda v: v).set_parallelism(last)

    engine = Engine(job_of(build, 4))
    # the collecting sink has the environment's parallelism, 1
    assert engine.job.partitions[:3] == (2, middle, last)
    found: Counter[Any] = Counter()
    while not engine.coordinator.finished:
        order = engine.coordinator.plan()
        acks, _ = engine.tasks(order)
        assert [ack.failure for ack in acks if ack.failure] == []
        result = engine.coordinator.complete(order, acks)
        found.update(value for part in result.collected for value in pickle.loads(part))
    assert found == Counter([(way, v) for way in ("long", "short") for v in range(30)])


def test_slot_sharing_groups_never_share_a_task() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        source = numbers(env, range(10))
        heavy = source.map(lambda v: v * 10).name("heavy").slot_sharing_group("heavy")
        light = source.map(lambda v: v + 1).rebalance().map(lambda v: v).set_parallelism(2)
        return heavy.union(light).map(lambda v: v).slot_sharing_group("default")

    engine = Engine(job_of(build))
    for stage, partitions in enumerate(engine.job.partitions):
        for partition in range(partitions):
            names = {info.name for info, _ in engine.job.hosted(stage, partition)}
            assert "heavy" not in names or names == {"heavy"}
    result = engine.epoch()
    found = sorted(value for part in result.collected for value in pickle.loads(part))
    assert found == sorted([v * 10 for v in range(10)] + [v + 1 for v in range(10)])


def test_a_broken_chain_forwards_inside_the_task() -> None:
    """disable_chaining splits the chain, not the task."""

    def build(env: StreamExecutionEnvironment) -> Any:
        return numbers(env, range(3)).map(lambda v: v + 1).disable_chaining().map(lambda v: v * 2)

    engine = Engine(job_of(build))
    assert engine.job.partitions == (1,)
    assert len({info.chain for info in engine.job.operators}) > 1
    _, packets = engine.tasks(engine.coordinator.plan())
    assert [packet.edge for packet in packets] == [ACK]


def test_counts_of_elements(env: StreamExecutionEnvironment) -> None:
    run = run_locally(numbers(env, range(6)).process(Split()).key_by(lambda v: 0).sum(), epoch_records=4)
    counts: Counter[tuple[int, str]] = Counter()
    for epoch in run.epochs:
        for report in epoch.reports:
            counts[report.operator, "in"] += report.records_in
            counts[report.operator, "out"] += report.records_out
    operators = sorted({operator for operator, _ in counts})
    assert [(counts[o, "in"], counts[o, "out"]) for o in operators] == [(0, 6), (6, 6), (3, 3), (3, 0)]


def test_the_watermark_of_the_epoch_before_is_seen_in_the_next(env: StreamExecutionEnvironment) -> None:
    for workers in (1, 3):
        stream = numbers(env, range(5)).rebalance().process(Watermarks()).set_parallelism(1)
        run = run_locally(stream, epoch_records=1, workers=workers, seed=workers)
        assert run.collected == [(v, v - 2 if v else -(2**63)) for v in range(5)]


def test_mutable_elements_do_not_leak_through_the_exchange(env: StreamExecutionEnvironment) -> None:
    def spoil(value: list[int]) -> list[int]:
        value.append(99)
        return value

    source = env.from_collection([[1], [2]])
    both = source.rebalance().map(spoil).set_parallelism(1).union(source.rebalance().map(list).set_parallelism(1))
    assert sorted(run_locally(both).collected) == [[1], [1, 99], [2], [2, 99]]


class Logged(ProcessFunction):
    """Can only be closed once it was opened."""

    log: ClassVar[list[str]] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.log.append("open")

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value


def test_what_was_never_opened_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of a task that has had its last element is not opened; a lookup join had nothing to close then."""
    monkeypatch.setattr(ProcessOperator, "close", lambda self: self.function.log.append("close"))
    job = job_of(lambda env: numbers(env, range(3)).process(Logged()))
    Logged.log.clear()
    StageTask(job, 0, 0, lambda: 0).close()
    assert Logged.log == []
    task = StageTask(job, 0, 0, lambda: 0)
    task.open()
    task.close()
    assert Logged.log == ["open", "close"]
