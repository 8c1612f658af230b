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
        self._begin = 1

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

    def remove(self, id: int) -> None:
        """Take back a node that nobody reads."""
        self._nodes.pop(id, None)

    def clear(self) -> None:
        """Begin a new program: this one was submitted. Its nodes stay for handles that the new one goes on from."""
        self._begin = self._next

    def graph(self, settings: Settings) -> Graph:
        """The program as it is now: what was added since it began, and all that this reads, be it older.

        Sources that nobody reads are left out, as in Flink.
        """
        wanted: set[int] = set()
        for node in reversed(self._nodes.values()):
            if node.id in wanted or (node.id >= self._begin and not isinstance(node.spec, Source)):
                wanted.add(node.id)
                wanted.update(edge.source for edge in node.edges)
        return Graph(tuple(node for node in self._nodes.values() if node.id in wanted), settings)
