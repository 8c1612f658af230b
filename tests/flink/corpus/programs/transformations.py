"""Programs that take elements one by one, key them and fold them."""

from __future__ import annotations

from typing import Any

from pyflink.common import Row, Types
from pyflink.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.output_tag import OutputTag

WORDS = ["to be", "or not to be", "", "that is"]
PAIRS = [("a", 1), ("b", 10), ("a", 2), ("c", 100), ("b", 20), ("a", 3)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def map_numbers(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection([1, 2, 3]).map(lambda n: n * n)


def map_function(env: StreamExecutionEnvironment) -> Any:
    class Twice(MapFunction):
        def map(self, value: Any) -> Any:
            return value + value

    return env.from_collection(["a", "bc"]).map(Twice())


def map_typed(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection([1, 2, 3], Types.INT()).map(lambda n: n + 0.5, Types.DOUBLE())


def map_to_row(env: StreamExecutionEnvironment) -> Any:
    kind = Types.ROW_NAMED(["word", "size"], [Types.STRING(), Types.INT()])
    return env.from_collection(["a", "bcd"]).map(lambda word: Row(word, len(word)), kind)


def flat_map_words(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection(WORDS).flat_map(lambda line: line.split())


def flat_map_function(env: StreamExecutionEnvironment) -> Any:
    class Upto(FlatMapFunction):
        def flat_map(self, value: Any) -> Any:
            yield from range(value)

    return env.from_collection([3, 0, 2]).flat_map(Upto())


def filtered(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection(list(range(10))).filter(lambda n: n % 3 == 0)


def filter_function(env: StreamExecutionEnvironment) -> Any:
    class Long(FilterFunction):
        def filter(self, value: Any) -> bool:
            return len(value) > 2

    return env.from_collection(WORDS).filter(Long())


def word_count(env: StreamExecutionEnvironment) -> Any:
    words = env.from_collection(WORDS).flat_map(lambda line: [(word, 1) for word in line.split()])
    return words.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


def reduce_typed(env: StreamExecutionEnvironment) -> Any:
    stream = env.from_collection(PAIRS, PAIR)
    return stream.key_by(lambda pair: pair[0], Types.STRING()).reduce(lambda a, b: (a[0], a[1] * 10 + b[1]))


def reduce_function(env: StreamExecutionEnvironment) -> Any:
    class Larger(ReduceFunction):
        def reduce(self, one: Any, other: Any) -> Any:
            return one if one[1] >= other[1] else other

    return env.from_collection(PAIRS, PAIR).key_by(lambda pair: pair[0]).reduce(Larger())


def key_selector(env: StreamExecutionEnvironment) -> Any:
    class First(KeySelector):
        def get_key(self, value: Any) -> Any:
            return value[0]

    return env.from_collection(PAIRS, PAIR).key_by(First()).map(lambda pair: pair[1])


def keyed_sum(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection(PAIRS, PAIR).key_by(lambda pair: pair[0]).sum(1)


def keyed_sum_named(env: StreamExecutionEnvironment) -> Any:
    kind = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
    rows = [Row(k, v) for k, v in PAIRS]
    return env.from_collection(rows, kind).key_by(lambda row: row[0]).sum("v")


def keyed_min(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection([("a", 3), ("a", 1), ("a", 2)], PAIR).key_by(lambda pair: pair[0]).min(1)


def keyed_max(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection([("a", 1), ("a", 3), ("a", 2)], PAIR).key_by(lambda pair: pair[0]).max(1)


TRIPLES = [("a", 3, "x"), ("a", 1, "y"), ("a", 2, "z"), ("a", 1, "w")]
TRIPLE = Types.TUPLE([Types.STRING(), Types.INT(), Types.STRING()])


def keyed_min_by(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection(TRIPLES, TRIPLE).key_by(lambda triple: triple[0]).min_by(1)


def keyed_max_by(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection(TRIPLES, TRIPLE).key_by(lambda triple: triple[0]).max_by(1)


def union(env: StreamExecutionEnvironment) -> Any:
    one, other = env.from_collection([1, 2]), env.from_collection([3, 4])
    return one.union(other, one).map(lambda n: n + 1)


def union_of_itself(env: StreamExecutionEnvironment) -> Any:
    stream = env.from_collection([1, 2])
    return stream.union(stream)


def process(env: StreamExecutionEnvironment) -> Any:
    class Both(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value
            yield -value

    return env.from_collection([1, 2]).process(Both())


def process_without_output(env: StreamExecutionEnvironment) -> Any:
    class Silent(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            return None

    return env.from_collection([1, 2]).process(Silent())


def side_output(env: StreamExecutionEnvironment) -> Any:
    odd = OutputTag("odd", Types.INT())

    class Split(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            if value % 2:
                yield odd, value
            else:
                yield value * 100

    main = env.from_collection([1, 2, 3, 4], Types.INT()).process(Split(), Types.INT())
    return main.union(main.get_side_output(odd))


def project_fields(env: StreamExecutionEnvironment) -> Any:
    kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.STRING()])
    return env.from_collection(TRIPLES, kind).project(2, 0)


def timestamps_without_strategy(env: StreamExecutionEnvironment) -> Any:
    class Stamp(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value, ctx.timestamp()

    return env.from_collection([1, 2]).process(Stamp())


def nested_values(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection([{"a": [1, 2]}, {"b": None}]).map(lambda value: (sorted(value), value))


def none_elements(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection([1, 2, 3]).map(lambda n: None if n == 2 else n, Types.INT()).filter(lambda n: n != 3)


def numbers_from_sequence(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection(list(range(1, 6))).key_by(lambda n: n % 2).reduce(lambda a, b: a + b)


def partitions(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection(list(range(6))).rebalance().map(lambda n: n + 1).shuffle().map(lambda n: n * 2)


def chained_keys(env: StreamExecutionEnvironment) -> Any:
    stream = env.from_collection(PAIRS, PAIR).key_by(lambda pair: pair[0]).sum(1)
    return stream.key_by(lambda pair: pair[1] % 2).reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]))


def big_integers(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection([2**62, -(2**62)], Types.LONG()).map(lambda n: n - 1, Types.LONG())


def decimals(env: StreamExecutionEnvironment) -> Any:
    from decimal import Decimal

    return env.from_collection([Decimal("1.50"), Decimal("-2")], Types.BIG_DEC()).map(lambda d: d * 2, Types.BIG_DEC())


def arrays(env: StreamExecutionEnvironment) -> Any:
    kind = Types.BASIC_ARRAY(Types.INT())
    return env.from_collection([[1, 2], []], kind).map(lambda values: len(values), Types.INT())


def maps(env: StreamExecutionEnvironment) -> Any:
    kind = Types.MAP(Types.STRING(), Types.INT())
    return env.from_collection([{"a": 1}, {}], kind).map(lambda value: value.get("a", -1), Types.INT())
