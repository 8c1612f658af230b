"""Checks that what is to be cached ends."""

from __future__ import annotations

from millrace.common.source import Boundedness
from millrace.graph.cache import Cache
from millrace.graph.nodes import Graph, GraphError, Node
from millrace.runtime.jobs.specs import Source


def check_caches(graph: Graph) -> Graph:
    """Raises ``GraphError`` for a cache below a source without end: there is never a whole result to keep."""
    endless: dict[int, Node] = {}
    for node in graph.nodes:
        above = [endless[edge.source] for edge in node.edges if edge.source in endless]
        if isinstance(node.spec, Source) and node.spec.source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED:
            above = [node]
        if above and isinstance(node.spec, Cache):
            raise GraphError(
                f"{node.described}: cache() keeps the whole result of bounded input, but {above[0].described} never "
                f"ends; use a sink and read what it writes"
            )
        if above:
            endless[node.id] = above[0]
    return graph
