"""Expressions, by the precedence of their operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from millrace.table.sql.grammar import calls, queries
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.intervals import interval
from millrace.table.sql.grammar.keywords import RESERVED
from millrace.table.sql.grammar.types import type_name
from millrace.table.sql.nodes import IsJson, MapConstructor, TypedLiteral, TypeName
from millrace.table.sql.tokens import Kind

_OR, _AND, _NOT, _IS, _COMPARE, _RANGE, _ADD, _MULTIPLY = 1, 2, 3, 4, 5, 6, 7, 8

_BINARY: dict[str, tuple[int, type[exp.Expression]]] = {
    "OR": (_OR, exp.Or),
    "AND": (_AND, exp.And),
    "=": (_COMPARE, exp.EQ),
    "<>": (_COMPARE, exp.NEQ),
    "!=": (_COMPARE, exp.NEQ),
    "<": (_COMPARE, exp.LT),
    "<=": (_COMPARE, exp.LTE),
    ">": (_COMPARE, exp.GT),
    ">=": (_COMPARE, exp.GTE),
    "+": (_ADD, exp.Add),
    "-": (_ADD, exp.Sub),
    "||": (_MULTIPLY, exp.DPipe),
    "*": (_MULTIPLY, exp.Mul),
    "/": (_MULTIPLY, exp.Div),
    "%": (_MULTIPLY, exp.Mod),
}


def expression(cursor: Cursor, power: int = 0) -> exp.Expression:
    """An expression of operators that bind at least as strongly as ``power``."""
    begin = cursor.index
    found = _prefix(cursor)
    while True:
        following = _operator(cursor, found, begin, power)
        if following is None:
            return found
        found = following


def operand(cursor: Cursor) -> exp.Expression:
    """An expression without comparisons, AND, OR, NOT and IS: what PRECEDING, TO or IN may follow."""
    return expression(cursor, _ADD)


def _prefix(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    if cursor.take("NOT"):
        return cursor.put(exp.Not(this=expression(cursor, _NOT)), begin)
    return _unary(cursor)


def _operator(cursor: Cursor, left: exp.Expression, begin: int, power: int) -> exp.Expression | None:
    """``left`` with the operator that comes next; None if there is none that binds strongly enough."""
    word = cursor.token.word
    if word in _BINARY:
        strength, node = _BINARY[word]
        if strength < power:
            return None
        cursor.advance()
        right = _quantified(cursor) if strength == _COMPARE else None
        return cursor.put(node(this=left, expression=right or expression(cursor, strength + 1)), begin)
    if word == "IS":
        return _is(cursor, left, begin) if power <= _IS else None
    if word == "AT" and cursor.at("AT", "TIME", "ZONE"):
        cursor.fail("AT TIME ZONE is not supported: use CONVERT_TZ, or CAST to TIMESTAMP_LTZ")
    negated = word == "NOT"
    range_word = cursor.peek().word if negated else word
    if range_word not in _RANGES or power > _RANGE:
        return None
    cursor.index += 2 if negated else 1
    found = cursor.put(_RANGES[range_word](cursor, left), begin)
    return cursor.put(exp.Not(this=found), begin) if negated else found


def _quantified(cursor: Cursor) -> exp.Expression | None:
    """ALL, ANY or SOME with a query in brackets."""
    begin = cursor.index
    if not (cursor.at_any("ALL", "ANY", "SOME") and cursor.peek().word == "("):
        return None
    node = exp.All if cursor.advance().word == "ALL" else exp.Any
    return cursor.put(node(this=queries.in_brackets(cursor)), begin)


def _is(cursor: Cursor, left: exp.Expression, begin: int) -> exp.Expression:
    cursor.expect("IS")
    negated = cursor.take("NOT")
    if cursor.take("DISTINCT", "FROM"):
        node = exp.NullSafeEQ if negated else exp.NullSafeNEQ
        return cursor.put(node(this=left, expression=expression(cursor, _RANGE)), begin)
    at = cursor.index
    word = cursor.expect_any("NULL", "TRUE", "FALSE", "UNKNOWN", "JSON")
    found: exp.Expression
    if word == "JSON":
        found = IsJson(this=left, kind=cursor.take_any("VALUE", "SCALAR", "ARRAY", "OBJECT") or "VALUE")
    else:
        values = {"NULL": exp.Null(), "UNKNOWN": exp.Var(this="UNKNOWN")}
        value = values.get(word) or exp.Boolean(this=word == "TRUE")
        found = exp.Is(this=left, expression=cursor.put(value, at))
    cursor.put(found, begin)
    return cursor.put(exp.Not(this=found), begin) if negated else found


def _between(cursor: Cursor, left: exp.Expression) -> exp.Expression:
    symmetric = cursor.take_any("SYMMETRIC", "ASYMMETRIC") == "SYMMETRIC"
    low = expression(cursor, _RANGE + 1)
    cursor.expect("AND")
    return exp.Between(this=left, low=low, high=expression(cursor, _RANGE + 1), symmetric=symmetric)


def _in(cursor: Cursor, left: exp.Expression) -> exp.Expression:
    if not cursor.at("("):
        cursor.fail_expecting("'(' after IN")
    if queries.starts(cursor, 1):
        return exp.In(this=left, query=queries.in_brackets(cursor))
    return exp.In(this=left, expressions=cursor.in_brackets(lambda: expression(cursor)))


def _like(cursor: Cursor, left: exp.Expression) -> exp.Expression:
    return _escaped(cursor, exp.Like(this=left, expression=expression(cursor, _RANGE + 1)))


def _similar(cursor: Cursor, left: exp.Expression) -> exp.Expression:
    cursor.expect("TO")
    return _escaped(cursor, exp.SimilarTo(this=left, expression=expression(cursor, _RANGE + 1)))


def _escaped(cursor: Cursor, found: exp.Expression) -> exp.Expression:
    if not cursor.take("ESCAPE"):
        return found
    begin = cursor.index
    return exp.Escape(this=found, expression=cursor.put(exp.Literal.string(cursor.string()), begin))


def _overlaps(cursor: Cursor, left: exp.Expression) -> exp.Expression:
    right = _unary(cursor)
    pairs = (left, right)
    if not all(isinstance(pair, exp.Tuple) and len(pair.expressions) == 2 for pair in pairs):
        cursor.fail("OVERLAPS stands between two pairs: (begin, end) OVERLAPS (begin, end)", cursor.index - 1)
    return exp.Anonymous(this="OVERLAPS", expressions=[*left.expressions, *right.expressions])


_RANGES: dict[str, Callable[[Cursor, exp.Expression], exp.Expression]] = {
    "BETWEEN": _between,
    "IN": _in,
    "LIKE": _like,
    "SIMILAR": _similar,
    "OVERLAPS": _overlaps,
}


def _unary(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    if cursor.take("-"):
        return cursor.put(exp.Neg(this=_unary(cursor)), begin)
    if cursor.take("+"):
        return _unary(cursor)
    return _postfix(cursor, _primary(cursor), begin)


def _postfix(cursor: Cursor, found: exp.Expression, begin: int) -> exp.Expression:
    """Elements and fields of a value."""
    while True:
        if cursor.take("["):
            found = exp.Bracket(this=found, expressions=[expression(cursor)])
            cursor.expect("]")
        elif cursor.take("."):
            found = exp.Dot(this=found, expression=_field(cursor))
        else:
            return found
        cursor.put(found, begin)


def _field(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    if cursor.take("*"):
        return cursor.put(exp.Star(), begin)
    return cursor.identifier("a name of a field", after_dot=True)


def _primary(cursor: Cursor) -> exp.Expression:
    begin, token = cursor.index, cursor.token
    if token.kind is Kind.NUMBER:
        cursor.advance()
        if cursor.token.kind is Kind.WORD and cursor.touches():
            cursor.advance()
            cursor.fail("a name that begins with a digit is written in `backticks`", begin)
        return cursor.put(exp.Literal.number(token.text), begin)
    if token.kind is Kind.STRING:
        return cursor.put(exp.Literal.string("".join(_strings(cursor))), begin)
    if token.kind is Kind.HEX:
        cursor.advance()
        return cursor.put(exp.HexString(this=token.text), begin)
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


def _brackets(cursor: Cursor) -> exp.Expression:
    """A query, an expression or a tuple in brackets."""
    begin = cursor.index
    cursor.expect("(")
    found: exp.Expression
    if queries.starts(cursor, 0, nested=False):
        found = exp.Subquery(this=queries.query(cursor))
    else:
        items = cursor.listed(lambda: expression(cursor))
        if isinstance(items[0], exp.Subquery) and len(items) == 1 and queries.continues(cursor):
            found = exp.Subquery(this=queries.rest(cursor, items[0], begin + 1))
        else:
            found = exp.Paren(this=items[0]) if len(items) == 1 else exp.Tuple(expressions=items)
    cursor.expect(")")
    return cursor.put(found, begin)


def _named(cursor: Cursor) -> exp.Expression:
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
        if isinstance(field, exp.Star):
            return cursor.put(_column([*parts, field]), begin)
        assert isinstance(field, exp.Identifier)
        parts.append(field)
    return cursor.put(_column(parts), begin)


def _column(parts: Sequence[exp.Expression]) -> exp.Expression:
    """A column of up to four names; fields of it for more."""
    catalog, db, table, name = [None] * (4 - len(parts[:4])) + list(parts[:4])
    found: exp.Expression = exp.Column(this=name, table=table, db=db, catalog=catalog)
    for part in parts[4:]:
        found = exp.Dot(this=found, expression=part)
    return found


def _case(cursor: Cursor) -> exp.Expression:
    cursor.expect("CASE")
    subject = None if cursor.at("WHEN") else expression(cursor)
    branches: list[exp.If] = []
    while cursor.at("WHEN") or not branches:
        begin = cursor.index
        cursor.expect("WHEN")
        condition = expression(cursor)
        cursor.expect("THEN")
        branches.append(cursor.put(exp.If(this=condition, true=expression(cursor)), begin))
    default = expression(cursor) if cursor.take("ELSE") else None
    if not cursor.take("END"):
        cursor.fail_expecting("WHEN, ELSE or END of CASE" if default is None else "END of CASE")
    return exp.Case(this=subject, ifs=branches, default=default)


def _cast(cursor: Cursor) -> exp.Expression | None:
    if cursor.peek().word != "(":
        return None
    node = exp.TryCast if cursor.advance().word == "TRY_CAST" else exp.Cast
    cursor.expect("(")
    value = expression(cursor)
    cursor.expect("AS")
    target: TypeName = type_name(cursor)
    cursor.expect(")")
    return node(this=value, to=target)


def _exists(cursor: Cursor) -> exp.Expression:
    cursor.expect("EXISTS")
    return exp.Exists(this=queries.in_brackets(cursor).this)


def _interval(cursor: Cursor) -> exp.Expression | None:
    if cursor.peek().kind not in (Kind.STRING, Kind.NUMBER) and cursor.peek().word not in ("-", "+"):
        return None
    cursor.expect("INTERVAL")
    return interval(cursor)


def _typed(cursor: Cursor) -> exp.Expression | None:
    if cursor.peek().kind is not Kind.STRING:
        return None
    kind = cursor.advance().word
    return TypedLiteral(kind=kind, this=cursor.string())


def _collection(cursor: Cursor) -> exp.Expression | None:
    """ARRAY[..] and MAP[..]."""
    kind, opening = cursor.token.word, cursor.peek().word
    if opening == "(" and queries.starts(cursor, 2):
        cursor.fail(f"{kind} of a query is not supported: use ARRAY_AGG or COLLECT")
    if opening != "[":
        return None
    cursor.index += 2
    items = [] if cursor.at("]") else cursor.listed(lambda: expression(cursor))
    cursor.expect("]")
    if kind == "ARRAY":
        return exp.Array(expressions=items)
    if len(items) % 2:
        cursor.fail("MAP[..] has a value for every key", cursor.index - 1)
    return MapConstructor(expressions=items)


def _constant(value: Callable[[], exp.Expression]) -> Callable[[Cursor], exp.Expression]:
    def read(cursor: Cursor) -> exp.Expression:
        cursor.advance()
        return value()

    return read


def _unsupported(instead: str) -> Callable[[Cursor], exp.Expression | None]:
    def read(cursor: Cursor) -> exp.Expression | None:
        if cursor.peek().word in ("(", "["):
            cursor.fail(f"{cursor.token.word} is not supported here: {instead}")
        return None

    return read


_WORDS: dict[str, Callable[[Cursor], exp.Expression | None]] = {
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
    "NULL": _constant(exp.Null),
    "TRUE": _constant(lambda: exp.Boolean(this=True)),
    "FALSE": _constant(lambda: exp.Boolean(this=False)),
    "UNIQUE": _unsupported("compare COUNT(*) with COUNT(DISTINCT ..)"),
    "MULTISET": _unsupported("use COLLECT"),
    "UNNEST": _unsupported("it stands in FROM: CROSS JOIN UNNEST(..)"),
}
