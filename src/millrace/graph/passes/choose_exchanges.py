"""Decides how elements travel along every edge."""

from __future__ import annotations

from dataclasses import replace

from millrace.graph.nodes import Edge, Graph, GraphError, Node
from millrace.runtime.exchange.partitioners import Forward, Hash, Rebalance
from millrace.runtime.tables.exchange import ByColumns


def choose_exchanges(graph: Graph) -> Graph:
    """Undecided edges forward between equal parallelism and rebalance otherwise; key edges learn the key groups.

    Raises ``GraphError`` for forward() between different parallelism.
    """
    above = graph.by_id()
    nodes = [replace(node, edges=tuple(_choose(edge, node, above) for edge in node.edges)) for node in graph.nodes]
    return replace(graph, nodes=tuple(nodes))


def _choose(edge: Edge, node: Node, above: dict[int, Node]) -> Edge:
    source = above[edge.source]
    equal = source.parallelism == node.parallelism
    if edge.partitioner is None:
        return replace(edge, partitioner=Forward() if equal else Rebalance())
    if isinstance(edge.partitioner, Forward) and not equal:
        raise GraphError(
            f"{node.described} has parallelism {node.parallelism}, but forward() leads to it from {source.described} "
            f"with parallelism {source.parallelism}: forward() needs equal parallelism; use rebalance() or rescale()"
        )
    if isinstance(edge.partitioner, (Hash, ByColumns)):
        assert node.max_parallelism is not None, "assign_parallelism sets it"
        return replace(edge, partitioner=replace(edge.partitioner, max_parallelism=node.max_parallelism))
    return edge
