"""Puts every node into a stage: the number of exchanges between it and the sources, on the longest way."""

from __future__ import annotations

from dataclasses import replace

from millrace.graph.nodes import Edge, Graph, Node
from millrace.graph.slot_groups import slot_groups
from millrace.runtime.exchange.partitioners import Forward


def assign_stages(graph: Graph) -> Graph:
    """Fills ``graph.stages``. A forward edge stays in its stage unless the slot sharing groups differ."""
    groups = slot_groups(graph)
    stages: dict[int, int] = {}
    for node in graph.nodes:
        stages[node.id] = max((stages[edge.source] + _crosses(edge, node, groups) for edge in node.edges), default=0)
    return replace(graph, stages=stages)


def _crosses(edge: Edge, node: Node, groups: dict[int, str]) -> bool:
    return not isinstance(edge.partitioner, Forward) or groups[edge.source] != groups[node.id]
