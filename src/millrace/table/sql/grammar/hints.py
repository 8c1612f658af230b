"""Hints: /*+ OPTIONS('k' = 'v'), BROADCAST(t) */."""

from __future__ import annotations

from millrace.table.sql import nodes
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.nodes import HintCall
from millrace.table.sql.text.tokens import Kind


def hints(cursor: Cursor) -> nodes.Hint | None:
    """The hints that come next, if any."""
    begin = cursor.index
    if not cursor.take("/*+"):
        return None
    calls = []
    while not cursor.take("*/"):
        calls.append(_hint(cursor))
        cursor.take(",")
    return cursor.put(nodes.Hint(expressions=tuple(calls)), begin)


def _hint(cursor: Cursor) -> HintCall:
    begin = cursor.index
    name = cursor.name("a name of a hint").upper()
    items: tuple[nodes.Node, ...] = ()
    if cursor.take("(") and not cursor.take(")"):
        items = cursor.listed(lambda: _item(cursor))
        cursor.expect(")")
    return cursor.put(HintCall(this=name, expressions=items), begin)


def _item(cursor: Cursor) -> nodes.Node:
    """``'key' = 'value'``, or a name."""
    begin = cursor.index
    key = cursor.put(nodes.Literal.string(_text(cursor)), begin)
    if not cursor.take("="):
        return key
    at = cursor.index
    value = cursor.put(nodes.Literal.string(_text(cursor)), at)
    return cursor.put(nodes.PropertyEQ(this=key, expression=value), begin)


def _text(cursor: Cursor) -> str:
    if cursor.token.kind in (Kind.STRING, Kind.NUMBER):
        return cursor.advance().text
    return ".".join(cursor.path("a name, or a key in single quotes"))
