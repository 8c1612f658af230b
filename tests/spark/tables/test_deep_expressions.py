"""Long chains and deep nests, as generated programs write them: in both modes, by SQL and by the Table API."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.tables.plans import rows_of
from tests.table.planner.programs import final
from tests.table.programs.running import changes_in

from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.spark.tables.execute import batch_context, collect
from millrace.table import DataTypes, EnvironmentSettings, PlanReference, Table, TableEnvironment
from millrace.table.expressions import col
from millrace.table.planner.engine import add_to_program, options_of, shared, surroundings_of
from millrace.table.udf import udf
from millrace.testing.local import run_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = DataTypes.ROW(
    [
        DataTypes.FIELD("i", DataTypes.INT()),
        DataTypes.FIELD("s", DataTypes.STRING()),
        DataTypes.FIELD("d", DataTypes.DOUBLE()),
        DataTypes.FIELD("m", DataTypes.DECIMAL(10, 2)),
    ]
)
TERMS = [1e16, 0.1, -1e16, 3.7, 1e-3] * 200
"""In another order they add up to something else."""
SIGNS = ["+", "-", "+", "-", "*"]


def _left_to_right() -> float:
    of = {"+": operator.add, "-": operator.sub, "*": operator.mul}
    found = 0.1
    for number in range(1000):
        found = of[SIGNS[number % 5]](found, number % 7 / 10 if SIGNS[number % 5] != "*" else 0.5)
    return found


MIXED = "d" + "".join(
    f" {SIGNS[n % 5]} {n % 7 / 10}e0" if SIGNS[n % 5] != "*" else ")" + " * 5e-1" for n in range(1000)
)
CASES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "sum": (f"SELECT {' + '.join(['i'] * 1000)} FROM t", [(2000,)]),
    "difference": (f"SELECT {' - '.join(['i'] * 1000)} FROM t", [(2 - 2 * 999,)]),
    "doubles": (f"SELECT d{''.join(f' + ({n:.4e})' for n in TERMS)} FROM t", [(reduce(operator.add, [0.1, *TERMS]),)]),
    "mixed": (f"SELECT {'(' * 200}{MIXED} FROM t", [(_left_to_right(),)]),
    "decimals": (f"SELECT CAST({' + '.join(['m'] * 500)} AS STRING) FROM t", [("125.00",)]),
    "overflow": (f"SELECT 2147483647{' + i' * 300} FROM t", [(2147483647 + 600 - 2**32,)]),
    "condition": ("SELECT i FROM t WHERE " + " AND ".join(f"i <> {n + 10}" for n in range(1500)), [(2,)]),
    "alternatives": ("SELECT i FROM t WHERE " + " OR ".join(f"(i = {n} AND s <> 'a{n}')" for n in range(500)), [(2,)]),
    "texts": (f"SELECT {' || '.join(['s'] * 3000)} FROM t", [("x" * 3000,)]),
    "arms": (f"SELECT CASE {' '.join(f'WHEN i = {n} THEN {n * 3}' for n in range(1000))} END FROM t", [(6,)]),
    "list": (f"SELECT i FROM t WHERE i IN ({', '.join(map(str, range(10_000)))})", [(2,)]),
    "calls": (f"SELECT {'ABS(' * 200}i{')' * 200}, {'UPPER(' * 200}s{')' * 200} FROM t", [(2, "X")]),
    "brackets": (f"SELECT {'(1 + ' * 200}i{')' * 200} FROM t", [(202,)]),
    "nested cases": (f"SELECT {'CASE WHEN i = 1 THEN 0 ELSE ' * 200}i{' END' * 200} FROM t", [(2,)]),
    "not needed": (f"SELECT {'CASE WHEN i = 2 THEN 0 ELSE 1 / (i - 2) + ' * 60}i{' END' * 60} FROM t", [(0,)]),
    "not": (f"SELECT {'NOT ' * 200}i = 2 FROM t", [(True,)]),
    "union": (" UNION ALL ".join(f"SELECT i + {n} FROM t" for n in range(60)), [(n + 2,) for n in range(60)]),
    "columns": (
        f"SELECT {', '.join(f'i + {n} AS c{n}' for n in range(1000))} FROM t",
        [tuple(n + 2 for n in range(1000))],
    ),
    "queries": (f"SELECT i FROM {'(SELECT i + 0 AS i FROM ' * 100}t{')' * 100}", [(2,)]),
    "doubling": (f"SELECT i FROM {'(SELECT i + i AS i FROM ' * 29}t{')' * 29}", [(2**30,)]),
}
SLOW: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "condition": ("SELECT i FROM t WHERE " + " AND ".join(f"i <> {n + 10}" for n in range(10_000)), [(2,)]),
    "alternatives": (
        "SELECT i FROM t WHERE " + " OR ".join(f"(i = {n} AND s <> 'a{n}')" for n in range(10_000)),
        [(2,)],
    ),
    "texts": (f"SELECT {' || '.join(['s'] * 10_000)} FROM t", [("x" * 10_000,)]),
    "union": (" UNION ALL ".join(f"SELECT i + {n} FROM t" for n in range(500)), [(n + 2,) for n in range(500)]),
    "columns": (
        f"SELECT {', '.join(f'i + {n} AS c{n}' for n in range(5000))} FROM t",
        [tuple(n + 2 for n in range(5000))],
    ),
}


def _many(first: Any, more: Callable[[Any], Any], times: int) -> Any:
    for _ in range(times):
        first = more(first)
    return first


PROGRAMS: dict[str, tuple[Callable[[Table], Table], list[tuple[Any, ...]]]] = {
    "sum": (lambda t: t.select(_many(col("i"), lambda part: part + col("i"), 999)), [(2000,)]),
    "condition": (
        lambda t: t.where(reduce(lambda one, n: one & (col("i") != n), range(10, 500), col("i") == 2)).select(col("i")),
        [(2,)],
    ),
    "calls": (lambda t: t.select(_many(col("i"), lambda part: part.abs, 200)), [(2,)]),
    "union": (lambda t: _many(t.select(col("i")), lambda part: part.union_all(t.select(col("i"))), 59), [(2,)] * 60),
    "selects": (lambda t: _many(t, lambda part: part.select((col("i") + 1).alias("i")), 300), [(302,)]),
    "filters": (lambda t: _many(t, lambda part: part.where(col("i") != 7), 300).select(col("i")), [(2,)]),
}


def environment_of(settings: EnvironmentSettings) -> TableEnvironment:
    environment = TableEnvironment.create(settings)
    environment.create_temporary_view("t", environment.from_elements([(2, "x", 0.1, Decimal("0.25"))], TYPES))
    return environment


def plan_of(environment: TableEnvironment, query: Any) -> Any:
    table = environment.sql_query(query) if isinstance(query, str) else query(environment.from_path("t"))
    return table._plan


def streamed(query: Any) -> list[tuple[Any, ...]]:
    environment = environment_of(EnvironmentSettings.in_streaming_mode())
    plan = plan_of(environment, query)
    streams = StreamExecutionEnvironment()
    session = environment._session
    ready = shared([optimise_streaming(plan, surroundings_of(session))], session)
    add_to_program(ready, streams._program, options_of(session))
    return sorted(final(changes_in(run_locally(streams).collected, plan.schema, tuple)).elements())


def batched(query: Any, spark: SparkSession) -> list[tuple[Any, ...]]:
    environment = environment_of(EnvironmentSettings.in_batch_mode())
    plan = plan_of(environment, query)
    context = batch_context(spark, configuration=environment.get_config().to_map())
    return sorted(map(tuple, rows_of(collect(plan, context), plan)))


@pytest.mark.draw(3)
@pytest.mark.parametrize("name", CASES)
def test_streaming(name: str) -> None:
    query, rows = CASES[name]
    assert streamed(query) == sorted(rows)


@pytest.mark.draw(3)
@pytest.mark.spark
@pytest.mark.parametrize("name", CASES)
def test_batch(name: str, spark: SparkSession) -> None:
    query, rows = CASES[name]
    assert batched(query, spark) == sorted(rows)


@pytest.mark.draw(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_streaming_programs(name: str) -> None:
    program, rows = PROGRAMS[name]
    assert streamed(program) == rows


@pytest.mark.draw(3)
@pytest.mark.spark
@pytest.mark.parametrize("name", PROGRAMS)
def test_batch_programs(name: str, spark: SparkSession) -> None:
    program, rows = PROGRAMS[name]
    assert batched(program, spark) == rows


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_the_large_ones(name: str, spark: SparkSession) -> None:
    query, rows = SLOW[name]
    assert streamed(query) == sorted(rows)
    assert batched(query, spark) == sorted(rows)


def test_explain_shows_what_was_written() -> None:
    environment = environment_of(EnvironmentSettings.in_streaming_mode())
    text = environment.explain_sql(f"SELECT {' + '.join(['i'] * 100)} - CHAR_LENGTH(s) FROM t")
    assert f"({'(' * 99}i + {'i) + ' * 98}i) - CHAR_LENGTH(s))" in text and "$STEPS" not in text


def test_a_compiled_plan_has_them() -> None:
    environment = environment_of(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql("CREATE TABLE out (n INT) WITH ('connector' = 'blackhole')")
    environment.execute_sql("CREATE TABLE numbers (i INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
    plan = environment.compile_plan_sql(f"INSERT INTO out SELECT {' + '.join(['i'] * 100)} FROM numbers")
    loaded = environment.load_plan(PlanReference.from_json_string(plan.as_json_string()))
    assert loaded.as_json_string() == plan.as_json_string()


def test_functions_of_the_user_are_in_it() -> None:
    environment = environment_of(EnvironmentSettings.in_streaming_mode())
    environment.create_temporary_system_function("plus_one", udf(lambda value: value + 1, result_type="INT"))
    query = f"SELECT {' + '.join(['plus_one(i)', 'i'] * 60)} FROM t"
    plan = environment.sql_query(query)._plan
    streams = StreamExecutionEnvironment()
    session = environment._session
    add_to_program([optimise_streaming(plan, surroundings_of(session))], streams._program, options_of(session))
    assert final(changes_in(run_locally(streams).collected, plan.schema, tuple)) == {(300,): 1}
