"""EXPLAIN in streaming mode: the optimised plan with its changes, and the operators that would run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.graph.nodes import Edge, Node
from millrace.relational.nodes import Rel
from millrace.relational.rules.streaming import optimise
from millrace.relational.text import node_text
from millrace.table.planner.changes import changes_of
from millrace.table.planner.run import options_of, surroundings_of
from millrace.table.planner.streaming import add_to_program

if TYPE_CHECKING:
    from millrace.table.table_environment import TableEnvironment


def optimised_text(plan: Rel, environment: TableEnvironment, with_changes: bool) -> str:
    """The plan after the rules, an indented tree; with the kinds of change that each node gives, if asked for."""
    return "\n".join(_lines(optimise(plan, surroundings_of(environment)), with_changes, 0))


def _lines(plan: Rel, with_changes: bool, indent: int) -> list[str]:
    changes = f" changelogMode={changes_of(plan).text}" if with_changes else ""
    lines = [f"{'  ' * indent}{node_text(plan)}{changes}"]
    for each in plan.inputs:
        lines += _lines(each, with_changes, indent + 1)
    return lines


def operators_text(plans: Sequence[Rel], environment: TableEnvironment) -> str:
    """The operators in their order, each with what it reads and how rows travel there."""
    program = environment._stream_environment._program.branch()
    surroundings = surroundings_of(environment)
    add_to_program([optimise(plan, surroundings) for plan in plans], program, options_of(environment))
    nodes = program.added()
    numbers = {node.id: number for number, node in enumerate(nodes, 1)}
    return "\n".join(f"{numbers[node.id]}: {node.kind}{node.name}{_inputs(node, numbers)}" for node in nodes)


def _inputs(node: Node, numbers: dict[int, int]) -> str:
    return " <- " + ", ".join(_input(edge, numbers) for edge in node.edges) if node.edges else ""


def _input(edge: Edge, numbers: dict[int, int]) -> str:
    way = "FORWARD" if edge.partitioner is None else edge.partitioner.ship_strategy
    return f"{numbers.get(edge.source, f'DataStream {edge.source}')} [{way}]"
