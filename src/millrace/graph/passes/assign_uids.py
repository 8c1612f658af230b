"""Gives every node a uid: the user's own, or one that follows from the shape of the program above it.

Derived uids don't depend on the order in which operators were created, so adding an unrelated branch keeps them.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from millrace.graph.nodes import Graph, GraphError, Node
from millrace.runtime.jobs.specs import CloseWith, Collect, TableStep


def assign_uids(graph: Graph) -> Graph:
    """Raises ``GraphError`` when two operators have one uid, or one has none and derived uids are switched off."""
    derived: dict[int, str] = {}
    kin: dict[int, str] = {}
    taken: dict[str, Node] = {}
    nodes = []
    for node in graph.nodes:
        if node.uid is None and node.uid_hash is None and not graph.settings.auto_uids and not _is_ours(node):
            raise GraphError(f"{node.described} has no uid, and derived uids are disabled; call uid() on it")
        derived[node.id] = _derive(node, derived, taken)
        kin[node.id] = _kin(node, kin)
        uid = node.uid or node.uid_hash or derived[node.id]
        if uid in taken:
            raise GraphError(
                f"{node.described} has the uid {uid!r}, which {taken[uid].described} has already; "
                f"a uid must be unique in a job"
            )
        taken[uid] = node
        known_by_kin = isinstance(node.spec, TableStep) and not node.spec.config.passes_rows
        nodes.append(replace(node, uid=uid, kin=kin[node.id] if known_by_kin else ""))
    return replace(graph, nodes=tuple(nodes))


def _is_ours(node: Node) -> bool:
    """Whether the user has no handle on the node and so can't give it a uid."""
    return isinstance(node.spec, (CloseWith, Collect))


def _kin(node: Node, kin: dict[int, str]) -> str:
    """What stays the same of a derived uid when projections come and go, names change, or an aggregate is computed in
    other phases."""
    if isinstance(node.spec, TableStep) and node.spec.config.passes_rows and len(node.edges) == 1:
        return kin[node.edges[0].source]
    config = node.spec.config if isinstance(node.spec, TableStep) else None
    name = node.name if config is None else type(config).__name__
    inputs = [f"{edge.input}:{edge.tag}:{kin[edge.source]}" for edge in node.edges]
    text = "|".join([type(node.spec).__name__, name, node.uid or node.uid_hash or "", *inputs])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _derive(node: Node, derived: dict[int, str], taken: dict[str, Node]) -> str:
    inputs = [f"{edge.input}:{edge.tag}:{derived[edge.source]}" for edge in node.edges]
    text = "|".join([type(node.spec).__name__, node.name, node.uid or node.uid_hash or "", *inputs])
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    twin = 0
    candidate = digest
    while candidate in taken:  # identical branches are told apart by their order
        twin += 1
        candidate = hashlib.sha256(f"{digest}#{twin}".encode()).hexdigest()[:32]
    return candidate
