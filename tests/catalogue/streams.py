"""Programs of streams that the documents print and that stand nowhere else in the repository: what each gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from millrace.common import Row, Time, Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.functions import FilterFunction, MapFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import SlidingEventTimeWindows
from millrace.graph.program import WITH_KEYS
from millrace.testing import run_locally

Program = Callable[[StreamExecutionEnvironment], Any]
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)


def doubled_sums() -> list[Any]:
    """Book P2 and P3."""
    doubled = environment().from_collection(list(range(1, 11)), Types.LONG()).map(lambda v: (v * 2,))
    return [value for (value,) in run_locally(doubled.key_by(lambda v: 1).sum(0)).collected]


def word_stream() -> tuple[list[Any], list[int]]:
    """Book P4: counts, and how many nodes the plan has, without those that only PyFlink has."""
    env = environment()
    words = env.from_collection(["a", "b", "a"], Types.STRING())
    counted = words.map(lambda word: (word, 1), PAIR).key_by(lambda pair: pair[0]).sum(1)
    counted.print()
    nodes = [node for node in json.loads(env.get_execution_plan())["nodes"] if node["type"] != WITH_KEYS]
    return run_locally(env).printed, [len(nodes)]


class Counted(MapFunction):
    """A number that belongs to a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def map(self, value: Any) -> Any:
        self.seen.update((self.seen.value() or 0) + 1)
        return value, self.seen.value()


def keyed_state() -> list[Any]:
    """Book P5."""
    words = environment().from_collection(["a", "b", "a"], Types.STRING())
    return run_locally(words.key_by(lambda word: word).map(Counted())).collected


class Rising(FilterFunction):
    """Lets a value pass that is greater than the one before."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.before = runtime_context.get_state(ValueStateDescriptor("before", Types.LONG()))

    def filter(self, value: Any) -> bool:
        before = self.before.value()
        self.before.update(value[1])
        return before is None or value[1] > before


def rising_values() -> list[Any]:
    """Book P6."""
    values = [("k", 1), ("k", 3), ("k", 2), ("k", 5), ("k", 5)]
    return run_locally(environment().from_collection(values, PAIR).key_by(lambda v: v[0]).filter(Rising())).collected


def above_twenty() -> list[Any]:
    """Notes P6: a FilterFunction and a lambda do the same."""

    class Above(FilterFunction):
        def filter(self, value: Any) -> bool:
            return bool(value[3] > 20)

    rows = [("a", 1, 1, 20), ("b", 1, 1, 21), ("c", 1, 1, 30)]
    stream = environment().from_collection(rows)
    both = [run_locally(stream.filter(each)).collected for each in (Above(), lambda value: value[3] > 20)]
    assert both[0] == both[1]
    return both[0]


def parallelism() -> list[int]:
    """Notes P8: the operator's before the environment's."""
    env = environment()
    env.set_parallelism(3)
    env.from_sequence(1, 3).map(lambda v: v).set_parallelism(5).filter(lambda v: True).print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    return [node["parallelism"] for node in nodes]


def buffer_timeout() -> list[Any]:
    """Notes P15."""
    return run_locally(environment().from_sequence(1, 10).map(lambda v: v + 1).set_buffer_timeout(10)).collected


class PlusOne(MapFunction):
    """One more."""

    def map(self, value: int) -> int:
        return value + 1


def python_stream() -> list[str]:
    """Notes P16."""
    env = environment()
    stream = env.from_collection([1, 2, 3, 4, 5], type_info=Types.INT())
    stream.map(PlusOne(), output_type=Types.INT()).print()
    return run_locally(env).printed


def runtime_mode() -> list[Any]:
    """Notes P18: the last counts only, in batch mode."""
    env = environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    words = env.from_collection([("a", 1), ("b", 1), ("a", 1)], PAIR)
    return sorted(run_locally(words.key_by(lambda pair: pair[0]).sum(1)).collected)


class Second(TimestampAssigner):
    """The second field, in ms."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def sliding_word_count() -> list[Any]:
    """Interview P1, with words that bring their time instead of a socket."""
    words = environment().from_collection([("x y", 500), ("x", 1500)], PAIR)
    stamped = words.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    )
    single = stamped.flat_map(lambda line: [Row(word, 1) for word in line[0].split()])
    windows = single.key_by(lambda row: row[0]).window(SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1)))
    counted = windows.reduce(lambda a, b: Row(a[0], a[1] + b[1]))
    return sorted(tuple(row) for row in run_locally(counted).collected)


def partitions() -> dict[str, list[Any]]:
    """Interview P2: every element arrives once, or once in each subtask."""
    found = {}
    for name in ("shuffle", "rebalance", "rescale", "broadcast", "global_"):
        env = environment()
        stream = env.from_sequence(1, 4)
        moved = getattr(stream, name, None) or getattr(stream, name.rstrip("_"))
        found[name.rstrip("_")] = sorted(run_locally(moved().map(lambda v: v).set_parallelism(2)).collected)
    return found


EXPECTED: dict[Callable[[], Any], Any] = {
    doubled_sums: [2, 6, 12, 20, 30, 42, 56, 72, 90, 110],
    word_stream: (["(a,1)", "(b,1)", "(a,2)"], [4]),
    keyed_state: [("a", 1), ("b", 1), ("a", 2)],
    rising_values: [("k", 1), ("k", 3), ("k", 5)],
    above_twenty: [("b", 1, 1, 21), ("c", 1, 1, 30)],
    parallelism: [3, 5, 3, 3],
    buffer_timeout: list(range(2, 12)),
    python_stream: ["2", "3", "4", "5", "6"],
    runtime_mode: [("a", 2), ("b", 1)],
    sliding_word_count: [("x", 1), ("x", 1), ("x", 2), ("y", 1), ("y", 1)],
    partitions: {
        **{name: [1, 2, 3, 4] for name in ("shuffle", "rebalance", "rescale", "global")},
        "broadcast": [1, 1, 2, 2, 3, 3, 4, 4],
    },
}
