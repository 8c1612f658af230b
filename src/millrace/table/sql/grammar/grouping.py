"""GROUP BY with GROUPING SETS, ROLLUP and CUBE."""

from __future__ import annotations

from sqlglot import exp

from millrace.table.sql.grammar import expressions
from millrace.table.sql.grammar.cursor import Cursor


def group_by(cursor: Cursor) -> exp.Group:
    begin = cursor.index
    cursor.expect("GROUP", "BY")
    cursor.take("ALL")
    if cursor.at("DISTINCT"):
        cursor.fail("GROUP BY DISTINCT is not supported: write each grouping set once")
    return cursor.put(exp.Group(expressions=cursor.listed(lambda: _item(cursor))), begin)


def _item(cursor: Cursor) -> exp.Expression:
    begin = cursor.index
    if cursor.take("GROUPING", "SETS"):
        return cursor.put(exp.GroupingSets(expressions=cursor.in_brackets(lambda: _item(cursor))), begin)
    kind = cursor.take_any("ROLLUP", "CUBE")
    if kind:
        node = exp.Rollup if kind == "ROLLUP" else exp.Cube
        return cursor.put(node(expressions=cursor.in_brackets(lambda: _item(cursor))), begin)
    if cursor.take("(", ")"):
        return cursor.put(exp.Tuple(expressions=[]), begin)
    return expressions.expression(cursor)
