"""The slot sharing groups of nodes, those that they inherit included."""

from __future__ import annotations

from millrace.graph.nodes import DEFAULT_SLOT_GROUP, Graph


def slot_groups(graph: Graph) -> dict[int, str]:
    """node id -> its slot sharing group: its own, else that of its inputs if they agree, else the default."""
    groups: dict[int, str] = {}
    for node in graph.nodes:
        inherited = {groups[edge.source] for edge in node.edges}
        group = inherited.pop() if len(inherited) == 1 else DEFAULT_SLOT_GROUP
        groups[node.id] = node.slot_sharing_group or group
    return groups
