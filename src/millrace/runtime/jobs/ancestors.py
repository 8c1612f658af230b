"""What lies above each operator or node of a graph."""

from __future__ import annotations

from collections.abc import Iterable


def ancestors(inputs: Iterable[tuple[int, Iterable[int]]]) -> dict[int, set[int]]:
    """id -> itself and all that it reads from, directly or not. Given are ids and their inputs, inputs first."""
    above: dict[int, set[int]] = {}
    for id, sources in inputs:
        above[id] = {id}.union(*(above[source] for source in sources))
    return above
