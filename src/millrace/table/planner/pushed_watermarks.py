"""Watermarks that are made inside a source, for each of its splits.

Partitions of a topic are each in order, and not with each other: a watermark that follows from all rows as they come
would make those of a slower partition late.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.relational import nodes as n
from millrace.relational.rex import Ref, Rex, substitute
from millrace.relational.rules.determinism import is_deterministic, is_expensive
from millrace.runtime.tables.watermark import RowsWatermarks
from millrace.table.planner.plan import Plan


def push_watermark(plan: Plan, node: n.Watermark) -> bool:
    """Let the source of a watermark make it; False: it stays an operator of its own.

    That is so where the source makes none for its splits, where others read the same scan without a watermark or with
    another one, and where functions of the user or the time of the day say what time a row has.
    """
    found = _watermark_of_scan(plan, node)
    if found is None:
        return False
    scan, strategy = found
    plan.strategies[id(scan)] = strategy
    return True


def _watermark_of_scan(plan: Plan, node: n.Watermark) -> tuple[n.Scan, WatermarkStrategy] | None:
    found = _scan_below(node)
    if found is None:
        return None
    below, time, expression = found
    made = getattr(below.source, "watermarks", None)
    if made is None or any(is_expensive(each) or not is_deterministic(each) for each in (time, expression)):
        return None
    if not _agree(plan, below, (time, expression)):
        return None
    idle = plan.options.idle_timeout if made.idle_timeout is None else made.idle_timeout
    generator = RowsWatermarks(time, expression, plan.options.environment, tuple(below.names), node.leaves_out)
    strategy = WatermarkStrategy(generator, idle_timeout_ms=idle or None, alignment=made.alignment)
    return below, replace(strategy, max_jump_ms=node.max_jump)


def _scan_below(node: n.Watermark) -> tuple[n.Scan, Rex, Rex] | None:
    """The scan, and the time and the watermark of its rows."""
    below: n.Rel = node.input
    time: Rex = Ref(below.schema[node.column].type, node.column)
    expression = node.expression
    while isinstance(below, (n.Project, n.Hinted)):
        if isinstance(below, n.Project):
            time, expression = (substitute(each, below.expressions) for each in (time, expression))
        below = below.input
    return (below, time, expression) if isinstance(below, n.Scan) else None


def _agree(plan: Plan, scan: n.Scan, wanted: tuple[Rex, Rex]) -> bool:
    """Whether all who read a scan want this watermark."""
    waiting: list[n.Rel] = [scan]
    while waiting:
        for reader in plan.readers.get(id(waiting.pop()), []):
            if isinstance(reader, n.Watermark):
                found = _scan_below(reader)
                if found is None or found[1:] != wanted:
                    return False
            elif isinstance(reader, (n.Project, n.Hinted)):
                waiting.append(reader)
            else:
                return False
    return True
