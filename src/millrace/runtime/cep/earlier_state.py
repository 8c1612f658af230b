"""States of keys as they were stored before partial matches were chains: nodes, and edges with versions between them.

A node is an event under the name of a step; its edges lead back to the events before, each with the version of the
partial match that made it. A partial match of some version goes back along the edges of compatible versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.runtime.cep.paths import Link

Version = tuple[int, ...]
Partial = tuple[int, Link, int, int]
_SINGLE = 6
"""length of the form of a single event; the other one has 4 parts"""


def unpacked(
    packed: tuple[Any, ...], made: Callable[[Any], Any] | None
) -> tuple[int, int, list[Partial], list[Partial]]:
    """(timestamp of the last event, how many of that time, partial matches, complete ones).

    :param made: what makes an event of its plain data.
    """
    if len(packed) == _SINGLE:
        number, page, event, time, _, _ = packed
        only: Link = (None, page, event if made is None else made(event), time, 0)
        return time, 1, [(number, only, time, 0)], []
    (_, time, event_number, _), partials, completed, nodes = packed
    chains = _Chains(nodes, made)
    both = [
        [
            (number, link, first, first_id)
            for number, version, node, first, first_id, _ in some
            if (link := chains.link(node, version)) is not None
        ]
        for some in (partials, completed)
    ]
    return time, event_number, both[0], both[1]


class _Chains:
    """Makes chains of nodes; the same way back becomes the same chain."""

    def __init__(self, nodes: Any, made: Callable[[Any], Any] | None) -> None:
        self._nodes = {
            number: (page, event if made is None else made(event), time, event_id, edges)
            for number, page, event, time, event_id, _, edges in nodes
        }
        self._known: dict[tuple[int, int], Link] = {}

    def link(self, number: int, version: Version) -> Link | None:
        """The chain that a partial match of a version has; None: its events are gone."""
        ways: list[tuple[int, int]] = []
        at: int | None = number
        while at is not None:
            node = self._nodes.get(at)
            found = None if node is None else _onward(node[4], version)
            if found is None:
                return None
            ways.append((at, found))
            at, version = self._nodes[at][4][found][:2]
        link: Link | None = None
        for way in reversed(ways):
            known = self._known.get(way)
            if known is None:
                known = self._known[way] = (link, *self._nodes[way[0]][:4])
            link = known
        return link


def _onward(edges: Any, version: Version) -> int | None:
    """Which edge a partial match goes back along: the last one, as it always was."""
    places = [place for place, edge in enumerate(edges) if _compatible(version, edge[1])]
    return places[-1] if places else None


def _compatible(version: Version, edge: Version) -> bool:
    length, prefix = len(version), len(edge)
    if length > prefix:
        return version[:prefix] == edge
    return length == prefix and version[:-1] == edge[:-1] and version[-1] >= edge[-1]
