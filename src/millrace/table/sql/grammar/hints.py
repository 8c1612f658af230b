"""Hints: /*+ OPTIONS('k' = 'v'), BROADCAST(t) */."""

from __future__ import annotations

from sqlglot import exp

from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.nodes import HintCall
from millrace.table.sql.tokens import Kind


def hints(cursor: Cursor) -> exp.Hint | None:
    """The hints that come next, if any."""
    begin = cursor.index
    if not cursor.take("/*+"):
        return None
    calls = []
    while not cursor.take("*/"):
        calls.append(_hint(cursor))
        cursor.take(",")
    return cursor.put(exp.Hint(expressions=calls), begin)


def _hint(cursor: Cursor) -> HintCall:
    begin = cursor.index
    name = cursor.name("a name of a hint").upper()
    items = []
    if cursor.take("(") and not cursor.take(")"):
        items = cursor.listed(lambda: _item(cursor))
        cursor.expect(")")
    return cursor.put(HintCall(this=name, expressions=items), begin)


def _item(cursor: Cursor) -> exp.Expression:
    """``'key' = 'value'``, or a name."""
    begin = cursor.index
    key = cursor.put(exp.Literal.string(_text(cursor)), begin)
    if not cursor.take("="):
        return key
    at = cursor.index
    value = cursor.put(exp.Literal.string(_text(cursor)), at)
    return cursor.put(exp.PropertyEQ(this=key, expression=value), begin)


def _text(cursor: Cursor) -> str:
    if cursor.token.kind in (Kind.STRING, Kind.NUMBER):
        return cursor.advance().text
    return ".".join(cursor.path("a name, or a key in single quotes"))
