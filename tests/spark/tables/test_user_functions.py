"""Functions of the user in batch plans: scalar, vectorised, asynchronous, table and aggregate functions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
import pytest
from tests.runtime.functions.running import call as apply
from tests.spark.tables.conftest import Run
from tests.spark.tables.plans import BIGINT, DOUBLE, INT, STRING, agg, at, by, fn, group, lit, project, values

from millrace.common.types import Row
from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import AggCall, Frame, Rex
from millrace.spark.tables.execute import QueryFailedError, explain
from millrace.spark.tables.steps.context import Context
from millrace.table.udf import (
    AggregateFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)

T = values({"k": STRING, "v": INT}, ("a", 1), ("b", None), ("a", 3), (None, 4), ("b", 10))
V = at(T, "v")


class AddSeen(ScalarFunction):
    """Counts its opens in an attribute, so that a second one would show."""

    def open(self, function_context: FunctionContext) -> None:
        self.opens = getattr(self, "opens", 0) + 1
        self.more = int(function_context.get_job_parameter("more", "100"))

    def eval(self, value: int | None) -> int | None:
        assert self.opens == 1
        return None if value is None else value + self.more


plus_one = udf(lambda value: None if value is None else value + 1, result_type=INT)
minus_one = udf(lambda value: None if value is None else value - 1, result_type=INT)
add_seen = udf(AddSeen(), result_type=INT)
doubled = udf(lambda series: series * 2, result_type=DOUBLE, func_type="pandas")
constant = udf(lambda: "x", result_type=STRING)
pair = udf(
    lambda k, v: Row(k, [v, v]), result_type=t.RowType([t.RowField("k", STRING), t.RowField("l", t.ArrayType(INT))])
)


@udf(result_type=STRING)
async def slowly(key: str | None, value: int | None) -> str:
    await asyncio.sleep(0)
    return f"{key}{value}"


def test_scalar_functions(run: Run) -> None:
    plan = project(
        T,
        v=V,
        one=apply(plus_one, V),
        other=apply(minus_one, V),  # another function with the same name
        seen=apply(add_seen, V),
        twice=apply(doubled, V),
        text=apply(slowly, at(T, "k"), V),
        nothing=apply(constant),
    )
    expected = [
        (v, v and v + 1, v and v - 1, v and v + 100, v and v * 2.0, f"{k}{v}", "x")
        for k, v in [("a", 1), ("b", None), ("a", 3), (None, 4), ("b", 10)]
    ]
    assert run(plan) == sorted(expected, key=repr)


def test_functions_inside_each_other_make_one_call(run: Run, context: Context) -> None:
    inner = fn("+", apply(plus_one, V), lit(1))
    computed = project(T, x=fn("*", apply(add_seen, inner), lit(2)), v=V)
    plan = n.Filter(computed, fn(">", at(computed, "v"), lit(1)))
    assert run(plan) == [((3 + 102) * 2, 3), ((4 + 102) * 2, 4), ((10 + 102) * 2, 10)]
    assert explain(plan, context, "simple").count("ArrowEvalPython [") == 1


def test_rows_and_structured_results(run: Run) -> None:
    plan = project(T, x=apply(pair, at(T, "k"), V))
    found = [tuple(row[0]) for row in run(plan)]
    assert sorted(found, key=repr) == sorted([(k, [v, v]) for k, v in T.rows], key=repr)


def test_a_filter_on_a_function_calls_it_once_a_row(run: Run) -> None:
    computed = project(T, x=apply(plus_one, V), k=at(T, "k"))
    assert run(n.Filter(computed, fn(">", at(computed, "x"), lit(4)))) == [(11, "b"), (5, None)]


def test_an_error_names_the_cause(run: Run) -> None:
    broken = udf(lambda value: 1 // 0, result_type=INT)
    with pytest.raises(QueryFailedError, match=r"^operator 'PythonCalc' .* failed in <lambda>\(\)") as failure:
        run(project(T, x=apply(broken, V)))
    print(str(failure.value))


class Lock:
    def __reduce__(self) -> Any:
        raise TypeError("a lock stays where it is")


def test_what_does_not_pickle_is_named(run: Run) -> None:
    lock = Lock()
    holding = udf(lambda value: lock and value, result_type=INT)
    with pytest.raises(TypeError, match=r"cannot be sent to the workers: a lock stays where it is.*open\(\)"):
        run(project(T, x=apply(holding, V)))


class Parts(TableFunction):
    def eval(self, key: str | None, value: int | None) -> Iterator[Any]:
        for number in range(value or 0):
            if number < 2:
                yield Row(key, number)


parts = udtf(Parts(), result_types=[STRING, INT])
letters = udtf(lambda text: None if text is None else list(text * 2), result_types=STRING)
PARTS = (n.Field("p", STRING), n.Field("q", INT))


def table_function(wrapper: Any, fields: tuple[n.Field, ...], *args: Rex, left: bool = False) -> n.Correlate:
    return n.Correlate(T, "UDTF", args, fields, left, None, wrapper)


def test_table_functions(run: Run) -> None:
    expected = [("a", 1, "a", 0), ("a", 3, "a", 0), ("a", 3, "a", 1), ("b", 10, "b", 0), ("b", 10, "b", 1)]
    expected += [(None, 4, None, 0), (None, 4, None, 1)]
    assert run(table_function(parts, PARTS, at(T, "k"), V)) == expected
    missing = [("b", None, None, None)]
    assert run(table_function(parts, PARTS, at(T, "k"), V, left=True)) == sorted([*expected, *missing], key=repr)


def test_table_functions_with_single_values(run: Run) -> None:
    found = run(table_function(letters, (n.Field("c", STRING),), at(T, "k")))
    assert [row[2] for row in found] == list("aaaabbbb")


class Weighted(AggregateFunction[Any, Any]):
    """Sum of squares, as a list of one number."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        if args[0] is not None:
            accumulator[0] += args[0] ** 2

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


