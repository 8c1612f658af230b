"""What operators stand between: literals, columns, calls, brackets, CASE, CAST, elements and fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.table.sql import nodes
from millrace.table.sql.grammar import calls, expressions, queries
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.intervals import INTERVAL_UNITS, interval, time_between
from millrace.table.sql.grammar.keywords import RESERVED
from millrace.table.sql.grammar.types import type_name
from millrace.table.sql.nodes import TypedLiteral, TypeName
from millrace.table.sql.text.tokens import Kind


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
            found = nodes.BuiltIn("ITEM", (found, expressions.expression(cursor)))
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
    if token.kind is not Kind.WORD or (token.word in RESERVED and not calls.starts(cursor)):
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
    if queries.starts(cursor, 0, nested=False):
        found = nodes.Subquery(this=queries.query(cursor))
    else:
        items = cursor.listed(lambda: expressions.expression(cursor))
        if isinstance(items[0], nodes.Subquery) and len(items) == 1 and queries.continues(cursor):
            found = nodes.Subquery(this=queries.rest(cursor, items[0], begin + 1))
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
    if calls.starts(cursor):
        return calls.call(cursor)
    parts = [cursor.identifier("an expression")]
    while cursor.at("."):
        cursor.advance()
        if cursor.peek().word == "(" and cursor.token.kind in (Kind.WORD, Kind.QUOTED):
            return calls.qualified(cursor, parts, begin)
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
    subject = None if cursor.at("WHEN") else expressions.expression(cursor)
    branches: list[nodes.If] = []
    while cursor.at("WHEN") or not branches:
        begin = cursor.index
        cursor.expect("WHEN")
        conditions = [expressions.expression(cursor)]
        while subject is not None and cursor.take(","):
            conditions.append(expressions.expression(cursor))
        cursor.expect("THEN")
        value = expressions.expression(cursor)
        # WHEN 1, 2 THEN x is WHEN 1 THEN x WHEN 2 THEN x.
        branches += [cursor.put(nodes.If(this=each, true=value), begin) for each in conditions]
    default = expressions.expression(cursor) if cursor.take("ELSE") else None
    if not cursor.take("END"):
        cursor.fail_expecting("WHEN, ELSE or END of CASE" if default is None else "END of CASE")
    return nodes.Case(this=subject, ifs=tuple(branches), default=default)


def _cast(cursor: Cursor) -> nodes.Node | None:
    if cursor.peek().word != "(":
        return None
    node = nodes.TryCast if cursor.advance().word == "TRY_CAST" else nodes.Cast
    cursor.expect("(")
    value = expressions.expression(cursor)
    cursor.expect("AS")
    target: TypeName = type_name(cursor)
    cursor.expect(")")
    return node(this=value, to=target)


def _exists(cursor: Cursor) -> nodes.Node:
    cursor.expect("EXISTS")
    return nodes.Exists(this=queries.in_brackets(cursor).this)


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
    if opening == "(" and queries.starts(cursor, 2):
        cursor.fail(f"{kind} of a query is not supported: use ARRAY_AGG or COLLECT")
    if opening != "[":
        return None
    cursor.index += 2
    items = () if cursor.at("]") else cursor.listed(lambda: expressions.expression(cursor))
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
