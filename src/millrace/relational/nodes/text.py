"""Plans as text: one line a node, inputs below it. What EXPLAIN shows and tests compare."""

from __future__ import annotations

from millrace.relational.nodes.aggregation import Aggregate
from millrace.relational.nodes.base import Rel
from millrace.relational.nodes.rows import Project
from millrace.relational.nodes.traversal import subqueries_of
from millrace.relational.rex import UdfCall, walk


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
    """One node without its inputs. Those that call functions of the user have Flink's names for it, and its form."""
    if isinstance(node, Project) and any(isinstance(part, UdfCall) for each in node.expressions for part in walk(each)):
        return f"PythonCalc(select=[{', '.join(node.details())}])"
    if isinstance(node, Aggregate) and any(call.udf is not None for call in node.aggregates):
        return f"PythonGroupAggregate({_grouped(node)})"
    return f"{type(node).__name__}({', '.join(node.details())})"


def _grouped(node: Aggregate) -> str:
    count, details, names = len(node.keys), node.details(), [column.name for column in node.columns]
    calls = [f"{text} AS {name}" for text, name in zip(details[-len(node.aggregates) :], names[count:])]
    keys = [f"groupBy=[{', '.join(names[:count])}]"] if node.keys else []
    return ", ".join([*keys, f"select=[{', '.join(names[:count] + calls)}]"])
