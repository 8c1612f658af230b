"""Expressions on Arrow columns: references, literals, fields, and what is computed once."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator, scatter
from millrace.relational.functions.registry import Surroundings, call
from millrace.relational.rex import Call, FieldAccess, Literal, Ref, Rex

INT, DOUBLE = t.IntType(), t.DoubleType()
PAIR = t.RowType([t.RowField("a", INT), t.RowField("b", t.string())])


def column(expression: Rex, *columns: pa.Array) -> list[object]:
    return Evaluator(columns, Surroundings(len(columns[0]))).column(expression).to_pylist()


def test_references_and_constants() -> None:
    numbers = pa.array([1, None, 3], pa.int32())
    assert column(Ref(INT, 0), numbers) == [1, None, 3]
    assert column(Literal(INT, 7), numbers) == [7, 7, 7]
    assert column(Literal(INT, None), numbers) == [None] * 3


def test_the_field_of_a_row_that_is_null_is_null() -> None:
    rows = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3], pa.int32()), pa.array(["x", "y", None])], ["a", "b"], mask=pa.array([False, True, False])
    )
    assert column(FieldAccess(INT, Ref(PAIR, 0), "a"), rows) == [1, None, 3]
    assert column(FieldAccess(t.string(), Ref(PAIR, 0), "b"), rows) == ["x", None, None]


def test_a_mask_is_false_for_unknown() -> None:
    mask = Evaluator([pa.array([True, None, False])], Surroundings(3)).mask(Ref(t.BooleanType(), 0))
    assert mask.tolist() == [True, False, False]


def test_equal_expressions_are_computed_once_but_zeros_keep_their_signs() -> None:
    evaluator = Evaluator([pa.array([1.0])], Surroundings(1))
    half = call("/", [Ref(DOUBLE, 0), Literal(DOUBLE, 2.0)])
    assert evaluator.value(half) is evaluator.value(call("/", [Ref(DOUBLE, 0), Literal(DOUBLE, 2.0)]))
    by_zero = [evaluator.column(call("/", [Ref(DOUBLE, 0), Literal(DOUBLE, zero)])) for zero in (0.0, -0.0)]
    assert [each[0].as_py() for each in by_zero] == [float("inf"), float("-inf")]


def test_an_empty_batch() -> None:
    none = pa.array([], pa.int32())
    assert column(call("+", [Ref(INT, 0), Literal(INT, 1)]), none) == []
    assert column(Literal(INT, 1), none) == []


def test_what_is_not_built_in_is_named() -> None:
    with pytest.raises(NotImplementedError, match="function NO_SUCH is not built in"):
        column(Call(INT, "NO_SUCH", ()), pa.array([1]))


def test_pieces_are_put_back_in_order() -> None:
    pieces = [pa.array([10, 30]), pa.array([20])]
    assert scatter(pieces, [[0, 2], [1]], 3, pa.int64()).to_pylist() == [10, 20, 30]
    assert scatter([], [], 0, pa.int64()).to_pylist() == []
