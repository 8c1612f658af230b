"""Expressions by the precedence of their operators, and what operators stand between: literals, columns, brackets,
CASE, CAST, elements and fields.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from millrace.table.sql import nodes
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.types import INTERVAL_UNITS, interval, time_between, type_name
from millrace.table.sql.nodes import TypedLiteral, TypeName
from millrace.table.sql.text import RESERVED, Kind

# Between operators


def unary(cursor: Cursor) -> nodes.Node:
    """An operand with its signs, elements and fields."""
    begin = cursor.index
    if cursor.take("-"):
        return cursor.put(nodes.Neg(this=unary(cursor)), begin)
    if cursor.take("+"):
        return unary(cursor)
    return _postfix(cursor, _primary(cursor), begin)


def _postfix(cursor: Cursor, found: nodes.Node, begin: int) -> nodes.Node:
    """Elements and fields of a value."""
    while True:
        if cursor.take("["):
            found = nodes.BuiltIn("ITEM", (found, expression(cursor)))
            cursor.expect("]")
        elif cursor.take("."):
            found = nodes.Dot(this=found, expression=_field(cursor))
        else:
            return found
        found = cursor.put(found, begin)


def _field(cursor: Cursor) -> nodes.Identifier | nodes.Star:
    begin = cursor.index
    if cursor.take("*"):
        return cursor.put(nodes.Star(), begin)
    return cursor.identifier("a name of a field", after_dot=True)


def _primary(cursor: Cursor) -> nodes.Node:
    begin, token = cursor.index, cursor.token
    if token.kind is Kind.NUMBER:
        cursor.advance()
        if cursor.token.kind is Kind.WORD and cursor.token.word not in RESERVED and cursor.touches():
            cursor.advance()
            cursor.fail("a name that begins with a digit is written in `backticks`", begin)
        return cursor.put(nodes.Literal.number(token.text), begin)
    if token.kind is Kind.STRING:
        return cursor.put(nodes.Literal.string("".join(_strings(cursor))), begin)
    if token.kind is Kind.HEX:
        cursor.advance()
        return cursor.put(nodes.HexString(this=token.text), begin)
    if token.word == "(":
        return _brackets(cursor)
    if token.kind is Kind.QUOTED:
        return _named(cursor)
    reader = _WORDS.get(token.word)
    found = reader(cursor) if reader is not None else None
    if found is not None:
        return cursor.put(found, begin)
    if token.kind is not Kind.WORD or (token.word in RESERVED and not cursor.calls.starts(cursor)):
        if token.word == "?":
            cursor.fail("parameters ('?') are not supported: write the value")
        cursor.fail_expecting("an expression" if token.word not in RESERVED else "a name or an expression")
    return _named(cursor)


def _strings(cursor: Cursor) -> list[str]:
    """Texts that follow each other are one text."""
    parts: list[str] = [cursor.string()]
    while cursor.token.kind is Kind.STRING:
        parts.append(cursor.string())
    return parts


def _brackets(cursor: Cursor) -> nodes.Node:
    """A query, an expression or a tuple in brackets."""
    begin = cursor.index
    cursor.expect("(")
    found: nodes.Node
    if cursor.queries.starts(cursor, 0, nested=False):
        found = nodes.Subquery(this=cursor.queries.query(cursor))
    else:
        items = cursor.listed(lambda: expression(cursor))
        if isinstance(items[0], nodes.Subquery) and len(items) == 1 and cursor.queries.continues(cursor):
            found = nodes.Subquery(this=cursor.queries.rest(cursor, items[0], begin + 1))
        else:
            found = nodes.Paren(this=items[0]) if len(items) == 1 else nodes.Tuple(expressions=items)
    cursor.expect(")")
    inside = found.this if isinstance(found, nodes.Paren) else None
    if isinstance(inside, nodes.BuiltIn) and inside.this == "-" and cursor.token.word in INTERVAL_UNITS:
        found = time_between(cursor, inside)
    return cursor.put(found, begin)


def _named(cursor: Cursor) -> nodes.Node:
    """A column, or a call of a function."""
    begin = cursor.index
    if cursor.calls.starts(cursor):
        return cursor.calls.call(cursor)
    parts = [cursor.identifier("an expression")]
    while cursor.at("."):
        cursor.advance()
        if cursor.peek().word == "(" and cursor.token.kind in (Kind.WORD, Kind.QUOTED):
            return cursor.calls.qualified(cursor, parts, begin)
        field = _field(cursor)
        if isinstance(field, nodes.Star):
            return cursor.put(_column([*parts, field]), begin)
        parts.append(field)
    return cursor.put(_column(parts), begin)


def _column(parts: Sequence[nodes.Identifier | nodes.Star]) -> nodes.Node:
    """A column of up to four names; fields of it for more."""
    *before, name = parts[:4]
    qualifiers = [part for part in before if isinstance(part, nodes.Identifier)][::-1]
    return nodes.Dot.between(nodes.Column(name, *qualifiers), *parts[4:])


def _case(cursor: Cursor) -> nodes.Node:
    cursor.expect("CASE")
    subject = None if cursor.at("WHEN") else expression(cursor)
    branches: list[nodes.If] = []
    while cursor.at("WHEN") or not branches:
        begin = cursor.index
        cursor.expect("WHEN")
        conditions = [expression(cursor)]
        while subject is not None and cursor.take(","):
            conditions.append(expression(cursor))
        cursor.expect("THEN")
        value = expression(cursor)
        # WHEN 1, 2 THEN x is WHEN 1 THEN x WHEN 2 THEN x.
        branches += [cursor.put(nodes.If(this=each, true=value), begin) for each in conditions]
    default = expression(cursor) if cursor.take("ELSE") else None
    if not cursor.take("END"):
        cursor.fail_expecting("WHEN, ELSE or END of CASE" if default is None else "END of CASE")
    return nodes.Case(this=subject, ifs=tuple(branches), default=default)


def _cast(cursor: Cursor) -> nodes.Node | None:
    if cursor.peek().word != "(":
        return None
    node = nodes.TryCast if cursor.advance().word == "TRY_CAST" else nodes.Cast
    cursor.expect("(")
    value = expression(cursor)
    cursor.expect("AS")
    target: TypeName = type_name(cursor)
    cursor.expect(")")
    return node(this=value, to=target)


def _exists(cursor: Cursor) -> nodes.Node:
    cursor.expect("EXISTS")
    return nodes.Exists(this=cursor.queries.in_brackets(cursor).this)


def _interval(cursor: Cursor) -> nodes.Node | None:
    if cursor.peek().kind not in (Kind.STRING, Kind.NUMBER) and cursor.peek().word not in ("-", "+"):
        return None
    cursor.expect("INTERVAL")
    return interval(cursor)


def _typed(cursor: Cursor) -> nodes.Node | None:
    if cursor.peek().kind is not Kind.STRING:
        return None
    kind = cursor.advance().word
    return TypedLiteral(kind=kind, this=cursor.string())


def _collection(cursor: Cursor) -> nodes.Node | None:
    """ARRAY[..] and MAP[..]."""
    kind, opening = cursor.token.word, cursor.peek().word
    if opening == "(" and cursor.queries.starts(cursor, 2):
        cursor.fail(f"{kind} of a query is not supported: use ARRAY_AGG or COLLECT")
    if opening != "[":
        return None
    cursor.index += 2
    items = () if cursor.at("]") else cursor.listed(lambda: expression(cursor))
    cursor.expect("]")
    if kind == "MAP" and len(items) % 2:
        cursor.fail("MAP[..] has a value for every key", cursor.index - 1)
    return nodes.BuiltIn(kind, items)


def _constant(value: Callable[[], nodes.Node]) -> Callable[[Cursor], nodes.Node]:
    def read(cursor: Cursor) -> nodes.Node:
        cursor.advance()
        return value()

    return read


def _unsupported(instead: str) -> Callable[[Cursor], nodes.Node | None]:
    def read(cursor: Cursor) -> nodes.Node | None:
        if cursor.peek().word in ("(", "["):
            cursor.fail(f"{cursor.token.word} is not supported here: {instead}")
        return None

    return read


_WORDS: dict[str, Callable[[Cursor], nodes.Node | None]] = {
    "CASE": _case,
    "CAST": _cast,
    "TRY_CAST": _cast,
    "EXISTS": _exists,
    "INTERVAL": _interval,
    "DATE": _typed,
    "TIME": _typed,
    "TIMESTAMP": _typed,
    "ARRAY": _collection,
    "MAP": _collection,
    "NULL": _constant(nodes.Null),
    "TRUE": _constant(lambda: nodes.Boolean(this=True)),
    "FALSE": _constant(lambda: nodes.Boolean(this=False)),
    "UNIQUE": _unsupported("compare COUNT(*) with COUNT(DISTINCT ..)"),
    "MULTISET": _unsupported("use COLLECT"),
    "UNNEST": _unsupported("it stands in FROM: CROSS JOIN UNNEST(..)"),
}


# Operators

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
    return unary(cursor)


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
    if cursor.queries.starts(cursor, 1):
        return cursor.put(node(query=cursor.queries.in_brackets(cursor)), begin)
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
    if cursor.queries.starts(cursor, 1):
        return nodes.In(this=left, query=cursor.queries.in_brackets(cursor))
    return nodes.In(this=left, expressions=cursor.in_brackets(lambda: expression(cursor)))


def _like(cursor: Cursor, left: nodes.Node) -> nodes.Node:
    return nodes.BuiltIn("LIKE", (left, expression(cursor, _RANGE + 1), *_escape(cursor)))


def _similar(cursor: Cursor, left: nodes.Node) -> nodes.Node:
    cursor.expect("TO")
    return nodes.BuiltIn("SIMILAR TO", (left, expression(cursor, _RANGE + 1), *_escape(cursor)))


def _escape(cursor: Cursor) -> tuple[nodes.Node, ...]:
    return (expression(cursor, _RANGE + 1),) if cursor.take("ESCAPE") else ()


def _overlaps(cursor: Cursor, left: nodes.Node) -> nodes.Node:
    right = unary(cursor)
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
