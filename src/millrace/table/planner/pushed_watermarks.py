"""Watermarks that are made inside a source, for each of its splits.

Partitions of a topic are each in order, and not with each other: a watermark that follows from all rows as they come
would make those of a slower partition late.
"""

from __future__ import annotations

from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.relational import nodes as n
from millrace.relational.rex import Ref, Rex, substitute
from millrace.relational.rules.determinism import is_deterministic, is_expensive
from millrace.runtime.tables.watermark import RowsWatermarks
from millrace.table.planner.plan import Plan


def watermark_of_scan(plan: Plan, node: n.Watermark) -> tuple[n.Scan, WatermarkStrategy] | None:
    """The scan below, and its strategy; None: it stays an operator of its own.

    That is so where the source makes none for its splits, where others read the same scan, and where functions of the
    user or the time of the day say what time a row has.
    """
    below: n.Rel = node.input
    schema = below.schema
    time: Rex = Ref(schema[node.column].type, node.column)
    expression = node.expression
    while isinstance(below, (n.Project, n.Hinted)):
        if plan.is_shared(below):
            return None
        if isinstance(below, n.Project):
            time, expression = (substitute(each, below.expressions) for each in (time, expression))
        below = below.input
    if not isinstance(below, n.Scan) or plan.is_shared(below) or getattr(below.source, "watermarks", None) is None:
        return None
    if any(is_expensive(each) or not is_deterministic(each) for each in (time, expression)):
        return None
    made = below.source.watermarks
    idle = plan.options.idle_timeout if made.idle_timeout is None else made.idle_timeout
    generator = RowsWatermarks(time, expression, plan.options.environment)
    strategy = WatermarkStrategy(generator, idle_timeout_ms=idle or None, alignment=made.alignment)
    return below, strategy
