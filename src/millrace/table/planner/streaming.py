"""Streaming programs of relational plans."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.graph.nodes import Edge
from millrace.graph.program import Program
from millrace.relational import nodes as n
from millrace.relational.rules.sharing import share_as_set
from millrace.runtime.jobs import specs
from millrace.table.planner.conflicts import compares_changes
from millrace.table.planner.plan import Options, Plan


def add_to_program(plans: Sequence[n.Rel], program: Program, options: Options) -> None:
    """Add the operators of optimised plans. A plan that does not end in a sink is collected.

    :raises ChangelogError: a sink would get changes that it can't take.
    :raises NotImplementedError: a node has no streaming form.
    """
    plans = share_as_set(plans, options.environment.configuration)
    plan = Plan(program, options, plans)
    for each in plans:
        if isinstance(each, n.Sink) and compares_changes(plan, each):
            plan.in_step |= {id(below) for below in n.walk(each)}
    for each in plans:
        planned = plan.add(each)
        if not isinstance(each, n.Sink):
            program.add("Collect", specs.Collect(), tuple(map(Edge, planned.ids)), **plan.width([(planned, None)]))
