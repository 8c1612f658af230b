"""Flink's plan JSON: what ``get_execution_plan`` gives and Flink's plan visualiser reads."""

from __future__ import annotations

import json
from typing import Any

from millrace.graph.nodes import Edge, Graph, Node
from millrace.runtime.jobs.specs import CloseWith


def plan_json(graph: Graph) -> str:
    """The plan of a graph after its passes; node ids count from 1 in the order of creation, sinks stand at the end."""
    numbers = {node.id: index for index, node in enumerate(graph.nodes, start=1)}
    nodes = sorted(graph.nodes, key=lambda node: node.is_sink)
    return json.dumps({"nodes": [_node(node, numbers) for node in nodes]}, indent=2)


def _node(node: Node, numbers: dict[int, int]) -> dict[str, Any]:
    if node.is_source:
        pact = "Data Source"
    elif node.is_sink:
        pact = "Data Sink"
    else:
        pact = "Operator"
    described: dict[str, Any] = {
        "id": numbers[node.id],
        "type": node.name,
        "pact": pact,
        "contents": node.description or node.name,
        "parallelism": node.parallelism,
    }
    if isinstance(node.spec, CloseWith):  # an addition: Flink's plan shows a loop's two ends as source and sink
        described["feeds_back_to"] = numbers[node.spec.head]
    if node.edges:
        described["predecessors"] = [_predecessor(edge, numbers) for edge in node.edges]
    return described


def _predecessor(edge: Edge, numbers: dict[int, int]) -> dict[str, Any]:
    strategy = edge.partitioner.ship_strategy if edge.partitioner is not None else ""
    # Flink says "second" of every predecessor, also of the first.
    return {"id": numbers[edge.source], "ship_strategy": strategy, "side": "second"}
