"""CASE, IF, COALESCE, IFNULL, NULLIF, GREATEST, LEAST."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, SOURCE, STANDARD, Example, null, of

from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import SignatureError, Surroundings, call
from millrace.relational.rex import Literal, Ref

INT, BOOL = t.IntType(), t.BooleanType()

EXAMPLES = [
    Example("CASE", [True, "a", "b"], "a", DOCS, strict=False),
    Example("CASE", [False, "a", "b"], "b", DOCS, strict=False),
    Example("CASE", [null(BOOL), "a", "b"], "b", STANDARD, strict=False),
    Example("CASE", [False, "a"], None, DOCS, strict=False),
    Example("CASE", [False, 1, True, 2, 3], of(INT, 2), DOCS, strict=False),
    Example("CASE", [False, 1, True, of(t.BigIntType(), 2), 3], of(t.BigIntType(), 2), STANDARD, strict=False),
    Example("CASE", [True, 1, 0.5], of(t.DoubleType(), 1.0), STANDARD, strict=False),
    Example("CASE", [True, [1, 2], [3]], [1, 2], STANDARD, strict=False),
    Example("CASE", [True, {"a": 1}, {"b": 2}], {"a": 1}, STANDARD, strict=False),
    Example("IF", [True, 1, 2], 1, DOCS, strict=False),
    Example("IF", [False, 1, 2], 2, DOCS, strict=False),
    Example("IF", [null(BOOL), 1, 2], 2, STANDARD, strict=False),
    Example("IF", [5 > 3, 5, 3], 5, DOCS, strict=False),
    Example("COALESCE", [null(INT), 5], 5, DOCS, strict=False),
    Example("COALESCE", [null(t.string()), null(t.string()), "third"], "third", DOCS, strict=False),
    Example("COALESCE", [1, null(INT)], 1, DOCS, strict=False),
    Example("COALESCE", [null(INT), null(INT)], None, DOCS, strict=False),
    Example("COALESCE", [null(INT), Decimal("2.5")], of(t.DecimalType(11, 1), Decimal("2.5")), SOURCE, strict=False),
    Example("IFNULL", [null(INT), 5], 5, DOCS, strict=False),
    Example("IFNULL", [3, 5], 3, DOCS, strict=False),
    Example("IFNULL", ["a", "b"], "a", DOCS, strict=False),
    Example("NULLIF", [5, 5], None, DOCS, strict=False),
    Example("NULLIF", [5, 0], 5, DOCS, strict=False),
    Example("NULLIF", ["a", null(t.string())], "a", STANDARD, strict=False),
    Example("NULLIF", [math.nan, math.nan], math.nan, JAVA, strict=False),
    Example("GREATEST", [1, 3, 2], 3, DOCS),
    Example("GREATEST", ["b", "a"], "b", DOCS),
    Example("GREATEST", [1, null(INT)], None, DOCS),
    Example("GREATEST", [math.nan, 1.0], math.nan, JAVA),
    Example("GREATEST", [7], 7, DOCS),
    Example("LEAST", [1, 3, 2], 1, DOCS),
    Example("LEAST", [1.5, 2], 1.5, DOCS),
    Example("LEAST", [0.0, -0.0], -0.0, JAVA),
    Example("LEAST", [b"b", b"a"], b"a", DOCS),
]


@corpus("example", EXAMPLES, 34)
def test_example(example: Example) -> None:
    example.check()


A, B = Ref(INT, 0), Ref(INT, 1)
ZERO, ONE = Literal(INT.not_null(), 0), Literal(INT.not_null(), 1)
QUOTIENT = call("/", [A, B])
GUARD = call("<>", [B, ZERO])

GUARDED = {
    "CASE": (call("CASE", [GUARD, QUOTIENT, ONE]), [2, 1, 1]),
    "CASE without ELSE": (call("CASE", [GUARD, QUOTIENT]), [2, None, None]),
    "CASE after another branch": (
        call("CASE", [call("=", [B, ZERO]), ZERO, call(">", [A, ONE]), QUOTIENT]),
        [2, 0, None],
    ),
    "IF": (call("IF", [GUARD, QUOTIENT, ZERO]), [2, 0, 0]),
    "AND": (call("AND", [GUARD, call(">", [QUOTIENT, ONE])]), [True, False, None]),
    "OR": (call("OR", [call("=", [B, ZERO]), call(">", [QUOTIENT, ONE])]), [True, True, None]),
    "COALESCE": (call("COALESCE", [call("NULLIF", [A, Literal(INT, 5)]), call("/", [ONE, B])]), [4, 7, None]),
}


NEVER, FAILS = call("=", [A, Literal(INT, 99)]), call("/", [ONE, ZERO])
CONSTANT = {
    "CASE": (call("CASE", [NEVER, FAILS, ONE]), [1, 1]),
    "IF": (call("IF", [NEVER, FAILS, ONE]), [1, 1]),
    "AND": (call("AND", [NEVER, call(">", [FAILS, ONE])]), [False, False]),
    "OR": (call("OR", [call("NOT", [NEVER]), call(">", [FAILS, ONE])]), [True, True]),
    "COALESCE": (call("COALESCE", [A, FAILS]), [4, 7]),
}


@pytest.mark.parametrize("name", GUARDED)
def test_what_a_condition_rules_out_is_not_computed(name: str) -> None:
    """Rows (4, 2), (7, 0), (NULL, NULL): dividing by b would fail for the second."""
    expression, wanted = GUARDED[name]
    columns = [pa.array([4, 7, None], pa.int32()), pa.array([2, 0, None], pa.int32())]
    assert Evaluator(columns, Surroundings(3)).column(expression).to_pylist() == wanted


@pytest.mark.parametrize("name", CONSTANT)
def test_nor_are_constants(name: str) -> None:
    """1/0 where no row wants it."""
    expression, wanted = CONSTANT[name]
    columns = [pa.array([4, 7], pa.int32()), pa.array([2, 0], pa.int32())]
    assert Evaluator(columns, Surroundings(2)).column(expression).to_pylist() == wanted


def test_a_branch_that_is_taken_fails() -> None:
    columns = [pa.array([1], pa.int32()), pa.array([0], pa.int32())]
    with pytest.raises(ZeroDivisionError):
        Evaluator(columns, Surroundings(1)).column(call("CASE", [call("=", [B, ZERO]), QUOTIENT]))


def test_results_without_a_common_type_are_refused() -> None:
    with pytest.raises(SignatureError, match="its results must have a common type"):
        call("CASE", [Ref(BOOL, 0), A, Ref(t.string(), 1)])
