"""Whole programs with state on disk give what they give with state in memory, whichever worker a task is in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.jobs import numbers

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream import (
    DataStream,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StateBackend,
    StreamExecutionEnvironment,
)
from millrace.datastream.functions import ProcessJoinFunction
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.testing import run_locally

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


def mod(by: int) -> Callable[[int], int]:
    return lambda value: value % by


class Remember(KeyedProcessFunction):
    """A value, a list, a map and timers per key."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.INT()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.INT(), Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Any:
        before = self.last.value()
        self.last.update(value)
        self.all.add(value)
        self.counts.put(value % 3, (self.counts.get(value % 3) or 0) + 1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 7)
        yield ctx.get_current_key(), value, before

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", ctx.get_current_key(), timestamp, tuple(self.all.get()), tuple(self.counts.items())
        if len(list(self.all.get())) > 3:
            self.all.clear()
            self.counts.clear()


class Elements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, context.window().end, tuple(elements)


class Joined(ProcessJoinFunction):
    def process_element(self, left: int, right: int, ctx: Any) -> Any:
        yield left, right


class Rules(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.sum.update((self.sum.value() or 0) + value)
        yield value, sorted(ctx.get_broadcast_state(RULES).items()) != []

    def process_broadcast_element(self, value: int, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put("add", value)

        def add(key: int, state: Any) -> None:
            state.update(state.value() + 1)

        ctx.apply_to_keyed_state(ValueStateDescriptor("sum", Types.INT()), add)
        return ()


def remembering(source: DataStream) -> DataStream:
    return source.key_by(mod(4)).process(Remember())


def tumbling(source: DataStream) -> DataStream:
    return source.key_by(mod(3)).window(TumblingEventTimeWindows.of(Time.milliseconds(5))).process(Elements())


def sliding(source: DataStream) -> DataStream:
    windows = SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(2))
    return source.key_by(mod(3)).window(windows).reduce(lambda a, b: a + b)


def sessions(source: DataStream) -> DataStream:
    sparse = source.filter(lambda value: value % 7 < 3)
    return sparse.key_by(mod(2)).window(EventTimeSessionWindows.with_gap(Time.milliseconds(3))).process(Elements())


def reducing(source: DataStream) -> DataStream:
    return source.key_by(mod(5)).reduce(lambda a, b: a + b)


def joining(source: DataStream) -> DataStream:
    left, right = source.key_by(mod(3)), source.map(lambda value: value + 3).key_by(mod(3))
    return left.interval_join(right).between(Time.milliseconds(-4), Time.milliseconds(2)).process(Joined())


def with_rules(source: DataStream) -> DataStream:
    rules = source.filter(lambda value: value % 10 == 0).broadcast(RULES)
    return source.key_by(mod(4)).connect(rules).process(Rules()).map(lambda pair: pair[0])


@pytest.mark.parametrize(
    "program", [remembering, tumbling, sliding, sessions, reducing, joining, with_rules], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("seed", [1, 2])
def test_like_in_memory(program: Callable[[DataStream], DataStream], seed: int) -> None:
    def run(backend: StateBackend, **how: Any) -> list[Any]:
        env = StreamExecutionEnvironment().set_state_backend(backend)
        env.set_parallelism(2)
        found = run_locally(program(numbers(env, range(60), parallelism=1)), epoch_records=4, **how)
        return sorted(found.collected, key=repr)

    wanted = run(HashMapStateBackend())
    assert len(wanted) > 10
    assert run(EmbeddedRocksDBStateBackend(), workers=3, seed=seed) == wanted
