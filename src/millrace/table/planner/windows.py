"""Windowing table functions, and aggregates per window."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.types import LocalZonedTimestampType
from millrace.runtime.tables.window_table import WindowTable
from millrace.table.planner.changes import changes_of
from millrace.table.planner.plan import Plan, Planned, rule


@rule(n.WindowTable)
def window_table(plan: Plan, node: n.WindowTable, before: bool) -> Planned:
    column = node.input.schema[node.time]
    config = WindowTable(
        window=node.window,
        time=None if column.time == n.PROCTIME else node.time,
        zoned=isinstance(column.type, LocalZonedTimestampType),
        **plan.options.common,
    )
    below = plan.add(node.input, before)
    name = f"WindowTableFunction({node.window.kind})"
    return plan.step(name, config, [(below, None)], node.schema, changes_of(node))