class Top2(TableAggregateFunction[Any, Any]):
    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator += [arg for arg in args if arg is not None]

    def emit_value(self, accumulator: list[Any]) -> Iterable[Any]:
        for place, value in enumerate(sorted(accumulator, reverse=True)[:2]):
            yield Row(value, place)


squares = udaf(Weighted(), result_type=BIGINT, accumulator_type=t.ArrayType(BIGINT))
mean = udaf(lambda series: series.mean(), result_type=DOUBLE, func_type="pandas")
spread = udaf(lambda v, w: pd.Series(v).max() - pd.Series(w).min(), result_type=DOUBLE, func_type="pandas")
PLACES = t.RowType([t.RowField("value", INT), t.RowField("place", INT)])
top2 = udtaf(Top2(), result_type=PLACES, accumulator_type=t.ArrayType(INT))


def own(wrapper: Any, *args: Rex, distinct: bool = False, filter: Rex | None = None) -> AggCall:
    return AggCall(wrapper.name, args, wrapper.result_type, distinct, filter, udf=wrapper)


def test_aggregate_functions_beside_built_in_ones(run: Run) -> None:
    plan = group(T, ["k"], s=own(squares, V), n=agg("COUNT"), m=own(mean, V), d=own(spread, V, V))
    assert run(plan) == [("a", 10, 2, 2.0, 2.0), ("b", 100, 2, 10.0, 0.0), (None, 16, 1, 4.0, 0.0)]


def test_aggregate_functions_alone(run: Run) -> None:
    twice = n.SetOp("UNION", True, (T, T), T.schema)
    plan = group(twice, ["k"], s=own(squares, V), d=own(squares, V, distinct=True), m=own(mean, V))
    assert run(plan) == [("a", 20, 10, 2.0), ("b", 200, 100, 10.0), (None, 32, 16, 4.0)]


def test_aggregate_functions_by_keys_that_are_lists(run: Run) -> None:
    """Arrow does not tell such keys apart; Spark does."""
    lists = values({"k": t.ArrayType(INT), "v": INT}, ([1, 2], 1), ([1, 2], 2), ([2], 5))
    found = run(group(lists, ["k"], s=own(squares, at(lists, "v"))))
    assert sorted((tuple(key), value) for key, value in found) == [((1, 2), 5), ((2,), 25)]


def test_keys_alone(run: Run) -> None:
    assert run(group(T, ["k"])) == [("a",), ("b",), (None,)]


def test_aggregate_functions_of_distinct_and_filtered_rows(run: Run) -> None:
    twice = n.SetOp("UNION", True, (T, T), T.schema)
    positive = fn(">", V, lit(3))
    plan = group(twice, [], a=own(squares, V, distinct=True), b=own(squares, V), c=own(squares, V, filter=positive))
    assert run(plan) == [(126, 252, 232)]


def test_aggregate_functions_of_nothing(run: Run) -> None:
    plan = group(n.Filter(T, fn("=", V, lit(99))), [], a=own(squares, V), n=agg("COUNT"))
    assert run(plan) == [(0, 0)]


def test_aggregate_functions_over_rows(run: Run) -> None:
    call = own(squares, V)
    plan = n.Over(T, (0,), by(V), ((call, Frame(True, 1)),), (n.Field("x", BIGINT),))
    assert run(plan) == [("a", 1, 1), ("a", 3, 10), ("b", 10, 100), ("b", None, 0), (None, 4, 16)]


def test_table_aggregate_functions(run: Run) -> None:
    columns = (n.Field("k", STRING), n.Field("value", INT), n.Field("place", INT))
    plan = n.TableAggregate(T, (0,), own(top2, V), columns)
    assert run(plan) == [("a", 1, 1), ("a", 3, 0), ("b", 10, 0), (None, 4, 0)]


def test_functions_in_branches_are_called(run: Run) -> None:
    """A branch that fails for other rows is computed for its own rows only, functions of the user in it too."""
    half = udf(lambda value: 100 // value, result_type=INT)
    computed = project(T, x=fn("CASE", fn("IS NOT NULL", V), apply(half, V), lit(0)))
    assert run(computed) == [(0,), (10,), (100,), (25,), (33,)]
