"""The events of partial matches, shared between them: Flink's versioned buffer with counted references.

A node is an event under the name of a step; its edges lead back to the events before, each with the version of the
partial match that made it. A partial match of some version sees the edges of compatible versions. Nodes and edges that
no partial match holds on to go.
"""

from __future__ import annotations

from typing import Any

Version = tuple[int, ...]
Edge = list[Any]
"""[number of the node before or None, version, count of references]"""
Node = list[Any]
"""[name of the step, event, timestamp, id among the events of this time, count of references, edges]"""
PAGE, EVENT, TIME, ID, COUNT, EDGES = range(6)
Nodes = dict[int, Node]
"""the buffer of a key, by numbers that grow"""
EventId = tuple[int, int]
"""(timestamp, number among the events of this time)"""


def compatible(version: Version, edge: Version) -> bool:
    """Whether a partial match of a version goes back along an edge."""
    length, prefix = len(version), len(edge)
    if length > prefix:
        return version[:prefix] == edge
    return length == prefix and version[:-1] == edge[:-1] and version[-1] >= edge[-1]


def lock(node: Node | None, version: Version) -> None:
    """A partial match of a version holds on to a node."""
    if node is not None:
        node[COUNT] += 1
        for edge in node[EDGES]:
            if edge[1] == version or compatible(version, edge[1]):
                edge[2] += 1


def release(nodes: Nodes, number: int, version: Version) -> None:
    """A partial match lets go of a node, and of what only that held."""
    waiting = [(number, version)]
    while waiting:
        number, version = waiting.pop()
        node = nodes.get(number)
        if node is None:
            return  # as in Flink: what is gone already ends it
        edges = node[EDGES]
        if len(edges) == 1:
            # Most nodes: the same with less.
            edge = edges[0]
            if edge[1] == version or compatible(version, edge[1]):
                edge[2] -= 1
                if edge[2] <= 0:
                    node[EDGES] = []
                    if edge[0] is not None:
                        waiting.append((edge[0], edge[1]))
            node[COUNT] -= 1
            if node[COUNT] <= 0:
                del nodes[number]
            continue
        kept = []
        for edge in edges:
            if not compatible(version, edge[1]):
                kept.append(edge)
                continue
            edge[2] -= 1
            if edge[2] > 0:
                kept.append(edge)
            elif edge[0] is not None:
                waiting.append((edge[0], edge[1]))
        if len(kept) != len(edges):
            node[EDGES] = kept
        node[COUNT] -= 1
        if node[COUNT] <= 0:
            del nodes[number]


def paths(nodes: Nodes, number: int, version: Version) -> list[list[Node]]:
    """The ways back from a node to a first event, each told from its first event on. Mostly there is one."""
    found = []
    waiting: list[tuple[int | None, Version, list[Node]]] = [(number, version, [])]
    while waiting:
        at, seen, path = waiting.pop()
        if at is None:
            path.reverse()
            found.append(path)
            continue
        node = nodes.get(at)
        if node is None:
            continue
        path.append(node)
        onward = [edge for edge in node[EDGES] if compatible(seen, edge[1])]
        waiting += [(edge[0], edge[1], list(path) if place else path) for place, edge in enumerate(onward)]
    return found


def events_by_name(path: list[Node]) -> dict[str, list[Any]]:
    """The match that a path is: name of the step -> its events, in the order of the first ones."""
    found: dict[str, list[Any]] = {}
    for node in path:
        found.setdefault(node[PAGE], []).append(node[EVENT])
    return found
