"""The handles: what they have of PyFlink's, what they add to the program, and what the programs do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millrace.common.sink import Sink
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import DataStream, OutputTag, SlotSharingGroup, StreamExecutionEnvironment
from millrace.datastream.data_stream import KeyedStream
from millrace.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    SinkFunction,
)
from millrace.datastream.handles import CloseableIterator, DataStreamSink
from millrace.datastream.state import ValueStateDescriptor
from millrace.graph.program import Chaining, GraphError, Node
from millrace.runtime.exchange import partitioners
from millrace.runtime.operators import specs
from millrace.testing import run_locally


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([3, 1, 2], Types.INT())


def node(handle: DataStream | DataStreamSink) -> Node:
    return handle._node("test")


def collected(stream: DataStream) -> list[Any]:
    return run_locally(stream).collected


# -- the operator behind a handle ---------------------------------------------------------------------------------


def test_settings_of_an_operator(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    mapped = numbers.map(abs)
    same = (
        mapped.name("my map")
        .uid("mine")
        .set_uid_hash("ABCDEF0123456789abcdef0123456789")
        .set_parallelism(3)
        .set_max_parallelism(7)
        .set_description("longer")
        .set_buffer_timeout(-1)
        .start_new_chain()
        .slot_sharing_group("group")
    )
    assert same is mapped
    changed = node(mapped)
    assert (changed.name, changed.uid, changed.uid_hash) == ("my map", "mine", "abcdef0123456789abcdef0123456789")
    assert (changed.parallelism, changed.max_parallelism) == (3, 7)
    assert (changed.description, changed.buffer_timeout) == ("longer", -1)
    assert (changed.chaining, changed.slot_sharing_group) == (Chaining.HEAD, "group")
    assert node(mapped.disable_chaining()).chaining is Chaining.NEVER
    assert mapped.get_name() == "my map"
    assert mapped.get_execution_environment() is env
    assert mapped.get_execution_config() is env.get_config()
    assert node(numbers).name == "Source: Collection Source"


def test_settings_of_a_sink(numbers: DataStream) -> None:
    sink = numbers.print()
    same = (
        sink.name("out")
        .uid("mine")
        .set_uid_hash("0" * 32)
        .set_parallelism(1)
        .set_description("longer")
        .disable_chaining()
        .slot_sharing_group(SlotSharingGroup.builder("group").build())
    )
    assert same is sink
    changed = node(sink)
    assert (changed.name, changed.uid, changed.uid_hash, changed.parallelism) == ("Sink: out", "mine", "0" * 32, 1)
    assert (changed.description, changed.chaining, changed.slot_sharing_group) == ("longer", Chaining.NEVER, "group")
    assert sink.get_name() == "out"


def test_names_of_sources_and_sinks_have_flinks_prefix_once(numbers: DataStream) -> None:
    assert numbers.get_name() == "Collection Source"
    assert node(numbers.name("numbers")).name == "Source: numbers"
    assert node(numbers.name("Source: numbers")).name == "Source: numbers"
    assert numbers.get_name() == "numbers"
    assert node(numbers.map(abs).name("Source: x")).name == "Source: x"


def test_force_non_parallel(numbers: DataStream) -> None:
    mapped = numbers.map(abs).force_non_parallel()
    assert node(mapped).parallelism == 1
    mapped.set_parallelism(1)
    with pytest.raises(GraphError, match="its parallelism can't be 2"):
        mapped.set_parallelism(2)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.set_parallelism(0),
        lambda s: s.set_max_parallelism(0),
        lambda s: s.set_max_parallelism(32769),
        lambda s: s.set_buffer_timeout(-2),
        lambda s: s.set_uid_hash("abc"),
        lambda s: s.set_uid_hash("x" * 32),
    ],
)
def test_impossible_settings(numbers: DataStream, call: Callable[[DataStream], Any]) -> None:
    with pytest.raises(ValueError):
        call(numbers.map(abs))


KINDS: dict[str, Callable[[DataStream], DataStream]] = {
    "a union": lambda s: s.union(s.map(abs, Types.INT())),
    "a partitioned stream": lambda s: s.rebalance(),
    "a side output": lambda s: s.get_side_output(OutputTag("late", Types.INT())),
    "a keyed stream": lambda s: s.key_by(abs),
}
SETTINGS: list[tuple[str, tuple[Any, ...]]] = [
    ("name", ("x",)),
    ("get_name", ()),
    ("uid", ("x",)),
    ("set_uid_hash", ("0" * 32,)),
    ("set_parallelism", (2,)),
    ("set_max_parallelism", (2,)),
    ("force_non_parallel", ()),
    ("set_description", ("x",)),
    ("set_buffer_timeout", (1,)),
    ("start_new_chain", ()),
    ("disable_chaining", ()),
    ("slot_sharing_group", ("x",)),
    ("get_side_output", (OutputTag("late"),)),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "arguments"), SETTINGS, ids=[method for method, _ in SETTINGS])
def test_what_is_no_operator_has_no_settings(
    numbers: DataStream, kind: str, method: str, arguments: tuple[Any, ...]
) -> None:
    stream = KINDS[kind](numbers.process(Pass()) if kind == "a side output" else numbers)
    with pytest.raises(GraphError) as error:
        getattr(stream, method)(*arguments)
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    assert str(error.value) == (
        f"{method}() at {__file__}:{line}: {kind} is no operator of its own; "
        f"call {method}() on the operator before or behind it"
    )


def test_types(numbers: DataStream) -> None:
    assert numbers.get_type() == Types.INT()
    assert numbers.map(str).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert numbers.map(str, Types.STRING()).get_type() == Types.STRING()
    for same in (
        numbers.filter(bool),
        numbers.rebalance(),
        numbers.key_by(abs),
        numbers.key_by(abs).sum(0),
        numbers.union(numbers),
        numbers.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks()),
    ):
        assert same.get_type() == Types.INT()
    late = OutputTag("late", Types.STRING())
    assert numbers.process(Pass()).get_side_output(late).get_type() == Types.STRING()


# -- transformations ----------------------------------------------------------------------------------------------


class Pass(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Tagging(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value
        yield OutputTag("text", Types.STRING()), str(value)
        yield OutputTag("unread"), value


class Plus(MapFunction, FlatMapFunction, FilterFunction):
    def map(self, value: Any) -> Any:
        return value + 1

    def flat_map(self, value: Any) -> Any:
        yield value
        yield -value

    def filter(self, value: Any) -> bool:
        return bool(value > 1)


def twice(value: Any) -> Iterator[Any]:
    yield value
    yield value


def test_map_flat_map_and_filter(numbers: DataStream) -> None:
    for stream in (numbers, numbers.key_by(lambda x: 0)):
        assert sorted(collected(stream.map(Plus()))) == [2, 3, 4]
        assert sorted(collected(stream.map(lambda x: x * 10))) == [10, 20, 30]
        assert sorted(collected(stream.flat_map(Plus()))) == [-3, -2, -1, 1, 2, 3]
        assert sorted(collected(stream.flat_map(twice))) == [1, 1, 2, 2, 3, 3]
        assert collected(stream.flat_map(lambda x: None)) == []
        assert sorted(collected(stream.filter(Plus()))) == [2, 3]
        assert sorted(collected(stream.filter(lambda x: x % 2))) == [1, 3]


def test_results_are_converted_to_the_declared_type(numbers: DataStream) -> None:
    assert sorted(collected(numbers.map(lambda x: x, Types.DOUBLE()))) == [1.0, 2.0, 3.0]
    row = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert sorted(collected(numbers.map(lambda x: (x, str(x)), row)), key=str) == [
        Row(a=1, b="1"),
        Row(a=2, b="2"),
        Row(a=3, b="3"),
    ]


def test_elements_of_a_collection_are_converted_too(env: StreamExecutionEnvironment) -> None:
    row = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()])
    words = env.from_collection([("a", 1), ["b", 2], Row("c", 3)], row)
    rows = words.filter(lambda value: isinstance(value, Row) and value.word == value["word"])
    assert sorted(collected(rows), key=str) == [
        Row(word="a", count=1),
        Row(word="b", count=2),
        Row(word="c", count=3),
    ]
    pairs = env.from_collection([[1, 2.5]], Types.TUPLE([Types.LONG(), Types.DOUBLE()]))
    assert collected(pairs) == [(1, 2.5)]
    assert collected(env.from_collection([(1, 2)])) == [(1, 2)]


def test_side_outputs(numbers: DataStream) -> None:
    tagged = numbers.process(Tagging())
    tag = OutputTag("text", Types.STRING())
    assert sorted(collected(tagged.get_side_output(tag))) == ["1", "2", "3"]
    assert sorted(collected(tagged)) == [1, 2, 3]
    both = tagged.map(str).union(tagged.get_side_output(tag).map(str))
    assert sorted(collected(both)) == ["1", "1", "2", "2", "3", "3"]


def test_one_side_output_has_one_type(numbers: DataStream) -> None:
    tagged = numbers.process(Tagging())
    tagged.get_side_output(OutputTag("text", Types.STRING()))
    tagged.get_side_output(OutputTag("text", Types.STRING()))
    with pytest.raises(GraphError, match="has a side output 'text' of another type already: String, not Integer"):
        tagged.get_side_output(OutputTag("text", Types.INT()))


def test_project(env: StreamExecutionEnvironment) -> None:
    kinds = [Types.INT(), Types.STRING(), Types.DOUBLE()]
    triples = env.from_collection([(1, "a", 0.5), (2, "b", 1.5)], Types.TUPLE(kinds))
    projected = triples.project(2, 0)
    assert projected.get_name() == "Projection"
    assert projected.get_type() == Types.TUPLE([Types.DOUBLE(), Types.INT()])
    assert sorted(collected(projected)) == [(0.5, 1), (1.5, 2)]
    assert sorted(collected(triples.project(1))) == [("a",), ("b",)]
    assert sorted(collected(triples.key_by(0).project(1))) == [("a",), ("b",)]
    rows = env.from_collection([(1, "a", 0.5)], Types.ROW(kinds))
    assert collected(rows.project(0, 1)) == [(1, "a")]


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value * 1000)


class Times(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp()


def test_timestamps(numbers: DataStream) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())
    timed = numbers.assign_timestamps_and_watermarks(strategy)
    assert timed.get_name() == "Timestamps/Watermarks"
    assert sorted(collected(timed.process(Times()))) == [(1, 1000), (2, 2000), (3, 3000)]


# -- keys ---------------------------------------------------------------------------------------------------------


class Parity(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value[0] % 2


class Keys(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ctx.get_current_key()


@pytest.mark.parametrize(
    ("selector", "keys"),
    [
        (lambda pair: pair[1], ["a", "b", "b"]),
        (Parity(), [0, 1, 1]),
        (0, [1, 2, 3]),
        (1, ["a", "b", "b"]),
        (-1, ["a", "b", "b"]),
    ],
)
def test_key_by_function_selector_and_position(env: StreamExecutionEnvironment, selector: Any, keys: list[Any]) -> None:
    pairs = env.from_collection([(1, "a"), (2, "b"), (3, "b")])
    assert sorted(collected(pairs.key_by(selector).process(Keys()))) == keys


def test_key_by_the_name_of_a_field(env: StreamExecutionEnvironment) -> None:
    row = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()])
    words = env.from_collection([("a", 1), ("b", 2)], row)
    assert sorted(collected(words.key_by("word").process(Keys()))) == ["a", "b"]
    assert collected(env.from_collection([{"id": 7}]).key_by("id").process(Keys())) == [7]


def test_a_key_selector_may_not_be_a_truth_value(numbers: DataStream) -> None:
    with pytest.raises(TypeError, match="KeySelector or a callable"):
        numbers.key_by(True)


def test_key_by_again_begins_from_the_stream_before(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([(1, "a"), (2, "b")])
    keyed = pairs.key_by(0).key_by(1)
    assert keyed._origin_stream is pairs
    assert sorted(collected(keyed.process(Keys()))) == ["a", "b"]


class Counting(MapFunction, FlatMapFunction, FilterFunction):
    """Uses keyed state: only the first of each key, or how many there were."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def count(self) -> int:
        count: int = (self.state.value() or 0) + 1
        self.state.update(count)
        return count

    def map(self, value: Any) -> Any:
        return value, self.count()

    def flat_map(self, value: Any) -> Any:
        yield from [value] * self.count()

    def filter(self, value: Any) -> bool:
        return self.count() == 1


