"""Calls of JSON functions as text. Everything that has a default is written."""

from __future__ import annotations

from millrace.table.sql import nodes
from millrace.table.sql.writing.dispatch import after, listed, spaced, written


@written.register
def _value(node: nodes.JsonValue) -> str:
    empty = _action(node.on_empty, node.empty_default) + " ON EMPTY"
    error = _action(node.on_error, node.error_default) + " ON ERROR"
    return f"JSON_VALUE({spaced(_document(node), after('RETURNING ', node.returning), empty, error)})"


@written.register
def _query(node: nodes.JsonQuery) -> str:
    wrapper = "WITHOUT ARRAY WRAPPER" if node.wrapper == "WITHOUT" else f"WITH {node.wrapper} ARRAY WRAPPER"
    events = f"{node.on_empty} ON EMPTY {node.on_error} ON ERROR"
    return f"JSON_QUERY({spaced(_document(node), after('RETURNING ', node.returning), wrapper, events)})"


@written.register
def _exists(node: nodes.JsonExists) -> str:
    return f"JSON_EXISTS({_document(node)} {node.on_error} ON ERROR)"


@written.register
def _entry(node: nodes.JsonEntry) -> str:
    return f"KEY {written(node.this)} VALUE {written(node.expression)}"


@written.register
def _object(node: nodes.JsonObject) -> str:
    return f"JSON_OBJECT({spaced(listed(node.expressions), node.on_null)} ON NULL)"


@written.register
def _object_agg(node: nodes.JsonObjectAgg) -> str:
    return f"JSON_OBJECTAGG({written(node.this)} {node.on_null} ON NULL)"


@written.register
def _array(node: nodes.JsonArray) -> str:
    return f"JSON_ARRAY({spaced(listed(node.expressions), node.on_null)} ON NULL)"


@written.register
def _array_agg(node: nodes.JsonArrayAgg) -> str:
    return f"JSON_ARRAYAGG({written(node.this)} {node.on_null} ON NULL)"


def _document(node: nodes.JsonValue | nodes.JsonQuery | nodes.JsonExists) -> str:
    return f"{written(node.this)}, {written(node.path)}"


def _action(action: str, default: nodes.Node | None) -> str:
    return action if default is None else f"DEFAULT {written(default)}"
