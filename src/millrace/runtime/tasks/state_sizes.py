"""About how many bytes each keyed state of an operator takes, by looking at a few entries now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from millrace.runtime.pickling import dumps
from millrace.runtime.state.backend import KeyedStateBackend

PAUSE_MS = 10_000
"""How often somebody looks."""
SAMPLE = 8
"""Entries that are looked at, and elements of each that is a list or a map."""
DEPTH = 3


class StateSizes:
    """Of one operator in one subtask."""

    def __init__(self) -> None:
        self._told: int | None = None

    def report(self, keyed: Any, now: Callable[[], int]) -> dict[str, int] | None:
        """Name of each state -> bytes; None: nothing new, or not known: state on disk is in files of several.

        :param keyed: what an operator gives for ``keyed_state``.
        """
        if not isinstance(keyed, KeyedStateBackend) or not keyed.in_memory:
            return None
        at = now()
        if self._told is not None and at - self._told < PAUSE_MS:
            return None
        self._told = at
        rows = ((info.name, getattr(keyed.table(info.name), "rows", None)) for info in keyed.described())
        return {name: int(about_bytes(entries)) for name, entries in rows if isinstance(entries, dict)}


def about_bytes(value: Any, depth: int = DEPTH) -> float:
    """What a value takes when it is pickled, by a few of its parts if it has many."""
    if depth and isinstance(value, dict) and len(value) > SAMPLE:
        return _by_sample(islice(value.items(), SAMPLE), len(value), depth)
    if depth and isinstance(value, (list, tuple)) and len(value) > SAMPLE:
        return _by_sample(value[:: -(-len(value) // SAMPLE)], len(value), depth)
    if depth and isinstance(value, (list, tuple)):
        return sum(about_bytes(part, depth - 1) for part in value)
    try:
        return len(dumps(value))
    except Exception:
        return 0.0  # who stores it says so


def _by_sample(parts: Iterable[Any], count: int, depth: int) -> float:
    sizes = [about_bytes(part, depth - 1) for part in parts]
    return sum(sizes) / len(sizes) * count
