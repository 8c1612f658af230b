"""Aggregates over the rows around each row: the select of ``over_window``."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import replace

from millrace.relational.nodes import Field, Over, Rel
from millrace.relational.rex import Frame, Ref, Rex, SortKey
from millrace.table.expression_methods.windows import OverWindow
from millrace.table.queries.projection import expand, named, project
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.queries.aggregates import bind_over_function
from millrace.table.sql.writing.programs import shown
from millrace.table.values.problems import problem

_UNBOUNDED = ("UNBOUNDED_ROW", "UNBOUNDED_RANGE")


def over_select(plan: Rel, windows: Sequence[OverWindow], fields: Sequence[nodes.Node], block: Block) -> Rel:
    """The columns of a select with ``over`` calls."""
    items = expand(fields, block)
    calls: dict[str, list[nodes.Window]] = {window.name: [] for window in windows}
    for item in items:
        for part in item.node.find_all(nodes.Window):
            calls[_window_name(part, calls)].append(part)
    places: dict[str, Ref] = {}
    for window in windows:
        own = {repr(call): call for call in calls[window.name]}
        if own:
            width = len(plan.schema)
            plan = _over(plan, window, list(own.values()), block)
            places |= {
                key: Ref(column.type, at) for at, (key, column) in enumerate(zip(own, plan.schema[width:]), width)
            }

    def placed(part: nodes.Node) -> Rex | None:
        return places[repr(part)] if isinstance(part, nodes.Window) else None

    with_results = replace(block, intercept=placed)
    return project(plan, [bind(item.node, with_results) for item in items], named(items))


def _window_name(call: nodes.Window, known: Iterable[str]) -> str:
    name = "" if call.alias is None else call.alias.this
    if name not in known:
        raise problem(f"{shown(call)}: no over window has the alias {name}; there are {', '.join(known)}")
    return name


def _over(plan: Rel, window: OverWindow, calls: Sequence[nodes.Window], block: Block) -> Rel:
    """One node for all calls over one window."""
    partition = [_column(node, block, "partition_by") for node in window.partition]
    order = _order(window, block)
    frame = _frame(window)
    bound = [bind_over_function(call.this, block, may_be_empty=True) for call in calls]
    produced = tuple(Field(f"over{index}", call.type) for index, call in enumerate(bound))
    return Over(plan, tuple(partition), order, tuple((call, frame) for call in bound), produced)


def _column(node: nodes.Node, block: Block, where: str) -> int:
    found = bind(node, block)
    if not isinstance(found, Ref):
        raise problem(f"{where} takes columns, not {shown(node)}: compute it with add_columns first")
    return found.index


def _order(window: OverWindow, block: Block) -> tuple[SortKey, ...]:
    node, descending = window.order, False
    if isinstance(node, nodes.Ordered):
        descending, node = node.desc, node.this
    return (SortKey(block.ref(_column(node, block, "order_by")), descending, not descending),)


def _frame(window: OverWindow) -> Frame:
    rows, preceding = _bound(window.preceding, "preceding")
    if window.following is None:
        return Frame(rows, preceding, 0)
    also_rows, following = _bound(window.following, "following")
    if rows != also_rows:
        raise problem("preceding and following of an over window are both rows, or both times")
    return Frame(rows, preceding, following)


def _bound(node: nodes.Node, where: str) -> tuple[bool, int | None]:
    """Whether rows are meant, and how many (or ms); None for unbounded."""
    if isinstance(node, nodes.Var):
        return node.name.endswith("_ROW"), None if node.name in _UNBOUNDED else 0
    if isinstance(node, nodes.RowCount):
        return True, node.rows
    if isinstance(node, nodes.Constant) and isinstance(node.value, datetime.timedelta):
        return False, node.value // datetime.timedelta(milliseconds=1)
    raise problem(
        f"{where}({shown(node)}) of an over window: give row_interval(n), a span such as lit(5).minutes, or a constant "
        "such as UNBOUNDED_RANGE"
    )
