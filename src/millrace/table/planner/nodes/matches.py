"""MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational import nodes as n
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.match import Match
from millrace.table.planner.changes import append
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned, by


@streaming_form(n.Match, changes=append)
def match(plan: Plan, node: n.Match, before: bool) -> Planned:
    below = plan.add_insertions(node.input, "MATCH_RECOGNIZE")
    matching = Matching(node.input.schema, replace(node, input=NOTHING))
    event_time = node.input.schema[matching.time].time == n.ROWTIME
    config = Match(matching=matching, event_time=event_time, **plan.options.common)
    return plan.step("Match", config, [(below, by(node.partition))], node.schema, plan.changes(node))


NOTHING = n.Values((), ())
"""stands for the input in what the operator is told"""
