"""What plans show: the JSON of streams, and explain()."""

from __future__ import annotations

import json
from typing import Any

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from pyflink.table.expressions import call
from pyflink.table.udf import AggregateFunction, udaf, udf


def _kinds(env: StreamExecutionEnvironment) -> list[tuple[Any, ...]]:
    nodes = json.loads(env.get_execution_plan())["nodes"]
    ways = [[each["ship_strategy"] for each in node.get("predecessors", ())] for node in nodes]
    return [(node["type"], node["parallelism"], *way) for node, way in zip(nodes, ways)]


def keys_are_put_on_by_a_node_of_their_own() -> None:
    """Once for each key_by, with the parallelism of what is above."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    pairs = env.from_collection([(1, "a")], Types.ROW([Types.INT(), Types.STRING()])).name("pairs")
    keyed = pairs.key_by(lambda x: x[0])
    keyed.map(lambda x: x).name("mapped").set_parallelism(3)
    keyed.map(lambda x: x).name("again")
    assert _kinds(env) == [
        ("Source: pairs", 1),
        ("_stream_key_by_map_operator", 1, "FORWARD"),
        ("mapped", 3, "HASH"),
        ("again", 2, "HASH"),
    ]


class Largest(AggregateFunction):  # type: ignore[misc]
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator[0] = max(accumulator[0], value)

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


def functions_of_the_user_have_steps_of_their_own() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table = t_env.from_elements([(1, "Hi", "Hello")], ["a", "b", "c"])
    largest = udaf(Largest(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>")
    t_env.create_temporary_system_function("largest", largest)
    plan = table.group_by(table.c).select(call("largest", table.a).alias("a"), table.c.alias("b")).explain()
    assert "PythonGroupAggregate(groupBy=[c], select=[c, largest(a) AS " in plan
    t_env.create_temporary_system_function("twice", udf(lambda a: 2 * a, result_type="BIGINT"))
    plan = table.select(call("twice", table.a).alias("x")).explain()
    assert "PythonCalc(select=[twice(a) AS x])" in plan


def advice_stands_under_the_plan() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    plan = t_env.from_elements([(1,)], ["a"]).explain(ExplainDetail.PLAN_ADVICE)
    assert "== Optimized Physical Plan With Advice ==" in plan
    assert "No available advice..." in plan
    plan = t_env.from_elements([(1,)], ["a"]).explain(ExplainDetail.JSON_EXECUTION_PLAN)
    assert json.loads(plan.split("== Physical Execution Plan ==")[1])["nodes"]
