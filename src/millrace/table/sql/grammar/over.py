"""ORDER BY, and windows of OVER."""

from __future__ import annotations

from typing import Any

from millrace.table.sql import nodes
from millrace.table.sql.grammar import expressions
from millrace.table.sql.grammar.cursor import Cursor


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
    value = expressions.expression(cursor)
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
        args["partition_by"] = cursor.listed(lambda: expressions.expression(cursor))
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
    start = "UNBOUNDED" if cursor.take("UNBOUNDED") else expressions.operand(cursor)
    return start, cursor.expect_any("PRECEDING", "FOLLOWING")
