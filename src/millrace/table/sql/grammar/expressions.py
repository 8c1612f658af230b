"""Expressions, by the precedence of their operators."""

from __future__ import annotations

import functools
from collections.abc import Callable

from millrace.table.sql import nodes
from millrace.table.sql.grammar import primaries, queries
from millrace.table.sql.grammar.cursor import Cursor

_OR, _AND, _NOT, _IS, _COMPARE, _RANGE, _ADD, _MULTIPLY = 1, 2, 3, 4, 5, 6, 7, 8

_BINARY = {
    "OR": _OR,
    "AND": _AND,
    "=": _COMPARE,
    "<>": _COMPARE,
    "!=": _COMPARE,
    "<": _COMPARE,
    "<=": _COMPARE,
    ">": _COMPARE,
    ">=": _COMPARE,
    "+": _ADD,
    "-": _ADD,
    "||": _MULTIPLY,
    "*": _MULTIPLY,
    "/": _MULTIPLY,
    "%": _MULTIPLY,
}
_LONG = 16
"""So many texts are joined one after the other."""
_SAME = {"!=": "<>"}
"""Operators with another name in the registry."""


def expression(cursor: Cursor, power: int = 0) -> nodes.Node:
    """An expression of operators that bind at least as strongly as ``power``."""
    begin = cursor.index
    found = _prefix(cursor)
    while True:
        following = _operator(cursor, found, begin, power)
        if following is None:
            return found
        found = following


def operand(cursor: Cursor) -> nodes.Node:
    """An expression without comparisons, AND, OR, NOT and IS: what PRECEDING, TO or IN may follow."""
    return expression(cursor, _ADD)


def _prefix(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    if cursor.take("NOT"):
        return cursor.put(nodes.Not(this=expression(cursor, _NOT)), begin)
    return primaries.unary(cursor)


def _operator(cursor: Cursor, left: nodes.Node, begin: int, power: int) -> nodes.Node | None:
    """``left`` with the operator that comes next; None if there is none that binds strongly enough."""
    word = cursor.token.word
    strength = _BINARY.get(word)
    if strength is not None:
        if strength < power:
            return None
        cursor.advance()
        if word == "||":
            return _joined(cursor, left, begin)
        right = _quantified(cursor) if strength == _COMPARE else None
        operands = left, right or expression(cursor, strength + 1)
        return cursor.put(nodes.BuiltIn(_SAME.get(word, word), operands), begin)
    if word == "IS":
        return _is(cursor, left, begin) if power <= _IS else None
    if word == "AT" and cursor.at("AT", "TIME", "ZONE"):
        cursor.fail("AT TIME ZONE is not supported: use CONVERT_TZ, or CAST to TIMESTAMP_LTZ")
    if word == ":" and cursor.peek().word == ":":
        cursor.fail("'::' is not supported: use CAST(value AS type)")
    negated = word == "NOT"
    range_word = cursor.peek().word if negated else word
    if range_word not in _RANGES or power > _RANGE:
        return None
    cursor.index += 2 if negated else 1
    found = cursor.put(_RANGES[range_word](cursor, left), begin)
    return cursor.put(nodes.Not(this=found), begin) if negated else found


def _joined(cursor: Cursor, left: nodes.Node, begin: int) -> nodes.Node:
    """Texts one behind the other, after the first ``||``: as they are grouped makes no difference, so a long chain, as
    programs write it, becomes a tree of few levels."""
    operands = [left, expression(cursor, _MULTIPLY + 1)]
    while cursor.take("||"):
        operands.append(expression(cursor, _MULTIPLY + 1))

    def both(one: nodes.Node, other: nodes.Node) -> nodes.Node:
        return cursor.put(nodes.BuiltIn("||", (one, other)), begin)

    while len(operands) > _LONG:
        pairs = [both(*operands[at : at + 2]) for at in range(0, len(operands) - 1, 2)]
        operands = [*pairs, *operands[len(pairs) * 2 :]]
    return functools.reduce(both, operands)


def _quantified(cursor: Cursor) -> nodes.Node | None:
    """ALL, ANY or SOME with a query or values in brackets."""
    begin = cursor.index
    if not (cursor.at_any("ALL", "ANY", "SOME") and cursor.peek().word == "("):
        return None
    node = nodes.All if cursor.advance().word == "ALL" else nodes.Any
    if queries.starts(cursor, 1):
        return cursor.put(node(query=queries.in_brackets(cursor)), begin)
    return cursor.put(node(cursor.in_brackets(lambda: expression(cursor))), begin)


def _is(cursor: Cursor, left: nodes.Node, begin: int) -> nodes.Node:
    cursor.expect("IS")
    negation = "NOT " * cursor.take("NOT")
    if cursor.take("DISTINCT", "FROM"):
        operands = left, expression(cursor, _RANGE)
        return cursor.put(nodes.BuiltIn(f"IS {negation}DISTINCT FROM", operands), begin)
    word = cursor.expect_any("NULL", "TRUE", "FALSE", "UNKNOWN", "JSON")
    if word != "JSON":
        return cursor.put(nodes.BuiltIn(f"IS {negation}{word}", (left,)), begin)
    kind = nodes.Var(cursor.take_any("VALUE", "SCALAR", "ARRAY", "OBJECT") or "VALUE")
    found = cursor.put(nodes.BuiltIn("IS JSON", (left, kind)), begin)
    return cursor.put(nodes.Not(this=found), begin) if negation else found


def _between(cursor: Cursor, left: nodes.Node) -> nodes.Node:
    symmetric = cursor.take_any("SYMMETRIC", "ASYMMETRIC") == "SYMMETRIC"
    low = expression(cursor, _RANGE + 1)
    cursor.expect("AND")
    return nodes.Between(this=left, low=low, high=expression(cursor, _RANGE + 1), symmetric=symmetric)


def _in(cursor: Cursor, left: nodes.Node) -> nodes.Node:
    if not cursor.at("("):
        cursor.fail_expecting("'(' after IN")
    if queries.starts(cursor, 1):
        return nodes.In(this=left, query=queries.in_brackets(cursor))
    return nodes.In(this=left, expressions=cursor.in_brackets(lambda: expression(cursor)))


def _like(cursor: Cursor, left: nodes.Node) -> nodes.Node:
    return nodes.BuiltIn("LIKE", (left, expression(cursor, _RANGE + 1), *_escape(cursor)))


def _similar(cursor: Cursor, left: nodes.Node) -> nodes.Node:
    cursor.expect("TO")
    return nodes.BuiltIn("SIMILAR TO", (left, expression(cursor, _RANGE + 1), *_escape(cursor)))


def _escape(cursor: Cursor) -> tuple[nodes.Node, ...]:
    return (expression(cursor, _RANGE + 1),) if cursor.take("ESCAPE") else ()


def _overlaps(cursor: Cursor, left: nodes.Node) -> nodes.Node:
    right = primaries.unary(cursor)
    pairs = [pair.expressions for pair in (left, right) if isinstance(pair, nodes.Tuple)]
    if [len(pair) for pair in pairs] != [2, 2]:
        cursor.fail("OVERLAPS stands between two pairs: (begin, end) OVERLAPS (begin, end)", cursor.index - 1)
    return nodes.Call(this="OVERLAPS", expressions=(*pairs[0], *pairs[1]))


_RANGES: dict[str, Callable[[Cursor, nodes.Node], nodes.Node]] = {
    "BETWEEN": _between,
    "IN": _in,
    "LIKE": _like,
    "SIMILAR": _similar,
    "OVERLAPS": _overlaps,
}
