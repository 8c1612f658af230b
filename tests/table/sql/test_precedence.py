"""Operators bind as in DuckDB, whose grammar is PostgreSQL's and has the precedences of the SQL standard."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.table.sql import nodes
from millrace.table.sql.grammar.parser import parse_expression
from millrace.table.sql.writing import written

NUMBERS = st.sampled_from(["1", "2", "3", "7", "(2 - 5)", "- 4"])
OPERATORS = st.sampled_from(["+", "-", "*", "%"])
TRUTHS = st.sampled_from(["TRUE", "FALSE", "NULL"])

ARITHMETIC = st.lists(st.tuples(OPERATORS, NUMBERS), max_size=5).flatmap(
    lambda rest: NUMBERS.map(lambda first: " ".join([first, *(f"{operator} {number}" for operator, number in rest)]))
)
PREDICATES = st.one_of(
    TRUTHS,
    st.tuples(ARITHMETIC, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), ARITHMETIC).map(" ".join),
    st.tuples(ARITHMETIC, st.sampled_from(["BETWEEN", "NOT BETWEEN"]), ARITHMETIC, ARITHMETIC).map(
        lambda parts: f"{parts[0]} {parts[1]} {parts[2]} AND {parts[3]}"
    ),
    st.tuples(ARITHMETIC, st.sampled_from(["IN", "NOT IN"]), ARITHMETIC).map(
        lambda parts: f"{parts[0]} {parts[1]} (1, 2, {parts[2]})"
    ),
).flatmap(
    lambda predicate: st.sampled_from(["", " IS NULL", " IS NOT NULL", " IS TRUE", " IS NOT FALSE"]).map(
        lambda test: predicate + test
    )
)
CONDITIONS = st.lists(
    st.tuples(st.sampled_from(["AND", "OR", "AND NOT", "OR NOT"]), PREDICATES), min_size=1, max_size=4
).flatmap(
    lambda rest: PREDICATES.map(lambda first: " ".join([first, *(f"{word} {predicate}" for word, predicate in rest)]))
)


@given(ARITHMETIC)
def test_arithmetic_binds_as_in_duckdb(text: str) -> None:
    assert _computed(_in_brackets(parse_expression(text))) == _computed(text)


@given(CONDITIONS)
def test_conditions_bind_as_in_duckdb(text: str) -> None:
    assert _computed(_in_brackets(parse_expression(text))) == _computed(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("NOT a IS NULL", "NOT (a IS NULL)"),
        ("NOT a = b AND c", "(NOT (a = b)) AND c"),
        ("a OR b AND c OR d", "(a OR (b AND c)) OR d"),
        ("a || b || c * d", "((a || b) || c) * d"),
        ("a + 1 IN (1) = b", "((a + 1) IN (1)) = b"),
        ("a = b IN (1)", "a = (b IN (1))"),
        ("a + b LIKE c || d", "(a + b) LIKE (c || d)"),
        ("a IS DISTINCT FROM b + 1 AND c", "(a IS DISTINCT FROM (b + 1)) AND c"),
        ("-a[1] * b", "(-(a[1])) * b"),
        ("a BETWEEN b + 1 AND c + 2 AND d", "(a BETWEEN (b + 1) AND (c + 2)) AND d"),
        ("a < b = c", "(a < b) = c"),
        ("- - a", "-(-a)"),
    ],
)
def test_operators_bind_as_in_flink(text: str, same: str) -> None:
    assert _without_brackets(parse_expression(text)) == _without_brackets(parse_expression(same))


def _without_brackets(tree: nodes.Node) -> nodes.Node:
    return _replaced(tree, lambda node: node.this if isinstance(node, nodes.Paren) else node)


def _in_brackets(tree: nodes.Node) -> str:
    """The expression with brackets round each of its parts."""
    operators = (nodes.BuiltIn, nodes.Between, nodes.In, nodes.Not, nodes.Neg)
    return written(_replaced(tree, lambda node: nodes.Paren(this=node) if isinstance(node, operators) else node))


def _replaced(tree: nodes.Node, change: Callable[[nodes.Node], nodes.Node]) -> nodes.Node:
    """The tree with every node changed, the parts of a node before it."""
    return change(tree.rebuilt(lambda part: _replaced(part, change)))


def _computed(text: str) -> object:
    row = duckdb.execute(f"SELECT {text}").fetchone()
    assert row is not None
    return row[0]
