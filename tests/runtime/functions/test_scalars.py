"""Scalar functions of the user in projections and filters."""

from __future__ import annotations

import asyncio
import functools
from datetime import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from tests.runtime.functions.running import call
from tests.runtime.tables.tabular import Change, check, harness, schema

from millrace.relational.rex import Literal, Ref, Rex
from millrace.relational.types import (
    BigIntType,
    BooleanType,
    DataType,
    DecimalType,
    RowField,
    RowType,
    TimestampType,
    string,
)
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.base import Environment
from millrace.runtime.tables.calc import Calc
from millrace.table.udf import AsyncScalarFunction, ScalarFunction, udf
from millrace.testing import Element

ROW = schema(BigIntType(), string())
NUMBER, TEXT = Ref(BigIntType(), 0), Ref(string(), 1)
SCRIPT = [Element((kind, *row)) for kind, row in [("+I", (1, "a")), ("-U", (2, None)), ("+U", (None, "c"))]]
WITHOUT_RETRIES = {"table.exec.async-scalar.retry-strategy": "no_retry"}


def run(*expressions: Rex, condition: Rex | None = None, **configuration: str) -> list[Change]:
    environment = Environment(configuration=dict(configuration))
    config = Calc(expressions=expressions, condition=condition, environment=environment)
    return check(config, (ROW,), SCRIPT)


class Plus(ScalarFunction):
    def __init__(self, number: int) -> None:
        self.number = number

    def eval(self, value: int | None) -> int | None:
        return None if value is None else value + self.number


class Callable:
    def __call__(self, value: int | None) -> int | None:
        return Plus(1).eval(value)


async def later(value: int | None) -> int | None:
    await asyncio.sleep(0.001 * (3 - (value or 0)))
    return Plus(1).eval(value)


class Later(AsyncScalarFunction):
    async def eval(self, value: int | None) -> int | None:
        return await later(value)


def plus(number: int, value: int | None) -> int | None:
    return Plus(number).eval(value)


@pytest.mark.parametrize(
    "wrapper",
    [
        udf(Plus(1), result_type="BIGINT"),
        udf(lambda value: Plus(1).eval(value), result_type="BIGINT"),
        udf(Callable(), result_type="BIGINT"),
        udf(functools.partial(plus, 1), result_type="BIGINT"),
        udf(later, result_type="BIGINT"),
        udf(Later(), result_type="BIGINT"),
        udf(lambda series: series + 1, result_type="BIGINT", func_type="pandas"),
    ],
    ids=["class", "lambda", "callable", "partial", "coroutine", "async class", "pandas"],
)
def test_all_forms_of_a_function(wrapper: Any) -> None:
    expected = [("+I", 2, "a"), ("-U", 3, None), ("+U", None, "c")]
    assert run(call(wrapper, NUMBER), TEXT) == expected


def test_functions_of_functions_and_of_constants() -> None:
    add = udf(lambda one, other: (one or 0) + (other or 0), result_type="BIGINT", name="add")
    length = udf(lambda text: -1 if text is None else len(text), result_type="BIGINT", name="length")
    double = udf(lambda series: series * 2, result_type="BIGINT", func_type="pandas", name="double")
    nested = call(add, call(double, call(add, NUMBER, Literal(BigIntType(), 10))), call(length, TEXT))
    nothing = call(udf(lambda: 7, result_type="BIGINT", name="nothing"))
    assert run(nested, nothing) == [("+I", 23, 7), ("-U", 23, 7), ("+U", 21, 7)]


