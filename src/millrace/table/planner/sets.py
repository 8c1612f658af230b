"""UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational import nodes as n
from millrace.runtime.tables.set_operations import SetOperation
from millrace.table.planner.plan import Plan, Planned, by, rule


@rule(n.SetOp)
def set_operation(plan: Plan, node: n.SetOp, before: bool) -> Planned:
    if node.kind == "UNION" and node.all:
        branches = [plan.add(branch, before) for branch in node.branches]
        ids = tuple(id for branch in branches for id in branch.ids)
        return Planned(ids, node.schema, plan.changes(node))
    if node.kind == "UNION":
        every = replace(node, all=True)
        keys = tuple(range(len(node.columns)))
        return plan.add(n.Aggregate(every, keys, (), node.columns), before)
    config = SetOperation(kind=node.kind, all=node.all, inputs=len(node.branches), **plan.options.common)
    whole = by(range(len(node.columns)))
    inputs = [(plan.add(branch), whole) for branch in node.branches]
    name = f"{node.kind}{' ALL' if node.all else ''}"
    return plan.step(name, config, inputs, node.schema, plan.changes(node))
