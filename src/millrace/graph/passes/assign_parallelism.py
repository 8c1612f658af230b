"""Gives every node its parallelism and maximum parallelism."""

from __future__ import annotations

from dataclasses import replace

from millrace.graph.nodes import Graph, GraphError, Node
from millrace.runtime.keygroups import UPPER_BOUND_MAX_PARALLELISM, default_max_parallelism


def assign_parallelism(graph: Graph) -> Graph:
    """Nodes without their own values get the environment's; the number of key groups then never changes."""
    return replace(graph, nodes=tuple(_assign(node, graph) for node in graph.nodes))


def _assign(node: Node, graph: Graph) -> Node:
    settings = graph.settings
    parallelism = 1 if node.non_parallel else node.parallelism or settings.parallelism
    maximum = node.max_parallelism or settings.max_parallelism or default_max_parallelism(parallelism)
    if parallelism > maximum:
        raise GraphError(
            f"{node.described}: parallelism {parallelism} is above its maximum parallelism {maximum}; "
            f"raise it with set_max_parallelism() (up to {UPPER_BOUND_MAX_PARALLELISM})"
        )
    return replace(node, parallelism=parallelism, max_parallelism=maximum)