def test_rich_functions_on_keyed_streams_have_keyed_state(env: StreamExecutionEnvironment) -> None:
    words = env.from_collection(["a", "b", "a"]).key_by(lambda word: word)
    assert sorted(collected(words.map(Counting()))) == [("a", 1), ("a", 2), ("b", 1)]
    assert sorted(collected(words.flat_map(Counting()))) == ["a", "a", "a", "b"]
    assert sorted(collected(words.filter(Counting()))) == ["a", "b"]


def test_reduce_emits_running_results(env: StreamExecutionEnvironment) -> None:
    words = env.from_collection([("a", 1), ("b", 5), ("a", 2)]).key_by(0)
    reduced = collected(words.reduce(lambda one, two: (one[0], one[1] + two[1])))
    assert sorted(reduced) == [("a", 1), ("a", 3), ("b", 5)]


# -- unions, connections, partitions ------------------------------------------------------------------------------


def test_union(numbers: DataStream) -> None:
    assert sorted(collected(numbers.union(numbers.map(lambda x: x + 10, Types.INT()), numbers))) == [
        1, 1, 2, 2, 3, 3, 11, 12, 13,
    ]  # fmt: skip
    assert numbers.union().get_type() == Types.INT()
    assert sorted(collected(numbers.union())) == [1, 2, 3]


