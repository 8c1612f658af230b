"""Streams by key."""

from __future__ import annotations

from typing import Any

from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, ReduceFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor
from tests.dropin.checks import elements


def _environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env


class Counting(ReduceFunction):
    """Adds, and counts in state how often it did so."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def reduce(self, value1: Any, value2: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value1[0], value1[1] + value2[1], count


def state_of_a_reduce_function_belongs_to_the_key() -> None:
    """State that a ReduceFunction opens is that of the key whose element is added."""
    kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])
    given = [("x", 1, 0), ("y", 1, 0), ("x", 1, 0), ("y", 1, 0), ("y", 1, 0)]
    stream = _environment().from_collection(given, kind).key_by(lambda each: each[0], Types.STRING()).reduce(Counting())
    assert sorted(elements(stream)) == [("x", 1, 0), ("x", 2, 1), ("y", 1, 0), ("y", 2, 1), ("y", 3, 2)]


def collecting_a_keyed_stream_gives_keys_too() -> None:
    """A keyed stream that is collected itself gives a row of the key and the element."""
    stream = _environment().from_collection([1, 2], Types.INT()).key_by(lambda each: each % 2, Types.INT())
    assert sorted(elements(stream), key=str) == [Row(f0=0, f1=2), Row(f0=1, f1=1)]


def a_keyed_stream_is_collected_in_the_order_of_its_elements() -> None:
    """Also where its environment has more subtasks than one."""
    env = _environment()
    env.set_parallelism(4)
    words = [f"w{number}" for number in range(12)]
    stream = env.from_collection(words, Types.STRING()).key_by(lambda each: each, Types.STRING())
    assert elements(stream) == [Row(f0=each, f1=each) for each in words]


class WithItsCount(KeyedProcessFunction):
    """The key, what kind of thing it is, and how many elements it had."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        key = ctx.get_current_key()
        yield isinstance(key, (list, dict)), str(key), self.count.value()


def keys_may_be_lists_and_dicts() -> None:
    """Also inside of tuples."""
    for key_of, expected in (
        (lambda each: [each % 2, "k"], [(True, "[0, 'k']", 1), (True, "[1, 'k']", 1), (True, "[1, 'k']", 2)]),
        (lambda each: {"k": each % 2}, [(True, "{'k': 0}", 1), (True, "{'k': 1}", 1), (True, "{'k': 1}", 2)]),
        (lambda each: (each % 2, [3]), [(False, "(0, [3])", 1), (False, "(1, [3])", 1), (False, "(1, [3])", 2)]),
    ):
        stream = _environment().from_collection([1, 2, 3], Types.INT()).key_by(key_of).process(WithItsCount())
        assert sorted(map(tuple, elements(stream))) == expected
