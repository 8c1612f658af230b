"""The growing program of one environment: handles add nodes here and change them by replacing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.common.typeinfo import TypeInformation
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.graph.cache import Cache
from millrace.graph.nodes import Edge, Graph, Node, Settings
from millrace.graph.origin import user_origin
from millrace.runtime.jobs.ancestors import ancestors
from millrace.runtime.jobs.specs import CloseWith, Source, Spec


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

    def depends(self, id: int, on: int) -> bool:
        """Whether a node gets anything from another one, or is that one."""
        above = ancestors((node.id, [edge.source for edge in node.edges]) for node in self._nodes.values())
        return on in above[id]

    def remove(self, id: int) -> None:
        """Take back a node that is not read."""
        self._nodes.pop(id, None)

    def clear(self) -> None:
        """Begin a new program: this one was submitted. Its nodes stay for handles that the new one goes on from."""
        self._begin = self._next

    def branch(self) -> Program:
        """A program of its own that begins here, and may read what is in this one."""
        branch = Program()
        branch._nodes = dict(self._nodes)
        branch._next = branch._begin = self._next
        return branch

    def added(self) -> list[Node]:
        """What was added since the program began, in order."""
        return [node for node in self._nodes.values() if node.id >= self._begin]

    def graph(self, settings: Settings) -> Graph:
        """The program as it is now: what was added since it began, and all that this reads, be it older.

        Sources and caches that nobody reads are left out, as in Flink. The end of a loop comes with its head.
        """
        wanted = self._with_inputs(set())
        while ends := {tail for tail, head in self._loops() if head in wanted} - wanted.keys():
            wanted = self._with_inputs(ends | wanted.keys())
        return Graph(tuple(reversed(wanted.values())), settings)

    def _loops(self) -> list[tuple[int, int]]:
        """(end, head) of every loop."""
        return [(node.id, node.spec.head) for node in self._nodes.values() if isinstance(node.spec, CloseWith)]

    def _with_inputs(self, needed: set[int]) -> dict[int, Node]:
        """The nodes of the program and those needed besides, with all that they read; readers first."""
        wanted: dict[int, Node] = {}
        for node in reversed(self._nodes.values()):
            if node.id in needed or (node.id >= self._begin and not isinstance(node.spec, (Cache, Source))):
                wanted[node.id] = node = _without_recomputing(node)
                needed.update(edge.source for edge in node.edges)
        return wanted


def _without_recomputing(node: Node) -> Node:
    """A cached result that an earlier job computed is read; the operators above it are not needed."""
    source = node.spec.cache.source() if isinstance(node.spec, Cache) else None
    if source is None:
        return node
    spec = Source(source, WatermarkStrategy.no_watermarks())
    return replace(node, name=f"Source: {node.name}", spec=spec, edges=(), parallelism=source.parallelism)
