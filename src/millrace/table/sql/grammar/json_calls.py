"""JSON functions, with their RETURNING, ON EMPTY, ON ERROR and ON NULL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.over import order_by
from millrace.table.sql.grammar.types import type_name
from millrace.table.sql.nodes import (
    JsonArray,
    JsonArrayAgg,
    JsonEntry,
    JsonExists,
    JsonObject,
    JsonObjectAgg,
    JsonQuery,
    JsonValue,
    TypeName,
)
from millrace.table.sql.text.tokens import Kind

Reader = Callable[[Cursor, str], nodes.Node]


def _document(cursor: Cursor) -> tuple[nodes.Node, nodes.Literal]:
    """The first two arguments: a document and a path."""
    document = expressions.expression(cursor)
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
        default = expressions.expression(cursor) if action == "DEFAULT" else None
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


def _exists(cursor: Cursor, name: str) -> nodes.Node:
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
    key = expressions.expression(cursor)
    cursor.expect_any("VALUE", ":")
    return cursor.put(JsonEntry(this=key, expression=expressions.expression(cursor)), begin)


def _object(cursor: Cursor, name: str) -> nodes.Node:
    entries = () if cursor.at(")") or _at_on_null(cursor) else cursor.listed(lambda: _entry(cursor))
    return JsonObject(expressions=entries, on_null=_on_null(cursor, "NULL"))


def _object_agg(cursor: Cursor, name: str) -> nodes.Node:
    return JsonObjectAgg(this=_entry(cursor), on_null=_on_null(cursor, "NULL"))


def _array(cursor: Cursor, name: str) -> nodes.Node:
    empty = cursor.at(")") or _at_on_null(cursor)
    items = () if empty else cursor.listed(lambda: expressions.expression(cursor))
    return JsonArray(expressions=items, on_null=_on_null(cursor, "ABSENT"))


def _array_agg(cursor: Cursor, name: str) -> nodes.Node:
    begin = cursor.index
    item = expressions.expression(cursor)
    order = order_by(cursor) if cursor.at("ORDER", "BY") else None
    found = cursor.put(JsonArrayAgg(this=item, on_null=_on_null(cursor, "ABSENT")), begin)
    return found if order is None else nodes.WithinGroup(this=found, expression=order)


def _at_on_null(cursor: Cursor) -> bool:
    return cursor.token.kind is Kind.WORD and (cursor.at("NULL", "ON") or cursor.at("ABSENT", "ON"))


JSON_CALLS: dict[str, Reader] = {
    "JSON_VALUE": _value,
    "JSON_QUERY": _query,
    "JSON_EXISTS": _exists,
    "JSON_OBJECT": _object,
    "JSON_OBJECTAGG": _object_agg,
    "JSON_ARRAY": _array,
    "JSON_ARRAYAGG": _array_agg,
}
