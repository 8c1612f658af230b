"""Aggregates over the rows around each row."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.rex import Ref
from millrace.runtime.tables.over import Over
from millrace.table.planner.plan import Plan, Planned, by, rule


@rule(n.Over)
def over(plan: Plan, node: n.Over, before: bool) -> Planned:
    below = plan.add(node.input)
    first = node.order[0].expression if node.order else None
    time = node.input.schema[first.index].time if isinstance(first, Ref) else None
    if time is None:
        raise NotImplementedError(
            "an OVER window of a stream is ordered by a time attribute: a column with a watermark, or PROCTIME()"
        )
    config = Over(
        input=node.input.schema,
        partition=node.partition,
        order=node.order,
        calls=node.calls,
        event_time=time == n.ROWTIME,
        **plan.options.common,
    )
    return plan.step("OverAggregate", config, [(below, by(node.partition))], node.schema, plan.changes(node))
