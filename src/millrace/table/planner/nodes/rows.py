"""What is done to one row after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.rex import Ref, Rex, substitute
from millrace.relational.rules.determinism import is_expensive
from millrace.relational.rules.merge_projections import is_all_of, may_merge
from millrace.runtime.tables.calc import Calc
from millrace.runtime.tables.expand import Expand
from millrace.runtime.tables.joins.correlate import Correlate
from millrace.runtime.tables.watermark import LeaveOutNoTimes, WatermarkAssigner
from millrace.table.planner.changes import Changes, moved, same, without_keys
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned
from millrace.table.planner.pushed_watermarks import push_watermark


def _changes_of_project(node: Any, inputs: list[Changes]) -> Changes:
    place: dict[int, int] = {}
    for index, expression in enumerate(node.expressions):
        if isinstance(expression, Ref):
            place.setdefault(expression.index, index)
    return replace(inputs[0], keys=moved(inputs[0].keys, place))


@streaming_form(n.Project, changes=_changes_of_project)
def project(plan: Plan, node: n.Project, before: bool) -> Planned:
    condition: Rex | None
    # One pass for what is so often together.
    if isinstance(node.input, n.Filter):
        below, condition = node.input.input, node.input.condition
    else:
        below, condition = node.input, None
    expressions, condition, lower = _through_watermarks(plan, node.expressions, condition, below)
    # Without its old row an update that no longer passes the filter could not be taken back.
    planned = plan.add(lower, before or condition is not None)
    if lower is not below and condition is None and is_all_of(expressions, lower.schema):
        return replace(planned, schema=node.schema, changes=plan.changes(node))
    return _calc(plan, node, planned, condition, expressions)


def _through_watermarks(
    plan: Plan, expressions: tuple[Rex, ...], condition: Rex | None, below: n.Rel
) -> tuple[tuple[Rex, ...], Rex | None, n.Rel]:
    """The same rows from further down: a watermark that is made in the source divides two projections in the plan, but
    no operators; a time that only the watermark needs is then not computed once more."""
    while isinstance(below, n.Watermark) and not (below.leaves_out or plan.is_shared(below)):
        if not push_watermark(plan, below):
            break
        below = below.input
        if isinstance(below, n.Project) and not plan.is_shared(below):
            over = below.expressions
            if may_merge((*expressions, *([] if condition is None else [condition])), over):
                expressions = tuple(substitute(each, over) for each in expressions)
                condition = None if condition is None else substitute(condition, over)
                below = below.input
    return expressions, condition, below


@streaming_form(n.Filter, changes=same)
def filter(plan: Plan, node: n.Filter, before: bool) -> Planned:
    return _calc(plan, node, plan.add(node.input), node.condition, None)


def _calc(
    plan: Plan, node: n.Rel, below: Planned, condition: Rex | None, expressions: tuple[Rex, ...] | None
) -> Planned:
    parts = [*(expressions or ()), *([] if condition is None else [condition])]
    config = Calc(condition=condition, expressions=expressions, **plan.options.common)
    name = "PythonCalc" if any(map(is_expensive, parts)) else "Calc"
    return plan.step(name, config, [(below, None)], node.schema, plan.changes(node))


@streaming_form(n.Hinted, changes=same)
def hinted(plan: Plan, node: n.Hinted, before: bool) -> Planned:
    return plan.add(node.input, before)


@streaming_form(n.Watermark, changes=same)
def watermark(plan: Plan, node: n.Watermark, before: bool) -> Planned:
    is_pushed = push_watermark(plan, node)
    below = plan.add(node.input, before)
    if node.leaves_out:
        leaving = LeaveOutNoTimes(column=node.column, **plan.options.common)
        below = plan.step("LeaveOutNoTimes", leaving, [(below, None)], node.schema, plan.changes(node))
    if is_pushed:
        return below
    config = WatermarkAssigner(
        column=node.column,
        names=tuple(node.names),
        expression=node.expression,
        idle_timeout=plan.options.idle_timeout,
        max_jump=node.max_jump,
        **plan.options.common,
    )
    return plan.step("WatermarkAssigner", config, [(below, None)], node.schema, plan.changes(node))


@streaming_form(n.Expand, changes=without_keys)
def expand(plan: Plan, node: n.Expand, before: bool) -> Planned:
    config = Expand(projections=node.projections, **plan.options.common)
    return plan.step("Expand", config, [(plan.add(node.input, before), None)], node.schema, plan.changes(node))


@streaming_form(n.Correlate, changes=without_keys)
def correlate(plan: Plan, node: n.Correlate, before: bool) -> Planned:
    config = Correlate(
        input=node.input.schema,
        function=node.function,
        args=node.args,
        produced=node.produced,
        left=node.left,
        condition=node.condition,
        udf=node.udf,
        ordinality=bool(dict(node.options).get("ordinality", False)),
        **plan.options.common,
    )
    below = plan.add(node.input)
    return plan.step(f"Correlate({node.function})", config, [(below, None)], node.schema, plan.changes(node))
