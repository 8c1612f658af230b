"""Checks what is known about element types before anything runs."""

from __future__ import annotations

from dataclasses import replace

from millrace.common.typeinfo import TypeInformation
from millrace.graph.nodes import Graph, Node


def check_types(graph: Graph) -> Graph:
    """Fills in the types of side outputs from the edges that read them; nodes know their main type already."""
    side_types: dict[int, dict[str, TypeInformation | None]] = {}
    for node in graph.nodes:
        for edge in node.edges:
            if edge.tag is not None:
                declared = graph.node(edge.source).side_types.get(edge.tag)
                side_types.setdefault(edge.source, {})[edge.tag] = declared
    return replace(graph, nodes=tuple(_with_sides(node, side_types.get(node.id)) for node in graph.nodes))


def _with_sides(node: Node, side_types: dict[str, TypeInformation | None] | None) -> Node:
    return node if side_types is None else replace(node, side_types=side_types)
