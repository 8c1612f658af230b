"""Finds the chains: operators that hand elements over by a method call and count as one task.

Flink's conditions: the lower node has one input edge; both nodes share a slot sharing group; their chaining strategies
allow it; the edge forwards; the parallelism is equal; chaining is not disabled. Where the environment says so, the
maximum parallelism must be equal, too.
"""

from __future__ import annotations

from dataclasses import replace

from millrace.graph.nodes import Chaining, Edge, Graph, Node, Settings
from millrace.graph.slot_groups import slot_groups
from millrace.runtime.exchange.partitioners import Forward


def chain_operators(graph: Graph) -> Graph:
    """Fills ``graph.chains``."""
    groups = slot_groups(graph)
    chains: dict[int, int] = {}
    above = graph.by_id()
    for node in graph.nodes:
        head = node.id
        if len(node.edges) == 1 and graph.settings.chaining:
            edge = node.edges[0]
            upper = above[edge.source]
            if groups[upper.id] == groups[node.id] and _chainable(upper, edge, node, graph.settings):
                head = chains[upper.id]
        chains[node.id] = head
    return replace(graph, chains=chains)


def _chainable(upper: Node, edge: Edge, lower: Node, settings: Settings) -> bool:
    return (
        isinstance(edge.partitioner, Forward)
        and upper.parallelism == lower.parallelism
        and lower.chaining is Chaining.ALWAYS
        and upper.chaining is not Chaining.NEVER
        and (settings.chain_different_max_parallelism or upper.max_parallelism == lower.max_parallelism)
    )
