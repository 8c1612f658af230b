"""EXPLAIN in streaming mode: the optimised plan with its changes, the operators, and where on Spark they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from millrace.graph.lowering import lower
from millrace.graph.nodes import Edge, Graph, Node
from millrace.graph.passes import run_passes
from millrace.graph.plan_json import plan_json
from millrace.relational.nodes import Rel
from millrace.relational.nodes.text import node_text
from millrace.table.planner.advice import advice_on
from millrace.table.planner.forms import changes_of
from millrace.table.planner.run import optimised, options_of
from millrace.table.planner.streaming import add_to_program

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


class StreamingPlans:
    """Plans of a session as they would run."""

    def __init__(self, plans: Sequence[Rel], session: Session) -> None:
        self._session = session
        self._plans = optimised(plans, session)
        self._graph = self._graph_of(self._plans)
        self._numbers = {node.id: number for number, node in enumerate(self._graph.nodes, 1)}

    def _graph_of(self, plans: Sequence[Rel]) -> Graph:
        streams = self._session.configured_streams()
        program = streams._program.branch()
        add_to_program(plans, program, options_of(self._session))
        return run_passes(program.graph(streams._settings("")))

    def optimised(self, with_changes: bool) -> str:
        """The plans after the rules as indented trees; with the kinds of change that each node gives, if asked for."""
        return "\n\n".join("\n".join(_lines(plan, with_changes, 0)) for plan in self._plans)

    def operators(self) -> str:
        """The operators in their order, each with what it reads and how rows travel there."""
        return "\n".join(f"{self._label(node)}{self._inputs(node)}" for node in self._graph.nodes)

    def stages(self) -> str:
        """The stages of the Spark job: which operators run together in a task, and what is exchanged between."""
        widths = lower(self._graph, "").partitions
        lines = []
        for stage, width in enumerate(widths):
            inside = [node for node in self._graph.nodes if self._graph.stages[node.id] == stage]
            tasks = "1 task" if width == 1 else f"{width} tasks"
            lines.append(f"stage {stage}, {tasks}")
            lines += [f"  reads {text}" for node in inside for text in self._exchanges(node, stage)]
            lines += [f"  {self._label(node)}" for node in inside]
        return "\n".join(lines)

    def json(self) -> str:
        """The plan that Flink's visualiser reads."""
        return plan_json(self._graph)

    def advice(self) -> str:
        return "\n".join(advice_on(self._plans, self._session.config.to_map()))

    def _label(self, node: Node) -> str:
        return f"{self._numbers[node.id]}: {node.kind}{node.name}"

    def _inputs(self, node: Node) -> str:
        return " <- " + ", ".join(map(self._input, node.edges)) if node.edges else ""

    def _input(self, edge: Edge) -> str:
        return f"{self._numbers[edge.source]} [{_way(edge)}]"

    def _exchanges(self, node: Node, stage: int) -> list[str]:
        """What comes to a node from other stages."""
        return [
            f"{self._input(edge)} -> {self._numbers[node.id]}"
            for edge in node.edges
            if self._graph.stages[edge.source] != stage
        ]


def _lines(plan: Rel, with_changes: bool, indent: int) -> list[str]:
    changes = f" changelogMode={changes_of(plan).text}" if with_changes else ""
    lines = [f"{'  ' * indent}{node_text(plan)}{changes}"]
    for each in plan.inputs:
        lines += _lines(each, with_changes, indent + 1)
    return lines


def _way(edge: Edge) -> str:
    return "FORWARD" if edge.partitioner is None else edge.partitioner.ship_strategy
