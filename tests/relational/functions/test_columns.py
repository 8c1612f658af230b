"""The loop over rows that computations share."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.functions.registry import by_row
from millrace.relational.rex import Call

CALL = Call(t.BigIntType(), "F", ())


def test_null_in_an_argument_gives_null() -> None:
    left, right = pa.array([1, None, 3]), pa.array([10, 20, None])
    assert by_row(CALL, [left, right], lambda a, b: a + b).to_pylist() == [11, None, None]
    assert by_row(CALL, [left, pa.scalar(1)], lambda a, b: a + b).to_pylist() == [2, None, 4]


def test_a_null_constant_gives_a_null_constant() -> None:
    found = by_row(CALL, [pa.array([1, 2]), pa.scalar(None, pa.int64())], lambda a, b: a + b)
    assert isinstance(found, pa.Scalar) and found.type == pa.int64() and not found.is_valid


def test_constants_give_a_constant() -> None:
    found = by_row(CALL, [pa.scalar(1), pa.scalar(2)], lambda a, b: a + b)
    assert isinstance(found, pa.Scalar) and found.as_py() == 3


def test_a_function_may_see_null() -> None:
    found = by_row(CALL, [pa.array([1, None])], lambda a: -1 if a is None else a, nulls=True)
    assert found.to_pylist() == [1, -1]


def test_a_value_is_prepared_once() -> None:
    seen: list[Any] = []

    def prepare(value: int) -> int:
        seen.append(value)
        return value * 10

    numbers, factors = pa.array([1, 2, 3, 4]), pa.array([5, 6, 5, None])
    found = by_row(CALL, [numbers, factors], lambda a, b: a * b, prepare={1: prepare})
    assert found.to_pylist() == [50, 120, 150, None] and sorted(seen) == [5, 6]


def test_the_result_has_the_type_of_the_call() -> None:
    assert by_row(CALL, [pa.array([], pa.int64())], lambda a: a).type == pa.int64()
    assert by_row(CALL, [pa.array([None], pa.int64())], lambda a: a).type == pa.int64()
