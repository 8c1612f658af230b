"""GROUP BY with GROUPING SETS, ROLLUP and CUBE."""

from __future__ import annotations

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions
from millrace.table.sql.grammar.cursor import Cursor


def group_by(cursor: Cursor) -> nodes.Group:
    begin = cursor.index
    cursor.expect("GROUP", "BY")
    distinct = cursor.take_any("ALL", "DISTINCT") == "DISTINCT"
    return cursor.put(nodes.Group(cursor.listed(lambda: _item(cursor)), distinct), begin)


def _item(cursor: Cursor) -> nodes.Node:
    begin = cursor.index
    if cursor.take("GROUPING", "SETS"):
        return cursor.put(nodes.GroupingSets(expressions=cursor.in_brackets(lambda: _item(cursor))), begin)
    kind = cursor.take_any("ROLLUP", "CUBE")
    if kind:
        node = nodes.Rollup if kind == "ROLLUP" else nodes.Cube
        return cursor.put(node(expressions=cursor.in_brackets(lambda: _item(cursor))), begin)
    if cursor.take("(", ")"):
        return cursor.put(nodes.Tuple(expressions=()), begin)
    return expressions.expression(cursor)
