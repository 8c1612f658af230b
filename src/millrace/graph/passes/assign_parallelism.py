"""Gives every node its parallelism and maximum parallelism."""

from __future__ import annotations

from dataclasses import replace

from millrace.graph.cache import Cache
from millrace.graph.nodes import Graph, GraphError, Node
from millrace.runtime.exchange.keygroups import UPPER_BOUND_MAX_PARALLELISM, default_max_parallelism
from millrace.runtime.jobs.specs import CloseWith, Collect


def assign_parallelism(graph: Graph) -> Graph:
    """Nodes without their own values get the environment's; the number of key groups then never changes."""
    nodes: dict[int, Node] = {}
    for node in graph.nodes:
        nodes[node.id] = _assign(node, graph, nodes)
    return replace(graph, nodes=tuple(nodes.values()))


def _assign(node: Node, graph: Graph, above: dict[int, Node]) -> Node:
    settings = graph.settings
    parallelism = 1 if node.non_parallel else node.parallelism or settings.parallelism
    if isinstance(node.spec, (Cache, Collect)):
        # Beside what it reads, so that nothing changes places on its way: order is part of the result.
        widths = {above[edge.source].parallelism or 1 for edge in node.edges}
        parallelism = widths.pop() if len(widths) == 1 else 1
    elif isinstance(node.spec, CloseWith):
        parallelism = above[node.spec.head].parallelism or 1  # each subtask sends back to the one of its number
    maximum = node.max_parallelism or settings.max_parallelism or default_max_parallelism(parallelism)
    if parallelism > maximum:
        raise GraphError(
            f"{node.described}: parallelism {parallelism} is above its maximum parallelism {maximum}; "
            f"raise it with set_max_parallelism() (up to {UPPER_BOUND_MAX_PARALLELISM})"
        )
    return replace(node, parallelism=parallelism, max_parallelism=maximum)
