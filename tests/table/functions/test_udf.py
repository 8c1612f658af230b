"""Functions of the user in all forms."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import cloudpickle
import pytest

from millrace.table import DataTypes, FunctionContext, Table
from millrace.table.expressions import call, col
from millrace.table.functions.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedAsyncScalarFunctionWrapper,
    udaf,
    udf,
    udtaf,
    udtf,
    wrapped,
)


def add(i: int, j: int) -> int:
    return i + j


async def later(i: int) -> int:
    return i


class Add(ScalarFunction):
    def eval(self, i: int, j: int) -> int:  # type: ignore[override]
        return i + j


class Callable_:
    def __call__(self, i: int, j: int) -> int:
        return i + j


class Later(AsyncScalarFunction):
    async def eval(self, i: int) -> int:  # type: ignore[override]
        return i


class Sum(AggregateFunction[int, list[int]]):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0]

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> str:
        return "BIGINT"

    def get_accumulator_type(self) -> str:
        return "ARRAY<BIGINT>"


class Top(TableAggregateFunction[Any, list[int]]):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0])

    def emit_value(self, accumulator: list[int]) -> Any:
        yield from sorted(accumulator)[-2:]

    def get_result_type(self) -> str:
        return "ROW<top BIGINT>"

    def get_accumulator_type(self) -> str:
        return "ARRAY<BIGINT>"


class Words(TableFunction):
    def eval(self, text: str) -> Any:  # type: ignore[override]
        return text.split()


FORMS = [
    ("function", add, "add"),
    ("lambda", lambda i, j: i + j, "<lambda>"),
    ("callable", Callable_(), "Callable_"),
    ("partial", functools.partial(add, 1), "partial"),
    ("class", Add(), "Add"),
]


@pytest.mark.parametrize(("form", "function", "name"), FORMS, ids=[each[0] for each in FORMS])
def test_scalar_functions(people: Table, form: str, function: Any, name: str) -> None:
    made = udf(function, result_type="BIGINT")
    assert made.name == name
    sent = pickle.loads(cloudpickle.dumps(made))
    assert sent.function.eval(*((2,) if form == "partial" else (1, 2))) == 3
    table = people.select(made(col("id"), col("id")).alias("x"), call(made, col("id"), 1).alias("y"))
    assert table.get_schema().get_field_data_types() == [DataTypes.BIGINT()] * 2


def test_as_a_decorator(people: Table) -> None:
    @udf(input_types=["INT", "INT"], result_type=DataTypes.INT(), deterministic=False, name="plus")
    def function(i: int, j: int) -> int:
        return i + j

    rex = people.select(function(col("id"), 1))._plan.expressions[0]
    assert (rex.name, rex.deterministic, rex.vectorized) == ("plus", False, False)
    assert [str(arg.type.nullable()) for arg in rex.args] == ["INT", "INT"]
    with pytest.raises(Exception, match=r"plus takes 2 arguments \(INT, INT\), not 1"):
        people.select(function(col("id")))


@pytest.mark.parametrize("function", [later, Later(), functools.partial(later, 1)])
def test_asynchronous_functions(function: Any) -> None:
    made = udf(function, result_type="INT")
    assert isinstance(made, UserDefinedAsyncScalarFunctionWrapper)
    assert made.asynchronous
    with pytest.raises(ValueError, match="take single values"):
        udf(function, result_type="INT", func_type="pandas")


def test_pandas_functions(people: Table) -> None:
    made = udf(lambda series: series + 1, result_type="BIGINT", func_type="pandas")
    assert people.select(made(col("id")))._plan.expressions[0].vectorized


@pytest.mark.parametrize(
    ("types", "names"),
    [
        ("STRING", ["f0"]),
        (DataTypes.INT(), ["f0"]),
        (["INT", DataTypes.STRING()], ["f0", "f1"]),
        ("ROW<a INT, b STRING>", ["a", "b"]),
        (DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())]), ["x"]),
    ],
)
def test_table_functions(types: Any, names: list[str]) -> None:
    made = udtf(Words(), result_types=types)
    assert made.row_type.names == names
    assert list(made.function.eval("a b")) == ["a", "b"]


def test_aggregate_functions(people: Table) -> None:
    made = udaf(Sum())
    table = people.group_by(col("name")).select(made(col("id")).alias("s"), call(made, col("id")).distinct.alias("d"))
    [first, second] = table._plan.input.aggregates
    assert (str(first.type), first.distinct, second.distinct) == ("BIGINT", False, True)
    assert str(made.accumulator_type) == "ARRAY<BIGINT>"
    assert wrapped(Sum()).name == "Sum"
    with pytest.raises(RuntimeError, match="must implement retract"):
        Sum().retract([0], 1)


def test_pandas_aggregate_functions() -> None:
    made = udaf(lambda series: series.max(), result_type="BIGINT", func_type="pandas")
    function = made.function
    accumulator = function.create_accumulator()
    import pandas as pd

    function.accumulate(accumulator, pd.Series([1, 3, 2]))
    assert function.get_value(accumulator) == 3


def test_table_aggregate_functions(people: Table) -> None:
    top = udtaf(Top())
    table = people.group_by(col("name")).flat_aggregate(top(col("id")).alias("t")).select(col("name"), col("t"))
    assert table.get_schema().get_field_names() == ["name", "t"]
    with pytest.raises(Exception, match="no table aggregate function"):
        people.flat_aggregate(udaf(Sum())(col("id")))


WRONG = [
    (lambda: udf(Add, result_type="INT"), r"write Add\(\)"),
    (lambda: udf(1, result_type="INT"), "neither a function nor callable"),
    (lambda: udf(add), "result_type is a DataType or SQL text"),
    (lambda: udf(add, result_type="INTEGR"), "did you mean 'INTEGER'"),
    (lambda: udf(add, result_type="INT", func_type="numpy"), "must be one of 'general, pandas', got numpy"),
    (lambda: udf(Add(), result_type="INT", deterministic=False), "is_deterministic"),
    (lambda: udaf(add, result_type="INT"), "plain functions need func_type='pandas'"),
    (lambda: udtf(add), "result_types says what columns"),
    (lambda: wrapped(add), "wrap .* with udf"),
]


@pytest.mark.parametrize(("program", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_ones(program: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        program()


def test_function_context() -> None:
    context = FunctionContext(None, {"k": "v"}, "task", index_of_this_subtask=2)  # type: ignore[arg-type]
    assert (context.get_job_parameter("k", ""), context.get_job_parameter("x", "y")) == ("v", "y")
    assert (context.get_task_name(), context.get_index_of_this_subtask()) == ("task", 2)
    with pytest.raises(RuntimeError, match="metrics are off"):
        context.get_metric_group()
