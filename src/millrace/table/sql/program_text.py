"""Writes expressions of the Table API as text: as Flink prints them, ``plus(a, 1)``, ``cast(b, DATE)``, and as
tables store them, with each column in backticks."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from millrace.common.text import double_text
from millrace.table.sql import nodes
from millrace.table.sql.nodes import Column, Identifier, Node
from millrace.table.sql.writing import text, written

_MILLISECOND = datetime.timedelta(milliseconds=1)


def shown(node: nodes.Node) -> str:
    """The text of an expression."""
    form = _FORMS.get(type(node))
    return written(node) if form is None else str(form(node))


def constant_text(value: Any) -> str:
    """A constant: text in quotes, durations in milliseconds, the rest as Java shows it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, datetime.timedelta):
        return str(value // _MILLISECOND)
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return str(value)


def _call(name: str, args: Iterable[Any]) -> str:
    return f"{name}({', '.join(shown(arg) if isinstance(arg, nodes.Node) else str(arg) for arg in args)})"


def _function(name: str, args: tuple[nodes.Node, ...]) -> str:
    if args and isinstance(args[0], nodes.Distinct):
        return f"distinct({_call(name, args[0].expressions)})"
    return _call(name, args)


def _built_in(node: nodes.BuiltIn) -> str:
    args = node.expressions
    if node.this != "TRIM":
        return _function(node.shown or node.this, args)
    sides = (str(nodes.name_of(args[0]) in (side, "BOTH")).lower() for side in ("LEADING", "TRAILING"))
    return _call("trim", (*sides, *args[1:]))


def _field(node: nodes.Dot) -> str:
    if isinstance(node.expression, nodes.Call):
        return _function(".".join(nodes.call_path(node)), node.expression.expressions)
    if isinstance(node.expression, nodes.Star):
        return _call("flatten", [node.this])
    key = node.expression
    return _call("get", [node.this, key if isinstance(key, nodes.Literal) else text(nodes.name_of(key))])


def _over(node: nodes.Window) -> str:
    alias = node.alias
    assert alias is not None
    return _call("over", [node.this, text(alias.this) if alias.quoted else alias.this])


def _not(node: nodes.Not) -> str:
    inside = node.this
    if isinstance(inside, nodes.Between):
        return _call("notBetween", [inside.this, inside.low, inside.high])
    return _call("not", [inside])


def _in(node: nodes.In) -> str:
    return _call("in", [node.this, *(node.expressions if node.query is None else ["<table>"])])


def _value(node: nodes.JsonValue) -> str:
    empty, error = (default or nodes.Constant(None) for default in (node.empty_default, node.error_default))
    returning = None if node.returning is None else node.returning.data_type
    return _call("JSON_VALUE", [node.this, node.path, returning, node.on_empty, empty, node.on_error, error])


def _query(node: nodes.JsonQuery) -> str:
    words = [f"{node.wrapper}_ARRAY", node.on_empty, node.on_error]
    return _call("JSON_QUERY", [node.this, node.path, "STRING", *(word.replace(" ", "_") for word in words)])


def _entries(entries: Iterable[nodes.JsonEntry]) -> list[nodes.Node]:
    return [part for entry in entries for part in (entry.this, entry.expression)]


_FORMS: dict[type[nodes.Node], Any] = {
    nodes.Column: lambda node: node.name,
    nodes.Constant: lambda node: constant_text(node.value),
    nodes.RowCount: lambda node: node.rows,
    nodes.BuiltIn: _built_in,
    nodes.Call: lambda node: _function(node.this, node.expressions),
    nodes.DefinedCall: lambda node: text(node.made),
    nodes.GivenCall: lambda node: _function(node.function.shown_name(), node.expressions),
    nodes.Distinct: lambda node: _call("distinct", node.expressions),
    nodes.Dot: _field,
    nodes.Cast: lambda node: _call("cast", [node.this, node.to]),
    nodes.TryCast: lambda node: _call("TRY_CAST", [node.this, node.to]),
    nodes.Alias: lambda node: _call("as", [node.this, *map(text, node.names)]),
    nodes.Ordered: lambda node: _call("desc" if node.desc else "asc", [node.this]),
    nodes.Window: _over,
    nodes.WindowProperty: lambda node: _call(node.property.lower(), [node.this]),
    nodes.Range: lambda node: _call("rangeTo", [node.start, node.end]),
    nodes.Columns: lambda node: _call("withoutColumns" if node.without else "withColumns", node.expressions),
    nodes.Not: _not,
    nodes.Neg: lambda node: _call("minusPrefix", [node.this]),
    nodes.Between: lambda node: _call("between", [node.this, node.low, node.high]),
    nodes.In: _in,
    nodes.Case: lambda node: _call("ifThenElse", [node.ifs[0].this, node.ifs[0].true, node.default]),
    nodes.JsonValue: _value,
    nodes.JsonQuery: _query,
    nodes.JsonExists: lambda node: _call("JSON_EXISTS", filter(None, [node.this, node.path, node.on_error])),
    nodes.JsonObject: lambda node: _call("JSON_OBJECT", [node.on_null, *_entries(node.expressions)]),
    nodes.JsonArray: lambda node: _call("JSON_ARRAY", [node.on_null, *node.expressions]),
    nodes.JsonObjectAgg: lambda node: _call(f"JSON_OBJECTAGG_{node.on_null}_ON_NULL", _entries([node.this])),
    nodes.JsonArrayAgg: lambda node: _call(f"JSON_ARRAYAGG_{node.on_null}_ON_NULL", [node.this]),
    nodes.Kwarg: lambda node: _call("ASSIGNMENT", [text(node.this.this), node.expression]),
    nodes.Position: lambda node: node.shown or f"f{node.index}",
    nodes.SqlText: lambda node: f"[{node.text}]",
    nodes.WholeRow: lambda node: "*",
}


# With backticks


def with_quoted_columns(tree: Node) -> str:
    """The text of an expression, which means the same whatever words become keywords."""
    return written(tree.rewritten(_quoted))


def _quoted(node: Node) -> Node | None:
    return node.rebuilt(_quoted_part) if isinstance(node, Column) else None


def _quoted_part(part: Node) -> Node:
    return replace(part, quoted=True) if isinstance(part, Identifier) else part
