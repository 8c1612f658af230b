"""Expressions with calls of functions: which rows they see, how often they are called, what they are given."""

from __future__ import annotations

from typing import Any

import pandas as pd
from tests.runtime.functions.running import call, column, computed

from millrace.relational.functions.registry import call as built_in
from millrace.relational.rex import Literal, Rex
from millrace.relational.types import ArrayType, BigIntType, BooleanType, DataType, string
from millrace.table.udf import udf

NUMBER, TEXT = BigIntType(), string()
TYPES: list[DataType] = [NUMBER, TEXT]
ROWS: list[tuple[Any, ...]] = [(1, "a"), (2, None), (None, "c"), (4, "d")]
V, K = column(0, NUMBER), column(1, TEXT)


def seen_by(rows: list[Any], name: str = "f") -> Any:
    """A function that gives its argument back and writes it down."""
    return udf(lambda value: rows.append(value) or value, result_type="BIGINT", name=name)


def number(value: int) -> Rex:
    return Literal(NUMBER, value)


def test_branches_see_their_rows() -> None:
    seen: list[Any] = []
    condition = built_in(">", (V, number(1)), {})
    chosen = built_in("CASE", (condition, call(seen_by(seen), V), number(0)), {})
    assert computed(ROWS, TYPES, chosen) == [[0, 2, 0, 4]]
    assert seen == [2, 4]


def test_what_is_known_of_all_rows_is_not_asked_again() -> None:
    seen: list[Any] = []
    asked = call(seen_by(seen), V)
    chosen = built_in("CASE", (built_in(">", (asked, number(1)), {}), built_in("+", (asked, asked), {}), asked), {})
    assert computed(ROWS, TYPES, chosen) == [[1, 4, None, 8]]
    assert seen == [1, 2, None, 4]


def test_equal_calls_of_different_functions() -> None:
    first, second = (udf(lambda value, n=n: n, result_type="BIGINT", name="same") for n in (1, 2))
    assert computed(ROWS[:1], TYPES, call(first, V), call(second, V)) == [[1], [2]]


def test_calls_that_are_not_deterministic_are_all_made() -> None:
    seen: list[Any] = []
    wrapper = udf(lambda value: len(seen.append(value) or seen), result_type="BIGINT", deterministic=False)
    assert computed(ROWS[:2], TYPES, call(wrapper, V), call(wrapper, V)) == [[1, 2], [3, 4]]


def test_results_are_handed_over_as_they_are() -> None:
    """A tuple is no list, which it would be as a column."""
    inner = udf(lambda value: (value, value), result_type="ARRAY<BIGINT>")
    outer = udf(lambda pair: type(pair).__name__, result_type="STRING")
    assert computed(ROWS[:1], TYPES, call(outer, call(inner, V))) == [["tuple"]]


def test_forms_of_arguments() -> None:
    given: list[Any] = []
    row = udf(lambda *args: given.append(args) or "row", result_type="STRING")
    vectors = udf(lambda *args: pd.Series([len(args)] * len(args[0])), result_type="BIGINT", func_type="pandas")
    doubled = udf(lambda series: series * 2, result_type="BIGINT", func_type="pandas")
    array = Literal(ArrayType(NUMBER), [1, 2])
    sum_of = built_in("+", (V, number(1)), {})
    constant = built_in("+", (number(1), number(2)), {})
    by_row = call(row, V, K, number(5), array, sum_of, constant, call(doubled, V))
    by_column = call(vectors, V, number(5), constant, call(doubled, sum_of))
    assert computed(ROWS[:2], TYPES, by_row, by_column) == [["row", "row"], [4, 4]]
    assert given == [(1, "a", 5, [1, 2], 2, 3, 2), (2, None, 5, [1, 2], 3, 3, 4)]


def test_conditions() -> None:
    seen: list[Any] = []
    big = udf(lambda value: bool(seen.append(value)) or (value or 0) > 1, result_type="BOOLEAN")
    both = built_in("AND", (built_in("IS NOT NULL", (K,), {}), call(big, V)), {})
    assert isinstance(both.type, BooleanType)
    assert computed(ROWS, TYPES, both) == [[False, False, False, True]]
    assert seen == [1, None, 4]
