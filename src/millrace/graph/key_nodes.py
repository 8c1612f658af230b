"""PyFlink's plans: a stream that gets keys is mapped to pairs of key and element first, by a node of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from millrace.common.functions.adapt import as_map
from millrace.graph.nodes import Edge, Graph, Node
from millrace.runtime.exchange.partitioners import Forward, Hash, Rebalance
from millrace.runtime.jobs.specs import Map

WITH_KEYS = "_stream_key_by_map_operator"
WITHOUT_KEYS = "_keyed_stream_values_operator"
"""takes the keys off again, in front of a sink"""


def with_key_nodes(graph: Graph) -> Graph:
    """The graph with PyFlink's nodes, to be shown. Here keys travel beside elements, so nothing of it ever runs."""
    return replace(graph, nodes=tuple(_Widening(graph).nodes()))


class _Widening:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._above = graph.by_id()
        self._ids = count(max(self._above, default=0) + 1)
        self._keyed: dict[tuple[int, str | None, int, int], Node] = {}
        """one for each ``key_by``: by source, side output, key selector, and which input it leads to"""

    def nodes(self) -> Iterator[Node]:
        for node in self._graph.nodes:
            edges = []
            for edge in node.edges:
                made, ready = self._through(edge, node)
                yield from made
                edges.append(ready)
            yield replace(node, edges=tuple(edges))

    def _through(self, edge: Edge, node: Node) -> tuple[list[Node], Edge]:
        """What stands between a node and one that it reads, as far as it is new, and the edge from there."""
        if not isinstance(edge.partitioner, Hash):
            return [], edge
        place = (edge.source, edge.tag, id(edge.partitioner.key_selector), edge.input)
        keyed, made = self._keyed.get(place), []
        if keyed is None:
            forward = replace(edge, partitioner=Forward(), input=0)
            keyed = self._keyed[place] = self._node(WITH_KEYS, forward, node, self._above[edge.source].parallelism)
            made.append(keyed)
        ready = replace(edge, source=keyed.id, tag=None)
        if node.is_sink:
            plain = self._node(WITHOUT_KEYS, replace(ready, input=0), node, self._graph.settings.parallelism)
            made.append(plain)
            equal = plain.parallelism == node.parallelism
            ready = replace(ready, source=plain.id, partitioner=Forward() if equal else Rebalance())
        return made, ready

    def _node(self, name: str, edge: Edge, reader: Node, parallelism: int | None) -> Node:
        return Node(next(self._ids), name, Map(as_map(_unchanged)), (edge,), reader.origin, parallelism)


def _unchanged(value: Any) -> Any:
    return value
