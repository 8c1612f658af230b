"""The rows of table functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.functions.running import runner

from millrace.common.types import Row
from millrace.relational.types import ArrayType, BigIntType, DataType, string
from millrace.runtime.failure import OperatorError
from millrace.runtime.functions.evaluator import Arguments, made_rows
from millrace.table.udf import udtf

BIGINT, STRING = BigIntType(), string()


def made(function: Callable[..., Any], arguments: list[Any], *types: DataType) -> list[tuple[Any, ...]]:
    """(number of the input row, values) of each row."""
    wrapper = udtf(function, result_types=list(types), name="f")
    with runner(wrapper) as functions:
        owners, columns = made_rows(functions, wrapper, Arguments([arguments], len(arguments)), types)
    return list(zip(owners.tolist(), *(column.to_pylist() for column in columns)))


ROWS = [(0, 1, "a"), (0, 2, "b"), (1, 1, "a")]


@pytest.mark.parametrize("form", [Row, lambda *row: row, lambda *row: list(row)], ids=["Row", "tuple", "list"])
@pytest.mark.parametrize("many", [iter, list], ids=["iterator", "list"])
def test_forms_of_rows(form: Callable[..., Any], many: Callable[..., Any]) -> None:
    both = [form(1, "a"), form(2, "b")]
    assert made(lambda count: many(both[:count]), [2, 1, 0], BIGINT, STRING) == ROWS


def test_forms_of_results() -> None:
    assert made(lambda value: None, [1], BIGINT) == []
    assert made(lambda value: range(value), [2], BIGINT) == [(0, 0), (0, 1)]
    assert made(lambda value: value, ["text"], STRING) == [(0, "text")]
    assert made(lambda value: (value, "x"), [1], BIGINT, STRING) == [(0, 1, "x")]
    assert made(lambda value: [value, (value,), Row(value)], [1], BIGINT) == [(0, 1)] * 3
    assert made(lambda value: [[value], [value, value]], [1], ArrayType(BIGINT)) == [(0, [1]), (0, [1, 1])]


def test_no_rows_have_their_types() -> None:
    assert made(lambda value: [], [1, 2], BIGINT, STRING) == []


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda value: [(1, 2 // value)], "element: (0,)"),
        (lambda value: ((1 // (value - n), 1) for n in (1, 0)), "ZeroDivisionError"),
        (lambda value: [(1,)], "makes rows of 2 columns, but gave (1,)"),
        (lambda value: [(1, "x")], "f() is declared as BIGINT and returned 'x'"),
    ],
    ids=["call", "iteration", "width", "type"],
)
def test_errors_name_the_function(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(OperatorError) as failure:
        made(function, [1, 0], BIGINT, BIGINT)
    assert "failed in f()" in str(failure.value)
    assert message in str(failure.value)
