"""Expressions as Flink prints them: ``plus(a, 1)``, ``cast(b, DATE)``."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from millrace.common.text import double_text
from millrace.table.queries import unbound as u

_MONTH_MILLIS = datetime.timedelta(milliseconds=1)


def text(node: u.Node) -> str:
    """The text of an expression."""
    found = _SIMPLE.get(type(node))
    if found is not None:
        return str(found(node))
    if isinstance(node, (u.Apply, u.Aggregation)):
        return _call(node.shown or node.function, node.args if node.shown_args is None else node.shown_args)
    return repr(node)


def literal_text(value: Any) -> str:
    """A constant: text in quotes, durations in milliseconds, the rest as Java shows it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, datetime.timedelta):
        return str(value // _MONTH_MILLIS)
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return str(value)


def quoted(value: str) -> str:
    """A text constant of SQL."""
    escaped = value.replace("'", "''")
    return f"'{escaped}'"


def _call(name: str, args: Sequence[Any]) -> str:
    return f"{name}({', '.join(text(arg) if isinstance(arg, u.Node) else str(arg) for arg in args)})"


def _columns(node: u.Columns) -> str:
    return _call("withoutColumns" if node.without else "withColumns", node.items)


_SIMPLE: dict[type[u.Node], Any] = {
    u.Column: lambda node: node.name,
    u.Symbol: lambda node: node.name,
    u.Literal: lambda node: literal_text(node.value),
    u.RowCount: lambda node: str(node.rows),
    u.Distinct: lambda node: _call("distinct", [node.child]),
    u.UserCall: lambda node: _call(node.function.shown_name(), node.args),
    u.NamedCall: lambda node: _call(node.name, node.args),
    u.Cast: lambda node: _call("TRY_CAST" if node.safe else "cast", [node.child, node.type]),
    u.Alias: lambda node: _call("as", [node.child, *map(quoted, node.names)]),
    u.Ordered: lambda node: _call("desc" if node.descending else "asc", [node.child]),
    u.OverCall: lambda node: _call("over", [node.child, node.window]),
    u.Get: lambda node: _call("get", [node.child, literal_text(node.key)]),
    u.Flatten: lambda node: _call("flatten", [node.child]),
    u.WindowProperty: lambda node: _call(node.property.lower(), [node.child]),
    u.Range: lambda node: _call("rangeTo", [node.start, node.end]),
    u.Columns: _columns,
    u.InTable: lambda node: _call("in", [node.child, "<table>"]),
    u.Sql: lambda node: f"[{node.text}]",
    u.WholeRow: lambda node: "*",
    u.Named: lambda node: _call("ASSIGNMENT", [quoted(node.name), node.child]),
    u.Bound: lambda node: node.shown or f"f{node.index}",
}
