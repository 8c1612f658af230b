"""Functions whose arguments have keywords between them; they become plain calls."""

from __future__ import annotations

from collections.abc import Callable

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.keywords import UNITS
from millrace.table.sql.text.errors import did_you_mean
from millrace.table.sql.text.tokens import Kind

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
    return _call(name, unit, expressions.expression(cursor))


def _rounded(cursor: Cursor, name: str) -> nodes.Node:
    value = expressions.expression(cursor)
    return _call(name, value, _unit(cursor) if cursor.take("TO") else None)


def _with_unit(cursor: Cursor, name: str) -> nodes.Node:
    unit = _unit(cursor)
    cursor.expect(",")
    count = expressions.expression(cursor)
    cursor.expect(",")
    return _call(name, unit, count, expressions.expression(cursor))


def _trim(cursor: Cursor, name: str) -> nodes.Node:
    begin = cursor.index
    side = cursor.take_any("LEADING", "TRAILING", "BOTH")
    where = cursor.put(nodes.Var(this=side or "BOTH"), begin)
    blank = nodes.Literal.string(" ")
    if side and cursor.take("FROM"):
        return _call(name, where, blank, expressions.expression(cursor))
    first = expressions.expression(cursor)
    if cursor.take("FROM"):
        return _call(name, where, first, expressions.expression(cursor))
    return _call(name, where, blank, first) if side else _call(name, first)


def _position(cursor: Cursor, name: str) -> nodes.Node:
    needle = expressions.operand(cursor)
    cursor.expect("IN")
    return _call(name, needle, expressions.expression(cursor))


def _overlay(cursor: Cursor, name: str) -> nodes.Node:
    return _sections(cursor, name, ("PLACING", "FROM", "FOR"), at_least=2)


def _substring(cursor: Cursor, name: str) -> nodes.Node:
    return _sections(cursor, name, ("FROM", "FOR"), at_least=0)


def _sections(cursor: Cursor, name: str, words: tuple[str, ...], at_least: int) -> nodes.Node:
    """Arguments with these words, or commas, between them; so many words have to be there."""
    arguments = [expressions.expression(cursor)]
    if cursor.at(","):
        while cursor.take(","):
            arguments.append(expressions.expression(cursor))
        return _call(name, *arguments)
    for number, word in enumerate(words):
        if number < at_least:
            cursor.expect(word)
        elif not cursor.take(word):
            break
        arguments.append(expressions.expression(cursor))
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
