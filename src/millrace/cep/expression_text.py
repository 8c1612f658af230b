"""Expressions that were made in Python as SQL text."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from millrace.table.expression_methods.base import expression_of
from millrace.table.sql import nodes
from millrace.table.sql.parser import parse_expression
from millrace.table.sql.writing import written

_OPERATORS = ("AND", "OR", "LIKE", "ARRAY", "MAP", "ITEM")
"""operators that are words; all other words are functions"""
_BRACKETED = (nodes.BuiltIn, nodes.Not, nodes.Neg, nodes.Between, nodes.In)


def sql_of(expression: Any) -> str:
    """The expression as SQL text that means the same.

    :raises ValueError: it has something that SQL has no text for.
    """
    tree = _in_brackets(expression_of(expression))
    try:
        found = written(tree)
        same = parse_expression(found) == tree
    except Exception as error:
        raise ValueError(f"{expression} can't be written as SQL: {error}") from error
    if not same:
        raise ValueError(f"{expression} can't be written as SQL: {found} would mean something else")
    return found


def _in_brackets(node: nodes.Node) -> nodes.Node:
    """Constants as literals, and brackets round each operator: a tree made in Python has none, and needs none."""
    if isinstance(node, nodes.Constant):
        return _literal(node)
    inside = node.rebuilt(_in_brackets)
    if isinstance(inside, nodes.BuiltIn):
        if inside.this.isidentifier() and inside.this not in _OPERATORS:
            return nodes.Call(inside.this, inside.expressions)
        return nodes.BuiltIn(inside.this, inside.rebuilt(_bracket).expressions)
    if isinstance(inside, _BRACKETED):
        return inside.rebuilt(_bracket)
    return inside


def _bracket(part: nodes.Node) -> nodes.Node:
    return nodes.Paren(part) if isinstance(part, _BRACKETED) else part


def _literal(constant: nodes.Constant) -> nodes.Node:
    value = constant.value
    match value:
        case None:
            return nodes.Null()
        case bool():
            return nodes.Boolean(value)
        case str():
            return nodes.Literal.string(value)
        case int() | decimal.Decimal():
            return _number(str(value))
        case float():
            return _number(f"{value!r}E0" if "e" not in repr(value) else repr(value))
        case datetime.datetime() if value.tzinfo is None:
            return parse_expression(f"TIMESTAMP '{value.isoformat(' ')}'")
        case datetime.date():
            return parse_expression(f"DATE '{value.isoformat()}'")
    raise ValueError(f"the constant {value!r} has no text in SQL")


def _number(text: str) -> nodes.Node:
    return nodes.Neg(nodes.Literal.number(text[1:])) if text.startswith("-") else nodes.Literal.number(text)