def test_a_deterministic_call_is_made_once() -> None:
    def counter() -> Any:
        made: list[int] = []
        return lambda value: made.append(0) or len(made)

    once = udf(counter(), result_type="BIGINT", name="once")
    twice = udf(counter(), result_type="BIGINT", name="once", deterministic=False)
    expressions = (call(once, NUMBER), call(once, NUMBER), call(twice, NUMBER), call(twice, NUMBER))
    with harness(Calc(expressions=expressions), ROW) as operator:
        operator.process_elements([(("+I", 1, "a"), None), (("+I", 2, "b"), None)])
        assert [value[:3] for value in operator.values] == [("+I", 1, 1), ("+I", 2, 2)]
        assert sorted(call for value in operator.values for call in value[3:]) == [1, 2, 3, 4]


def test_filter_comes_first() -> None:
    condition = call(udf(lambda value: value and value > 1, result_type="BOOLEAN"), NUMBER)
    fails_for_one = call(udf(lambda value: 1 // (value - 1), result_type="BIGINT"), NUMBER)
    assert run(fails_for_one, condition=condition) == [("-U", 1)]


def test_types_in_and_out() -> None:
    columns = schema(TimestampType(3), DecimalType(10, 2))
    result = RowType([RowField("when", TimestampType(3)), RowField("what", DecimalType(12, 2))])
    moment = datetime(2026, 5, 1, 12, 30)
    seen: list[Any] = []

    def both(when: Any, what: Any) -> Any:
        seen.append((when, what))
        return when, what * 2

    wrapper = udf(both, result_type=result)
    expression = call(wrapper, Ref(TimestampType(3), 0), Ref(DecimalType(10, 2), 1))
    with harness(Calc(expressions=(expression,)), columns) as operator:
        operator.process_element(("+I", moment, Decimal("1.25")))
        assert operator.values == [("+I", {"when": moment, "what": Decimal("2.50")})]
    assert seen == [(moment, Decimal("1.25"))]


def test_pandas_functions_see_batches_of_the_configured_size() -> None:
    sizes: list[int] = []
    wrapper = udf(lambda series: sizes.append(len(series)) or series, result_type="BIGINT", func_type="pandas")
    environment = Environment(configuration={"python.fn-execution.arrow.batch.size": "2"})
    config = Calc(expressions=(call(wrapper, NUMBER),), environment=environment)
    with harness(config, ROW) as operator:
        operator.process_elements([(("+I", n, "a"), None) for n in range(5)])
        assert operator.values == [("+I", n) for n in range(5)]
    assert sizes == [2, 2, 1]


def test_pandas_function_of_a_row_type() -> None:
    row = RowType([RowField("a", BigIntType()), RowField("b", string())])
    make = udf(
        lambda one, other: pd.DataFrame({"x": one, "y": other}), result_type=row, func_type="pandas", name="make"
    )
    first = udf(lambda frame: frame["a"] * 2, result_type="BIGINT", func_type="pandas", name="first")
    made = call(make, Literal(BigIntType(), 3), TEXT)
    assert run(made, call(first, made)) == [
        ("+I", {"a": 3, "b": "a"}, 6),
        ("-U", {"a": 3, "b": None}, 6),
        ("+U", {"a": 3, "b": "c"}, 6),
    ]


class Opened(ScalarFunction):
    """Tells what it was told."""

    def open(self, function_context: Any) -> None:
        self.calls = function_context.get_metric_group().counter("calls")
        self.factor = int(function_context.get_job_parameter("factor", "1"))
        self.subtask = function_context.get_index_of_this_subtask()

    def eval(self, value: int) -> int:
        self.calls.inc()
        return value * self.factor + self.subtask

    def close(self) -> None:
        CLOSED.append(1)


CLOSED: list[int] = []


def test_open_and_close_and_metrics() -> None:
    expression = call(udf(Opened(), result_type="BIGINT"), NUMBER)
    config = Calc(expressions=(expression, expression))
    CLOSED.clear()
    with harness(config, ROW, job_parameters={"factor": "10"}, parallelism=2, subtask=1) as operator:
        operator.process_element(("+I", 4, "a"))
        assert operator.values == [("+I", 41, 41)]
        assert operator.counter("calls") == 1
    assert CLOSED == [1]


def fail_with(config: Calc, *values: Any) -> str:
    with harness(config, ROW) as operator, pytest.raises(OperatorError) as failure:
        operator.process_elements([(("+I", *row), None) for row in values])
    return str(failure.value)


def test_an_error_names_the_function_and_the_arguments() -> None:
    wrapper = udf(lambda value, text: 1 // value, result_type="BIGINT", name="divide")
    text = fail_with(Calc(expressions=(call(wrapper, NUMBER, TEXT),)), (1, "a"), (0, "b"))
    assert "in divide()" in text and "ZeroDivisionError" in text and "(0, 'b')" in text


def test_a_result_of_another_type_is_shown() -> None:
    wrapper = udf(lambda value: "x" if value == 2 else value, result_type="BIGINT", name="wrong")
    text = fail_with(Calc(expressions=(call(wrapper, NUMBER),)), (1, "a"), (2, "b"))
    assert "wrong() is declared as BIGINT and returned 'x'" in text


def test_a_pandas_function_must_keep_the_length() -> None:
    wrapper = udf(lambda series: series[:1], result_type="BIGINT", func_type="pandas", name="short")
    text = fail_with(Calc(expressions=(call(wrapper, NUMBER),)), (1, "a"), (2, "b"))
    assert "The result length '1' of Pandas UDF 'short' is not equal to the input length '2'" in text


def flaky(failures: int) -> Any:
    left = [failures]

    async def call_it(value: int) -> int:
        if left[0]:
            left[0] -= 1
            raise ValueError("not now")
        return value

    return udf(call_it, result_type="BIGINT", name="flaky")


def async_config(wrapper: Any, **options: str) -> Calc:
    configuration = {f"table.exec.async-scalar.{name.replace('_', '-')}": value for name, value in options.items()}
    return Calc(expressions=(call(wrapper, NUMBER),), environment=Environment(configuration=configuration))


def test_async_calls_are_tried_again() -> None:
    with harness(async_config(flaky(2), retry_delay="1 ms"), ROW) as operator:
        operator.process_element(("+I", 5, "a"))
        assert operator.values == [("+I", 5)]
    assert "not now" in fail_with(async_config(flaky(3), retry_delay="1 ms"), (5, "a"))
    assert "not now" in fail_with(async_config(flaky(1), retry_strategy="NO_RETRY"), (5, "a"))


def test_async_calls_that_take_too_long() -> None:
    async def never(value: int) -> int:
        await asyncio.sleep(60)
        return value

    text = fail_with(async_config(udf(never, result_type="BIGINT"), timeout="10 ms"), (5, "a"))
    assert "no result within 0.01 s" in text and "in never()" in text


def test_async_calls_run_beside_each_other_but_not_too_many() -> None:
    running, most = [0], [0]

    async def busy(value: int) -> int:
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.001)
        running[0] -= 1
        return value

    with harness(async_config(udf(busy, result_type="BIGINT"), max_concurrent_operations="3"), ROW) as operator:
        operator.process_elements([(("+I", n, "a"), None) for n in range(9)])
        assert operator.values == [("+I", n) for n in range(9)]
    assert most == [3]


def test_unknown_retry_strategy() -> None:
    config = async_config(flaky(0), retry_strategy="EXPONENTIAL")
    with pytest.raises(ValueError, match="FIXED_DELAY or NO_RETRY, not EXPONENTIAL"):
        harness(config, ROW).open()


TYPES: list[tuple[DataType, Any]] = [(BooleanType(), True), (string(), "ä"), (DecimalType(38, 18), Decimal("1.5"))]


@pytest.mark.parametrize(("data_type", "value"), TYPES, ids=str)
def test_results_have_the_declared_type(data_type: DataType, value: Any) -> None:
    wrapper = udf(lambda number: value, result_type=data_type)
    assert {change[1] for change in run(call(wrapper, NUMBER))} == {value}
