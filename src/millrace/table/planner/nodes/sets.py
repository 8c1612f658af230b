"""UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.relational import nodes as n
from millrace.runtime.tables.set_operations import SetOperation
from millrace.table.planner.changes import Changes
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned, by


def _changes_of_set_operation(node: Any, inputs: list[Changes]) -> Changes:
    whole = frozenset({tuple(range(len(node.columns)))})
    cause = next((each.cause for each in inputs if each.cause), "")
    updates, deletes = any(each.updates for each in inputs), any(each.deletes for each in inputs)
    if node.kind == "UNION" and node.all:
        return Changes(updates, deletes, cause=cause)
    if node.kind == "UNION":
        return Changes(False, updates or deletes, whole, cause)
    taken_back = updates or deletes or node.kind == "EXCEPT"
    keys = frozenset() if node.all else whole
    return Changes(False, taken_back, keys, cause or (f"an {node.kind}" if taken_back else ""))


@streaming_form(n.SetOp, changes=_changes_of_set_operation)
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