def test_a_union_of_keyed_streams_is_not_keyed(numbers: DataStream) -> None:
    keyed = numbers.key_by(abs)
    for union in (keyed.union(numbers), numbers.union(keyed), keyed.union(keyed)):
        assert not isinstance(union, KeyedStream)
        assert [port.partitioner for port in union._ports] == [None, None]
        assert sorted(collected(union.map(abs))) == [1, 1, 2, 2, 3, 3]
    assert sorted(collected(keyed.union(numbers).key_by(abs).sum())) == [1, 2, 2, 3, 4, 6]


class CoText(CoMapFunction, CoFlatMapFunction):
    def map1(self, value: Any) -> Any:
        return f"1:{value}" if value > 1 else None

    def map2(self, value: Any) -> Any:
        return f"2:{value}"

    def flat_map1(self, value: Any) -> Any:
        return [value] * value

    def flat_map2(self, value: Any) -> Any:
        return None


class CoCount(CoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1)
        yield from ()

    process_element2 = process_element1


class KeyedCoCount(CoCount, KeyedCoProcessFunction):
    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value()


def test_connected_streams(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    letters = env.from_collection(["x", "y"])
    both = numbers.connect(letters)
    assert sorted(collected(both.map(CoText()))) == ["1:2", "1:3", "2:x", "2:y"]
    assert sorted(collected(both.flat_map(CoText()))) == [1, 2, 2, 3, 3, 3]
    keyed = both.key_by(abs, len)
    assert sorted(collected(keyed.map(CoText()))) == ["1:2", "1:3", "2:x", "2:y"]
    assert sorted(collected(keyed.flat_map(CoText()))) == [1, 2, 2, 3, 3, 3]
    assert sorted(collected(keyed.process(KeyedCoCount()))) == [(1, 3), (2, 1), (3, 1)]
    by_hand = numbers.key_by(abs).connect(letters.key_by(len))
    assert sorted(collected(by_hand.process(KeyedCoCount()))) == [(1, 3), (2, 1), (3, 1)]


def test_a_co_process_function_on_keyed_streams_has_keyed_state_and_timers(numbers: DataStream) -> None:
    keyed = numbers.connect(numbers).key_by(abs, abs)
    assert collected(keyed.process(CoCount())) == []
    assert sorted(collected(keyed.process(WithTimer()))) == [(1, 2), (2, 2), (3, 2)]


class WithTimer(CoCount):
    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value()


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("forward", partitioners.Forward),
        ("rebalance", partitioners.Rebalance),
        ("rescale", partitioners.Rescale),
        ("shuffle", partitioners.Shuffle),
        ("broadcast", partitioners.Broadcast),
        ("global_", partitioners.Global),
    ],
)
def test_partitioners(numbers: DataStream, method: str, kind: type) -> None:
    mapped = numbers.map(abs, Types.INT())
    read = getattr(mapped, method)().map(lambda x: x)
    assert isinstance(node(read).edges[0].partitioner, kind)
    times = 2 if method == "broadcast" else 1
    assert sorted(collected(read)) == sorted([1, 2, 3] * times)


