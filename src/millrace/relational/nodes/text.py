"""Plans as text: one line a node, inputs below it. What EXPLAIN shows and tests compare."""

from __future__ import annotations

from millrace.relational.nodes.base import Rel
from millrace.relational.nodes.traversal import subqueries_of


def plan_text(plan: Rel, indent: int = 0) -> str:
    """The plan as an indented tree."""
    pad = "  " * indent
    lines = [pad + node_text(plan)]
    for subquery in subqueries_of(plan):
        lines.append(f"{pad}  [{subquery.kind}]")
        lines.append(plan_text(subquery.plan, indent + 2))
    lines += [plan_text(each, indent + 1) for each in plan.inputs]
    return "\n".join(lines)


def node_text(node: Rel) -> str:
    """One node without its inputs."""
    return f"{type(node).__name__}({', '.join(node.details())})"
