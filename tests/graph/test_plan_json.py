"""The plan in Flink's form. Expected plans are those of Flink 2.3 (whose ids count all transformations, ours nodes)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.graph.notation import read

from millrace.common.typeinfo import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import CoMapFunction, ProcessFunction
from millrace.datastream.output_tag import OutputTag
from millrace.graph.lowering import run_passes
from millrace.graph.program import plan_json


class Pass(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    map2 = map1


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def rows(env: StreamExecutionEnvironment) -> list[str]:
    """The plan in short: ``id type pact parallelism <- id STRATEGY, ...``."""
    lines = []
    for node in json.loads(env.get_execution_plan())["nodes"]:
        inputs = ", ".join(f"{p['id']} {p['ship_strategy']}" for p in node.get("predecessors", []))
        lines.append(f"{node['id']} {node['type']} [{node['pact']} {node['parallelism']}] {inputs}".rstrip())
    return lines


def test_the_form_of_a_plan() -> None:
    graph = run_passes(read("a: source once\nb: map description=longer <- a\nc: print <- b"))
    assert plan_json(graph) == json.dumps(
        {
            "nodes": [
                {
                    "id": 1,
                    "type": "Source: a",
                    "pact": "Data Source",
                    "contents": "Source: a",
                    "parallelism": 1,
                },
                {
                    "id": 2,
                    "type": "b",
                    "pact": "Operator",
                    "contents": "longer",
                    "parallelism": 2,
                    "predecessors": [{"id": 1, "ship_strategy": "REBALANCE", "side": "second"}],
                },
                {
                    "id": 3,
                    "type": "Sink: c",
                    "pact": "Data Sink",
                    "contents": "Sink: c",
                    "parallelism": 2,
                    "predecessors": [{"id": 2, "ship_strategy": "FORWARD", "side": "second"}],
                },
            ]
        },
        indent=2,
    )


def test_ids_count_from_1_also_after_unread_nodes_and_earlier_programs(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1])
    for _ in range(2):
        env.from_collection([2]).print()
        assert rows(env) == [
            "1 Source: Collection Source [Data Source 1]",
            "2 Sink: Print to Std. Out [Data Sink 2] 1 REBALANCE",
        ]
        env.close()


def test_reduce(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([(1, 2)], Types.TUPLE([Types.INT(), Types.INT()]))
    pairs.key_by(lambda pair: pair[0]).sum(1).print()
    assert rows(env) == [
        "1 Source: Collection Source [Data Source 1]",
        "2 _stream_key_by_map_operator [Operator 1] 1 FORWARD",
        "3 Reduce [Operator 2] 2 HASH",
        "4 Sink: Print to Std. Out [Data Sink 2] 3 FORWARD",
    ]


def test_what_reads_a_keyed_stream(env: StreamExecutionEnvironment) -> None:
    """One node for each key_by; sinks get elements without keys. The plan of what runs has none of them."""
    keyed = env.from_collection([1], Types.INT()).key_by(abs)
    keyed.map(abs)
    keyed.print().set_parallelism(3)
    assert rows(env) == [
        "1 Source: Collection Source [Data Source 1]",
        "2 _stream_key_by_map_operator [Operator 1] 1 FORWARD",
        "3 Map [Operator 2] 2 HASH",
        "4 _keyed_stream_values_operator [Operator 2] 2 HASH",
        "5 Sink: Print to Std. Out [Data Sink 3] 4 REBALANCE",
    ]
    assert [node["type"] for node in json.loads(env._plan())["nodes"]] == [
        "Source: Collection Source",
        "Map",
        "Sink: Print to Std. Out",
    ]


def test_union(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([1], Types.INT())
    left, right = source.map(abs, Types.INT()), source.flat_map(lambda x: [x], Types.INT())
    left.union(right).process(Pass()).print()
    assert rows(env) == [
        "1 Source: Collection Source [Data Source 1]",
        "2 Map [Operator 2] 1 REBALANCE",
        "3 FlatMap [Operator 2] 1 REBALANCE",
        "4 PROCESS [Operator 2] 2 FORWARD, 3 FORWARD",
        "5 Sink: Print to Std. Out [Data Sink 2] 4 FORWARD",
    ]


def test_connect(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([1], Types.INT())
    source.map(abs, Types.INT()).connect(source).map(Both()).print()
    source.connect(source).key_by(abs, abs).map(Both()).print()
    assert rows(env) == [
        "1 Source: Collection Source [Data Source 1]",
        "2 Map [Operator 2] 1 REBALANCE",
        "3 Co-Map [Operator 2] 2 FORWARD, 1 REBALANCE",
        "5 _stream_key_by_map_operator [Operator 1] 1 FORWARD",
        "6 _stream_key_by_map_operator [Operator 1] 1 FORWARD",
        "7 Co-Map [Operator 2] 5 HASH, 6 HASH",
        "4 Sink: Print to Std. Out [Data Sink 2] 3 FORWARD",
        "8 Sink: Print to Std. Out [Data Sink 2] 7 FORWARD",
    ]


def test_sinks_stand_at_the_end(env: StreamExecutionEnvironment) -> None:
    tag = OutputTag("late", Types.INT())
    processed = env.from_collection([1], Types.INT()).process(Pass())
    processed.get_side_output(tag).print("a")
    processed.map(abs).print("b")
    assert rows(env) == [
        "1 Source: Collection Source [Data Source 1]",
        "2 PROCESS [Operator 2] 1 REBALANCE",
        "4 Map [Operator 2] 2 FORWARD",
        "3 Sink: Print to Std. Out [Data Sink 2] 2 FORWARD",
        "5 Sink: Print to Std. Out [Data Sink 2] 4 FORWARD",
    ]


@pytest.mark.parametrize("strategy", ["rebalance", "rescale", "shuffle", "broadcast", "forward"])
def test_ship_strategies(env: StreamExecutionEnvironment, strategy: str) -> None:
    mapped = env.from_collection([1], Types.INT()).map(abs)
    getattr(mapped, strategy)().map(abs)
    assert rows(env)[-1] == f"3 Map [Operator 2] 2 {strategy.upper()}"


def test_custom_and_global_partitioning(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([1], Types.INT())
    source.partition_custom(lambda key, count: key % count, lambda x: x).map(abs)
    source.global_().map(abs)
    assert rows(env)[1:] == ["2 Map [Operator 2] 1 CUSTOM", "3 Map [Operator 2] 1 GLOBAL"]


def test_names_and_descriptions(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([1]).name("numbers")
    source.print().name("out").set_description("where the numbers go")
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [(node["type"], node["contents"]) for node in nodes] == [
        ("Source: numbers", "Source: numbers"),
        ("Sink: out", "where the numbers go"),
    ]