class ByFirst(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return int(key) % num_partitions


class Subtask(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return value, self.subtask


@pytest.mark.parametrize("partitioner", [ByFirst(), lambda key, count: key % count])
def test_partition_custom(numbers: DataStream, partitioner: Any) -> None:
    placed = numbers.partition_custom(partitioner, lambda x: x + 1).map(Subtask())
    assert sorted(collected(placed)) == [(1, 0), (2, 1), (3, 0)]


def test_a_partitioned_stream_leaves_the_stream_alone(numbers: DataStream) -> None:
    numbers.rebalance()
    assert node(numbers.map(abs)).edges[0].partitioner is None


# -- ends ---------------------------------------------------------------------------------------------------------


class Writing(SinkFunction[Any]):
    def invoke(self, value: Any, context: Any) -> None:
        pass


class Nothing(Sink[Any]):
    def create_writer(self, context: Any) -> Any:
        raise AssertionError


def test_sinks(numbers: DataStream) -> None:
    assert node(numbers.sink_to(Nothing())).name == "Sink: Nothing"
    assert node(numbers.add_sink(Nothing())).name == "Sink: Nothing"
    assert node(numbers.add_sink(Writing())).name == "Sink: Writing"
    assert node(numbers.print()).name == "Sink: Print to Std. Out"
    assert isinstance(node(numbers.print()).spec, specs.Print)


def test_print(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.map(lambda x: (x, "t"), Types.TUPLE([Types.INT(), Types.STRING()])).set_parallelism(1).print("pairs")
    numbers.print().set_parallelism(1)
    numbers.print("alone").set_parallelism(1)
    printed = run_locally(env).printed
    assert sorted(printed) == [
        "1", "2", "3", "alone> 1", "alone> 2", "alone> 3", "pairs:1> (2,t)", "pairs:1> (3,t)", "pairs:2> (1,t)",
    ]  # fmt: skip


def test_a_limit_must_be_positive(numbers: DataStream) -> None:
    for limit in (0, -1):
        with pytest.raises(ValueError, match="greater than 0"):
            numbers.execute_and_collect(limit=limit)


def test_a_failed_execute_and_collect_leaves_no_trace(numbers: DataStream) -> None:
    broken = numbers.map(abs).set_max_parallelism(2).set_parallelism(3)
    for _ in range(2):
        with pytest.raises(GraphError):
            broken.execute_and_collect()
    env = numbers.get_execution_environment()
    assert [node.name for node in env._program._nodes.values()] == ["Source: Collection Source", "Map"]


def test_closeable_iterator() -> None:
    closed: list[bool] = []
    with CloseableIterator(iter([1, 2, 3]), lambda: closed.append(True)) as values:
        assert next(values) == 1
        assert values.next() == 2
        assert list(values) == [3]
        with pytest.raises(StopIteration):
            values.next()
        assert not closed
    assert closed == [True]
