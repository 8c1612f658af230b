"""The first rows of each key."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.runtime.tables.deduplicate import Deduplicate
from millrace.runtime.tables.rank import Rank
from millrace.table.planner.changes import changes_of
from millrace.table.planner.plan import Plan, Planned, by, rule


@rule(n.Rank)
def rank(plan: Plan, node: n.Rank, before: bool) -> Planned:
    below = plan.add(node.input)
    config = Rank(
        function=node.function,
        partition=node.partition,
        order=node.order,
        types=tuple(column.type for column in node.input.schema),
        first=node.first,
        last=node.last,
        number=node.number is not None,
        retracts=below.retracts,
        before=before,
        **plan.options.common,
    )
    return plan.step("Rank", config, [(below, by(node.partition))], node.schema, changes_of(node))


@rule(n.Deduplicate)
def deduplicate(plan: Plan, node: n.Deduplicate, before: bool) -> Planned:
    arrival = node.input.schema[node.time].time == n.PROCTIME
    config = Deduplicate(
        keys=node.keys,
        types=tuple(column.type for column in node.input.schema),
        last=node.last,
        time=None if arrival else node.time,
        number=node.number is not None,
        before=before,
        **plan.options.common,
    )
    below = plan.add(node.input)
    return plan.step("Deduplicate", config, [(below, by(node.keys))], node.schema, changes_of(node))
