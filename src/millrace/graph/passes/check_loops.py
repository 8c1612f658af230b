"""Checks that every loop is closed."""

from __future__ import annotations

from millrace.graph.nodes import Graph, GraphError
from millrace.runtime.jobs.specs import CloseWith, Iterate


def check_loops(graph: Graph) -> Graph:
    """Raises ``GraphError`` for a loop that nothing goes back to."""
    closed = {node.spec.head for node in graph.nodes if isinstance(node.spec, CloseWith)}
    for node in graph.nodes:
        if isinstance(node.spec, Iterate) and node.id not in closed:
            raise GraphError(
                f"{node.described}: the loop that iterate() begins was never closed; call close_with() on it with the "
                f"stream whose elements go back"
            )
    return graph
