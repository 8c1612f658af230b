"""Aggregates over the rows around each row."""

from __future__ import annotations

from typing import Any

from millrace.relational import nodes as n
from millrace.relational.rex import Literal
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.over.over import Over
from millrace.runtime.tables.over.updating_over import UpdatingOver
from millrace.table.planner.changes import Changes
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.over_order import is_settled
from millrace.table.planner.plan import Plan, Planned, by


def _changes_of_over(node: Any, inputs: list[Changes]) -> Changes:
    below = inputs[0]
    if is_settled(node, below.append_only):
        return Changes(keys=below.keys)
    cause = below.cause or "an OVER window whose results change with later rows"
    return Changes(True, not below.append_only, below.keys, cause)


@streaming_form(n.Over, changes=_changes_of_over)
def over(plan: Plan, node: n.Over, before: bool) -> Planned:
    for call, _ in node.calls:
        if call.function in ("LAG", "LEAD") and any(not isinstance(arg, Literal) for arg in call.args[1:]):
            raise NotImplementedError(
                f"the offset and the default of {call.function} must be constants in streaming mode, where rows are "
                f"kept only as long as one may be looked for: write numbers, or run the query in batch mode"
            )
    below = plan.add(node.input)
    described = {
        "input": node.input.schema,
        "partition": node.partition,
        "order": node.order,
        "calls": node.calls,
        **plan.options.common,
    }
    config: TableConfig = UpdatingOver(**described, before=before)
    name = "UpdatingOverAggregate"
    if is_settled(node, below.changes.append_only):
        time = node.order[0].expression
        event_time = node.input.schema[time.index].time == n.ROWTIME  # type: ignore[attr-defined]
        config, name = Over(**described, event_time=event_time), "OverAggregate"
    return plan.step(name, config, [(below, by(node.partition))], node.schema, plan.changes(node))
