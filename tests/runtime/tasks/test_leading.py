"""Rules before data: in flow a bounded broadcast side goes first."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from tests.programs import ListSource
from tests.runtime.jobs import numbers

from millrace.common.source import Boundedness
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import BroadcastProcessFunction
from millrace.datastream.state import MapStateDescriptor
from millrace.runtime.bases.epoch_protocol import parts_of
from millrace.runtime.tasks import flow_inbox
from millrace.runtime.tasks.flow_inbox import Inbox
from millrace.testing.flow import FlowEngine
from millrace.testing.local import job_of

RULES = MapStateDescriptor("rules", Types.INT(), Types.INT())
DATA, COUNT = range(100, 140), 5


class Counted(BroadcastProcessFunction[Any, Any, Any]):
    """Each element with the number of rules that were there before it."""

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield value, len(list(ctx.get_broadcast_state(RULES)))

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value, value)
        yield from ()


class EndlessList(ListSource):
    """Says that it never ends."""

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED


def ruled(data: DataStream, rules: DataStream) -> DataStream:
    return data.connect(rules.broadcast(RULES)).process(Counted())


def from_another_task(env: StreamExecutionEnvironment) -> DataStream:
    return ruled(numbers(env, DATA).rebalance(), numbers(env, range(COUNT)).set_parallelism(1))


def from_the_same_task(env: StreamExecutionEnvironment) -> DataStream:
    return ruled(numbers(env, DATA, parallelism=2), numbers(env, range(COUNT)).set_parallelism(1))


def rules_that_pass_tasks(env: StreamExecutionEnvironment) -> DataStream:
    rules = numbers(env, range(COUNT)).rebalance().map(lambda value: value).rebalance().map(lambda value: value)
    return ruled(numbers(env, DATA).rebalance(), rules)


def results(stream: DataStream, seed: int, end: float = 0.0) -> list[Any]:
    engine = FlowEngine(job_of(stream), lambda: 0, Random(seed), most=1, end=end, aligned=False)
    return [value for epoch in engine.epochs() for part in parts_of(epoch.collected) for value in pickle.loads(part)]


@pytest.mark.parametrize("program", [from_another_task, from_the_same_task, rules_that_pass_tasks])
@pytest.mark.parametrize("seed", range(8))
def test_all_rules_are_there_before_any_data(program: Any, seed: int) -> None:
    env = StreamExecutionEnvironment().set_parallelism(2)
    assert sorted(results(program(env), seed)) == [(value, COUNT) for value in DATA]


def from_one_source(env: StreamExecutionEnvironment) -> DataStream:
    """The full channel of one side would stop the other one, which leads."""
    both = numbers(env, DATA)
    return ruled(both.rebalance(), both)


@pytest.mark.parametrize("program", [from_another_task, from_the_same_task, rules_that_pass_tasks, from_one_source])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_wherever_epochs_end(program: Any, seed: int) -> None:
    env = StreamExecutionEnvironment().set_parallelism(2)
    found = results(program(env), seed, end=0.2)
    assert sorted(value for value, _ in found) == list(DATA)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_put_aside_has_a_limit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_inbox, "MOST_SET_ASIDE_BYTES", 0)
    env = StreamExecutionEnvironment().set_parallelism(2)
    found = results(rules_that_pass_tasks(env), seed)
    assert sorted(value for value, _ in found) == list(DATA)
    assert any(count < COUNT for _, count in found)


def test_rules_that_never_end_do_not_lead() -> None:
    def lead(kind: type[ListSource]) -> flow_inbox.BroadcastLead:
        env = StreamExecutionEnvironment().set_parallelism(2)
        source = env.from_source(kind([(1, 1)]), WatermarkStrategy.no_watermarks(), "rules")
        job = job_of(ruled(numbers(env, DATA).rebalance(), source.map(lambda value: value)))
        target = job.edges[0].target
        inboxes = [Inbox((edge.index, 0)) for edge in job.edges if edge.target == target]
        return flow_inbox.broadcast_lead_of(job, target, inboxes)

    assert lead(ListSource).channels == {(0, 0)}
    assert not lead(EndlessList).channels
