"""Reads expressions by the precedence of their operators, and their operands: literals, columns, brackets, CASE,
CAST, elements and fields, and calls of functions, with what may follow one: ORDER BY, IGNORE NULLS, WITHIN GROUP,
FILTER, OVER with its window.
Functions whose arguments have keywords between them become plain calls; JSON functions have nodes of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from millrace.table.sql import nodes
from millrace.table.sql.grammar.types import INTERVAL_UNITS, interval, time_between, type_name
from millrace.table.sql.nodes import (
    Descriptor,
    Final,
    JsonArray,
    JsonArrayAgg,
    JsonEntry,
    JsonExists,
    JsonObject,
    JsonObjectAgg,
    JsonQuery,
    JsonValue,
    ModelArgument,
    Running,
    TableArgument,
    TypedLiteral,
    TypeName,
)
from millrace.table.sql.text import RESERVED, UNITS, Cursor, Kind
from millrace.util.names import did_you_mean

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
    if token.kind is not Kind.WORD or (token.word in RESERVED and not starts_call(cursor)):
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
    if cursor.upper.starts_query(cursor, 0, nested=False):
        found = nodes.Subquery(this=cursor.upper.query(cursor))
    else:
        items = cursor.listed(lambda: expression(cursor))
        if isinstance(items[0], nodes.Subquery) and len(items) == 1 and cursor.upper.continues_query(cursor):
            found = nodes.Subquery(this=cursor.upper.rest_of_query(cursor, items[0], begin + 1))
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
    if starts_call(cursor):
        return call(cursor)
    parts = [cursor.identifier("an expression")]
    while cursor.at("."):
        cursor.advance()
        if cursor.peek().word == "(" and cursor.token.kind in (Kind.WORD, Kind.QUOTED):
            return qualified_call(cursor, parts, begin)
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
    return nodes.Exists(this=cursor.upper.query_in_brackets(cursor).this)


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
    if opening == "(" and cursor.upper.starts_query(cursor, 2):
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
"""The most operands of ``||`` that are joined one after the other; more are joined in pairs first, so that the tree
stays shallow."""
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
    if cursor.upper.starts_query(cursor, 1):
        return cursor.put(node(query=cursor.upper.query_in_brackets(cursor)), begin)
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
    if cursor.upper.starts_query(cursor, 1):
        return nodes.In(this=left, query=cursor.upper.query_in_brackets(cursor))
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


# ORDER BY and OVER


def order_by(cursor: Cursor, one: bool = False) -> nodes.Order:
    """ORDER BY and its items. ``one``: several only in brackets, since a comma ends the clause."""
    begin = cursor.index
    cursor.expect("ORDER", "BY")
    if one:
        items = cursor.in_brackets(lambda: _ordered(cursor)) if cursor.at("(") else (_ordered(cursor),)
    else:
        items = cursor.listed(lambda: _ordered(cursor))
    return cursor.put(nodes.Order(expressions=items), begin)


def _ordered(cursor: Cursor) -> nodes.Ordered:
    begin = cursor.index
    value = expression(cursor)
    descending = cursor.take_any("ASC", "DESC") == "DESC"
    nulls_first = cursor.expect_any("FIRST", "LAST") == "FIRST" if cursor.take("NULLS") else None
    return cursor.put(nodes.Ordered(this=value, desc=descending, nulls_first=nulls_first), begin)


def over(cursor: Cursor, found: nodes.Node, begin: int) -> nodes.Window:
    """OVER w, or OVER ( .. ), after a call."""
    cursor.expect("OVER")
    if cursor.is_name():
        return cursor.put(nodes.Window(this=found, alias=cursor.identifier()), begin)
    return cursor.put(nodes.Window(this=found, **window(cursor)), begin)


def named_window(cursor: Cursor) -> nodes.Window:
    """``w AS ( .. )``."""
    begin = cursor.index
    name = cursor.identifier("a name of a window")
    cursor.expect("AS")
    return cursor.put(nodes.Window(this=name, **window(cursor)), begin)


def window(cursor: Cursor) -> dict[str, Any]:
    """What is in brackets after OVER, as args of ``nodes.Window``."""
    cursor.expect("(")
    args: dict[str, Any] = {}
    if cursor.is_name() and not cursor.at_any("ROWS", "RANGE"):
        args["alias"] = cursor.identifier("a name of a window, PARTITION BY or ORDER BY")
    if cursor.take("PARTITION", "BY"):
        args["partition_by"] = cursor.listed(lambda: expression(cursor))
    if cursor.at("ORDER"):
        args["order"] = order_by(cursor)
    if cursor.at_any("ROWS", "RANGE"):
        args["spec"] = _frame(cursor)
    cursor.expect(")")
    return args


def _frame(cursor: Cursor) -> nodes.WindowSpec:
    begin = cursor.index
    kind = cursor.advance().word
    between = cursor.take("BETWEEN")
    start, start_side = _bound(cursor)
    end, end_side = "CURRENT ROW", None
    if between:
        cursor.expect("AND")
        end, end_side = _bound(cursor)
    if cursor.at("EXCLUDE"):
        cursor.fail("EXCLUDE is not supported in OVER: filter with CASE inside the aggregate")
    spec = nodes.WindowSpec(kind=kind, start=start, start_side=start_side, end=end, end_side=end_side)
    return cursor.put(spec, begin)


def _bound(cursor: Cursor) -> tuple[Any, str | None]:
    if cursor.take("CURRENT", "ROW"):
        return "CURRENT ROW", None
    start = "UNBOUNDED" if cursor.take("UNBOUNDED") else operand(cursor)
    return start, cursor.expect_any("PRECEDING", "FOLLOWING")


# Calls: arguments with keywords between them

Reader = Callable[[Cursor, str], nodes.Node]
"""Reads what is in the brackets of a call with this name."""


def _call(name: str, *arguments: nodes.Node | None) -> nodes.Node:
    return nodes.Call(this=name, expressions=tuple(argument for argument in arguments if argument is not None))


def _unit(cursor: Cursor) -> nodes.Node:
    """A unit of time, in the singular and without the prefix SQL_TSI_."""
    begin, token = cursor.index, cursor.token
    unit = token.word.removeprefix("SQL_TSI_")
    unit = unit if unit in UNITS else unit.removesuffix("S")
    if token.kind is not Kind.WORD:
        cursor.fail_expecting("a unit of time")
    if unit not in UNITS:
        cursor.fail(f"'{token.text}' is no unit of time{did_you_mean(token.text, UNITS)}")
    cursor.advance()
    return cursor.put(nodes.Var(this=unit), begin)


def _extract(cursor: Cursor, name: str) -> nodes.Node:
    unit = _unit(cursor)
    cursor.expect("FROM")
    return _call(name, unit, expression(cursor))


def _rounded(cursor: Cursor, name: str) -> nodes.Node:
    value = expression(cursor)
    return _call(name, value, _unit(cursor) if cursor.take("TO") else None)


def _with_unit(cursor: Cursor, name: str) -> nodes.Node:
    unit = _unit(cursor)
    cursor.expect(",")
    count = expression(cursor)
    cursor.expect(",")
    return _call(name, unit, count, expression(cursor))


def _trim(cursor: Cursor, name: str) -> nodes.Node:
    begin = cursor.index
    side = cursor.take_any("LEADING", "TRAILING", "BOTH")
    where = cursor.put(nodes.Var(this=side or "BOTH"), begin)
    blank = nodes.Literal.string(" ")
    if side and cursor.take("FROM"):
        return _call(name, where, blank, expression(cursor))
    first = expression(cursor)
    if cursor.take("FROM"):
        return _call(name, where, first, expression(cursor))
    return _call(name, where, blank, first) if side else _call(name, first)


def _position(cursor: Cursor, name: str) -> nodes.Node:
    needle = operand(cursor)
    cursor.expect("IN")
    return _call(name, needle, expression(cursor))


def _overlay(cursor: Cursor, name: str) -> nodes.Node:
    return _sections(cursor, name, ("PLACING", "FROM", "FOR"), at_least=2)


def _substring(cursor: Cursor, name: str) -> nodes.Node:
    return _sections(cursor, name, ("FROM", "FOR"), at_least=0)


def _sections(cursor: Cursor, name: str, words: tuple[str, ...], at_least: int) -> nodes.Node:
    """Arguments with these words, or commas, between them; so many words have to be there."""
    arguments = [expression(cursor)]
    if cursor.at(","):
        while cursor.take(","):
            arguments.append(expression(cursor))
        return _call(name, *arguments)
    for number, word in enumerate(words):
        if number < at_least:
            cursor.expect(word)
        elif not cursor.take(word):
            break
        arguments.append(expression(cursor))
    return _call(name, *arguments)


SPECIAL_CALLS: dict[str, Reader] = {
    "EXTRACT": _extract,
    "FLOOR": _rounded,
    "CEIL": _rounded,
    "CEILING": _rounded,
    "TIMESTAMPADD": _with_unit,
    "TIMESTAMPDIFF": _with_unit,
    "TRIM": _trim,
    "POSITION": _position,
    "OVERLAY": _overlay,
    "SUBSTRING": _substring,
}


# JSON functions


def _document(cursor: Cursor) -> tuple[nodes.Node, nodes.Literal]:
    """The first two arguments: a document and a path."""
    document = expression(cursor)
    cursor.expect(",")
    begin = cursor.index
    path = cursor.string("a path in single quotes, such as '$.name'")
    return document, cursor.put(nodes.Literal.string(path), begin)


def _returning(cursor: Cursor) -> TypeName | None:
    return type_name(cursor) if cursor.take("RETURNING") else None


def _value(cursor: Cursor, name: str) -> nodes.Node:
    arguments = (*_document(cursor), _returning(cursor))
    behaviour: dict[str, Any] = {}
    while not cursor.at(")"):
        action = cursor.expect_any("NULL", "ERROR", "DEFAULT")
        default = expression(cursor) if action == "DEFAULT" else None
        cursor.expect("ON")
        event = cursor.expect_any("EMPTY", "ERROR").lower()
        behaviour[f"on_{event}"] = action
        behaviour[f"{event}_default"] = default
    return JsonValue(*arguments, **behaviour)


def _query(cursor: Cursor, name: str) -> nodes.Node:
    arguments = (*_document(cursor), _returning(cursor), _wrapper(cursor))
    behaviour: dict[str, Any] = {}
    while not cursor.at(")"):
        action = cursor.expect_any("NULL", "ERROR", "EMPTY")
        if action == "EMPTY":
            action = f"EMPTY {cursor.expect_any('ARRAY', 'OBJECT')}"
        cursor.expect("ON")
        behaviour[f"on_{cursor.expect_any('EMPTY', 'ERROR').lower()}"] = action
    return JsonQuery(*arguments, **behaviour)


def _wrapper(cursor: Cursor) -> str:
    """WITHOUT [ARRAY] WRAPPER, WITH [CONDITIONAL | UNCONDITIONAL] [ARRAY] WRAPPER, or nothing."""
    word = cursor.take_any("WITHOUT", "WITH")
    if not word:
        return "WITHOUT"
    kind = "WITHOUT"
    if word == "WITH":
        kind = cursor.take_any("CONDITIONAL", "UNCONDITIONAL") or "UNCONDITIONAL"
    cursor.take("ARRAY")
    cursor.expect("WRAPPER")
    return kind


def _json_exists(cursor: Cursor, name: str) -> nodes.Node:
    arguments = _document(cursor)
    action = cursor.take_any("TRUE", "FALSE", "UNKNOWN", "ERROR")
    if action:
        cursor.expect("ON", "ERROR")
    return JsonExists(*arguments, on_error=action or "FALSE")


def _on_null(cursor: Cursor, default: str) -> str:
    action = cursor.take_any("NULL", "ABSENT")
    if action:
        cursor.expect("ON", "NULL")
    return action or default


def _entry(cursor: Cursor) -> JsonEntry:
    """``[KEY] k VALUE v``, or ``k : v``."""
    begin = cursor.index
    if cursor.at("KEY") and cursor.peek().word not in (".", ",", ")", ":", "VALUE", "("):
        cursor.advance()
    key = expression(cursor)
    cursor.expect_any("VALUE", ":")
    return cursor.put(JsonEntry(this=key, expression=expression(cursor)), begin)


def _object(cursor: Cursor, name: str) -> nodes.Node:
    entries = () if cursor.at(")") or _at_on_null(cursor) else cursor.listed(lambda: _entry(cursor))
    return JsonObject(expressions=entries, on_null=_on_null(cursor, "NULL"))


def _object_agg(cursor: Cursor, name: str) -> nodes.Node:
    return JsonObjectAgg(this=_entry(cursor), on_null=_on_null(cursor, "NULL"))


def _array(cursor: Cursor, name: str) -> nodes.Node:
    empty = cursor.at(")") or _at_on_null(cursor)
    items = () if empty else cursor.listed(lambda: expression(cursor))
    return JsonArray(expressions=items, on_null=_on_null(cursor, "ABSENT"))


def _array_agg(cursor: Cursor, name: str) -> nodes.Node:
    begin = cursor.index
    item = expression(cursor)
    order = order_by(cursor) if cursor.at("ORDER", "BY") else None
    found = cursor.put(JsonArrayAgg(this=item, on_null=_on_null(cursor, "ABSENT")), begin)
    return found if order is None else nodes.WithinGroup(this=found, expression=order)


def _at_on_null(cursor: Cursor) -> bool:
    return cursor.token.kind is Kind.WORD and (cursor.at("NULL", "ON") or cursor.at("ABSENT", "ON"))


JSON_CALLS: dict[str, Reader] = {
    "JSON_VALUE": _value,
    "JSON_QUERY": _query,
    "JSON_EXISTS": _json_exists,
    "JSON_OBJECT": _object,
    "JSON_OBJECTAGG": _object_agg,
    "JSON_ARRAY": _array,
    "JSON_ARRAYAGG": _array_agg,
}


# Calls

_BARE = {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"}
"""Functions that are called without brackets."""

_RESERVED_NAMES = {"LEFT", "RIGHT", "ROW", "GROUPING", "ARRAY"}
"""Keywords that are functions as well."""


def starts_call(cursor: Cursor) -> bool:
    """Whether a call comes next, of a function without a catalog and database."""
    token = cursor.token
    if token.kind is Kind.WORD and token.word in _BARE:
        return True
    if token.word in ("FINAL", "RUNNING") and cursor.peek(2).word == "(" and cursor.is_name(1):
        return True
    named = cursor.is_name() or token.word in _RESERVED_NAMES
    return named and cursor.peek().word == "("


def call(cursor: Cursor) -> nodes.Node:
    """A call, with all that follows it."""
    begin, token = cursor.index, cursor.token
    if token.word in ("FINAL", "RUNNING") and cursor.peek().word != "(":
        wrapper = Final if cursor.advance().word == "FINAL" else Running
        return cursor.put(wrapper(this=call(cursor)), begin)
    cursor.advance()
    if token.word in _BARE and not cursor.at("("):
        return cursor.put(nodes.Call(this=token.text, expressions=()), begin)
    special = SPECIAL_CALLS.get(token.word) or JSON_CALLS.get(token.word)
    if special is None:
        return _followed(cursor, _plain(cursor, begin), begin)
    cursor.expect("(")
    found = special(cursor, token.text)
    cursor.expect(")")
    return _followed(cursor, cursor.put(found, begin), begin)


def qualified_call(cursor: Cursor, parts: Sequence[nodes.Identifier], begin: int) -> nodes.Node:
    """A call of ``cat.db.f``, of which the names before the last have been read."""
    at = cursor.index
    cursor.advance()
    return _followed(cursor, cursor.put(nodes.Dot.between(*parts, _plain(cursor, at)), begin), begin)


def _plain(cursor: Cursor, begin: int) -> nodes.Node:
    """A call whose name, token ``begin``, has been read."""
    name = cursor.peek(begin - cursor.index).text
    arguments: tuple[nodes.Node, ...] = ()
    nulls = ""
    cursor.expect("(")
    if not cursor.at(")"):
        at = cursor.index
        distinct = cursor.take_any("DISTINCT", "ALL") == "DISTINCT"
        arguments = cursor.listed(lambda: argument(cursor))
        if distinct:
            arguments = (cursor.put(nodes.Distinct(expressions=arguments), at),)
        nulls = _nulls(cursor)
    cursor.expect(")")
    return _with_nulls(cursor, cursor.put(nodes.Call(this=name, expressions=arguments), begin), begin, nulls)


def argument(cursor: Cursor) -> nodes.Node:
    """One argument: an expression, or what only calls may have."""
    begin = cursor.index
    if cursor.take("*"):
        return cursor.put(nodes.Star(), begin)
    if cursor.token.kind in (Kind.WORD, Kind.QUOTED) and cursor.peek().word == "=>":
        quoted = cursor.token.kind is Kind.QUOTED
        name = cursor.put(nodes.Identifier(this=cursor.advance().text, quoted=quoted), begin)
        cursor.expect("=>")
        return cursor.put(nodes.Kwarg(this=name, expression=argument(cursor)), begin)
    if cursor.at("DEFAULT") and cursor.peek().word in (",", ")"):
        cursor.advance()
        return cursor.put(nodes.Var(this="DEFAULT"), begin)
    if cursor.take("TABLE"):
        return _table(cursor, begin)
    if cursor.at("DESCRIPTOR") and cursor.peek().word == "(":
        cursor.advance()
        names = cursor.in_brackets(lambda: cursor.identifier("a name of a column"))
        return cursor.put(Descriptor(expressions=names), begin)
    if cursor.at("MODEL") and cursor.is_name(1):
        cursor.advance()
        return cursor.put(ModelArgument(this=cursor.upper.table_name(cursor)), begin)
    if cursor.upper.starts_query(cursor, 0, nested=False):
        cursor.fail("a query as an argument stands in brackets of its own")
    return expression(cursor)


def _table(cursor: Cursor, begin: int) -> nodes.Node:
    table = cursor.upper.query_in_brackets(cursor) if cursor.at("(") else cursor.upper.table_name(cursor)
    partition_by: tuple[nodes.Node, ...] = ()
    if cursor.take("PARTITION", "BY"):
        partition_by = _one_or_more(cursor)
    order = order_by(cursor, one=True) if cursor.at("ORDER", "BY") else None
    return cursor.put(TableArgument(this=table, partition_by=partition_by, order=order), begin)


def _one_or_more(cursor: Cursor) -> tuple[nodes.Node, ...]:
    """A column, or several in brackets: a comma without them begins the next argument."""
    if cursor.at("("):
        return cursor.in_brackets(lambda: expression(cursor))
    return (operand(cursor),)


def _nulls(cursor: Cursor) -> str:
    if cursor.at_any("IGNORE", "RESPECT") and cursor.peek().word == "NULLS":
        word = cursor.advance().word
        cursor.advance()
        return word
    return ""


def _with_nulls(cursor: Cursor, found: nodes.Node, begin: int, nulls: str) -> nodes.Node:
    if not nulls:
        return found
    return cursor.put(nodes.IgnoreNulls(this=found) if nulls == "IGNORE" else nodes.RespectNulls(this=found), begin)


def _followed(cursor: Cursor, found: nodes.Node, begin: int) -> nodes.Node:
    found = _with_nulls(cursor, found, begin, _nulls(cursor))
    if cursor.take("WITHIN", "GROUP"):
        cursor.expect("(")
        order = order_by(cursor)
        cursor.expect(")")
        found = cursor.put(nodes.WithinGroup(this=found, expression=order), begin)
    if cursor.at("FILTER", "("):
        cursor.expect("FILTER", "(")
        at = cursor.index
        cursor.expect("WHERE")
        condition = cursor.put(nodes.Where(this=expression(cursor)), at)
        cursor.expect(")")
        found = cursor.put(nodes.Filter(this=found, expression=condition), begin)
    if cursor.at("OVER"):
        found = over(cursor, found, begin)
    return found
