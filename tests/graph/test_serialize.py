"""Jobs as bytes, and the search for what can't be pickled. Full texts: tests/test_error_messages.py."""

from __future__ import annotations

import functools
import pickle
import threading
import time
from typing import Any

import pytest

from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import (
    CoMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
)
from millrace.graph.program import GraphError
from millrace.graph.serialize import pickles, serialize

LOCK = threading.Lock()
SETTINGS = {"lock": LOCK}


@pytest.fixture
def numbers() -> DataStream:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2).from_collection([1, 2])


def held(stream: DataStream) -> str:
    """What the error blames."""
    env = stream.get_execution_environment()
    with pytest.raises(GraphError) as error:
        serialize(env.job_graph())
    env._program.clear()
    assert isinstance(error.value.__cause__, Exception)
    first = str(error.value).splitlines()[0]
    return first.rpartition("it holds ")[2]


def test_a_job_survives(numbers: DataStream) -> None:
    step = 5
    numbers.map(lambda x: x + step).name("plus").print()
    job = numbers.get_execution_environment().job_graph()
    copy = pickle.loads(serialize(job))
    assert (copy.job_id, copy.name, copy.partitions) == (job.job_id, job.name, job.partitions)
    assert [info.name for info in copy.operators] == [info.name for info in job.operators]
    assert copy.by_id[2].spec.function.map(1) == 6


class Holding(MapFunction):
    def __init__(self, value: Any) -> None:
        self.value = value

    def map(self, value: Any) -> Any:
        return value


class HoldingCoMap(CoMapFunction):
    lock_of_class = LOCK

    def __init__(self) -> None:
        self.inner = Holding([LOCK])

    def map1(self, value: Any) -> Any:
        return value

    map2 = map1


class HoldingKey(KeySelector):
    def __init__(self) -> None:
        self.lock = LOCK

    def get_key(self, value: Any) -> Any:
        return value


class HoldingReduce(ReduceFunction):
    def __init__(self) -> None:
        self.lock = LOCK

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


class HoldingTime(TimestampAssigner):
    def __init__(self) -> None:
        self.lock = LOCK

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 0


class HoldingProcess(KeyedProcessFunction):
    def __init__(self) -> None:
        self.again = self
        self.lock = LOCK

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def test_attributes(numbers: DataStream) -> None:
    assert held(numbers.map(Holding({"a": (1, [LOCK])}))) == "the attribute Holding.value['a'][1][0] (of type lock)"
    assert held(numbers.map(Holding(Holding(LOCK)))) == "the attribute Holding.value.value (of type lock)"


def test_functions_of_all_operators(numbers: DataStream) -> None:
    keyed = numbers.key_by(lambda x: x)
    assert held(keyed.process(HoldingProcess())) == "the attribute HoldingProcess.lock (of type lock)"
    assert held(numbers.key_by(HoldingKey()).sum()) == "the attribute HoldingKey.lock (of type lock)"


@pytest.mark.parametrize("keyed", [False, True])
def test_functions_of_connected_streams(numbers: DataStream, keyed: bool) -> None:
    both = numbers.connect(numbers)
    both = both.key_by(abs, abs) if keyed else both
    assert held(both.map(HoldingCoMap())) == "the attribute HoldingCoMap.inner.value[0] (of type lock)"


def test_reduce_functions(numbers: DataStream) -> None:
    assert held(numbers.key_by(abs).reduce(HoldingReduce())) == "the attribute HoldingReduce.lock (of type lock)"


def test_timestamp_assigners(numbers: DataStream) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(HoldingTime())
    assert held(numbers.assign_timestamps_and_watermarks(strategy)).endswith(".lock (of type lock)")


def test_globals_and_what_is_in_them(numbers: DataStream) -> None:
    assert held(numbers.map(lambda x: SETTINGS[x])) == "the global SETTINGS['lock'] (of type lock)"


def test_functions_inside_functions(numbers: DataStream) -> None:
    inner_lock = threading.Lock()

    def inner(value: Any) -> Any:
        return inner_lock

    def outer(value: Any) -> Any:
        return inner(value)

    assert held(numbers.map(outer)) == "the variable inner_lock of inner (of type lock)"
    handlers = {"x": inner}
    assert held(numbers.map(lambda x: handlers[x])) == "the variable inner_lock of handlers['x'] (of type lock)"


def test_recursive_functions(numbers: DataStream) -> None:
    def again(value: Any) -> Any:
        return again(value) if value else LOCK

    began = time.thread_time()
    assert "the global LOCK" in held(numbers.map(again))
    assert time.thread_time() - began < 5


def test_partials_and_defaults(numbers: DataStream) -> None:
    def ask(lock: Any, value: Any) -> Any:
        return value

    assert held(numbers.map(functools.partial(ask, LOCK))) == "the argument 0 (of type lock)"
    assert held(numbers.map(functools.partial(ask, lock=LOCK))) == "the argument lock (of type lock)"
    assert held(numbers.map(lambda x, lock=LOCK: x)) == "the default 0 (of type lock)"


def test_bound_methods(numbers: DataStream) -> None:
    assert held(numbers.map(Holding(LOCK).map)) == "the attribute Holding.value (of type lock)"


def test_at_most_three_are_named(numbers: DataStream) -> None:
    assert held(numbers.map(Holding([threading.Lock() for _ in range(9)]))).count("of type") == 3


def test_each_is_named_once(numbers: DataStream) -> None:
    assert held(numbers.map(Holding([LOCK, {"again": LOCK}]))) == "the attribute Holding.value[0] (of type lock)"


def test_what_can_not_be_named_still_has_its_operator(numbers: DataStream) -> None:
    class Odd(MapFunction):
        def map(self, value: Any) -> Any:
            return value

        def __reduce__(self) -> Any:
            raise ValueError("not today")

    numbers.map(Odd()).name("odd").print()
    with pytest.raises(GraphError, match=r"^operator 'odd' at .*: its Odd can't be sent to the workers\n  cause: "):
        serialize(numbers.get_execution_environment().job_graph())


def test_pickles() -> None:
    assert pickles([1, lambda: 2])
    assert not pickles([LOCK])
