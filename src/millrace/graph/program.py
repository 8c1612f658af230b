"""The growing program of one environment: handles add nodes here and change them by replacing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.common.typeinfo import TypeInformation
from millrace.graph.nodes import Edge, Graph, Node, Settings
from millrace.graph.origin import user_origin
from millrace.graph.specs import Source, Spec


class Program:
    """Nodes in the order of their creation, which is a topological order: edges only lead to earlier nodes."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._next = 1

    def add(
        self,
        name: str,
        spec: Spec,
        edges: tuple[Edge, ...] = (),
        output_type: TypeInformation | None = None,
        parallelism: int | None = None,
        non_parallel: bool = False,
    ) -> Node:
        """A new node, made at the line of the user that is calling."""
        node = Node(
            id=self._next,
            name=name,
            spec=spec,
            edges=edges,
            origin=user_origin(),
            output_type=output_type,
            parallelism=parallelism,
            non_parallel=non_parallel,
        )
        self._next += 1
        self._nodes[node.id] = node
        return node

    def node(self, id: int) -> Node:
        return self._nodes[id]

    def change(self, id: int, **changes: Any) -> None:
        self._nodes[id] = replace(self._nodes[id], **changes)

    def add_side_type(self, id: int, tag: str, side_type: TypeInformation | None) -> None:
        self.change(id, side_types={**self._nodes[id].side_types, tag: side_type})

    def clear(self) -> None:
        """Forget the program: it was submitted. Ids go on, so old handles can't be confused with new nodes."""
        self._nodes = {}

    def graph(self, settings: Settings) -> Graph:
        """The program as it is now; sources that nobody reads are left out, as in Flink."""
        read = {edge.source for node in self._nodes.values() for edge in node.edges}
        nodes = tuple(
            node for node in self._nodes.values() if node.id in read or not isinstance(node.spec, Source)
        )
        return Graph(nodes, settings)
