"""Sets of hashes without Python for each: exact ones, and filters, which may say yes by mistake, but never no."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.ranges import begins

Hashes32: TypeAlias = "np.ndarray[Any, np.dtype[np.uint32]]"
Flags: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
"""a Boolean for each element of another array"""

BITS = 8
"""bits of the filter for each hash; with them about one hash in 30 is found by mistake"""
_MIX = np.uint64(0x9E3779B97F4A7C15)
Words: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"


def new_filter(most: int) -> Words:
    """An empty filter for up to this many hashes, as words of 64 bits."""
    return np.zeros(max(most * BITS // 64, 1), np.uint64)


def add_to(words: Words, hashes: Hashes32) -> None:
    """Add hashes (numbers of 32 bits) to a filter."""
    places, masks = _places(hashes, len(words))
    np.bitwise_or.at(words, places, masks)


def may_hold(words: Words, hashes: Hashes32) -> Flags:
    """Whether each hash may be one of the filter's, as numpy Booleans."""
    places, masks = _places(hashes, len(words))
    held: Flags = (words[places] & masks) == masks
    return held


def _places(hashes: Hashes32, count: int) -> tuple[Ids, Words]:
    """For each hash its word, and its four bits there."""
    mixed = hashes.astype(np.uint64) * _MIX
    one = np.uint64(1)
    masks = np.zeros(len(mixed), np.uint64)
    for shift in (8, 14, 20, 26):
        masks |= one << ((mixed >> np.uint64(shift)) & np.uint64(63))
    return ((mixed >> np.uint64(32)) * np.uint64(count) >> np.uint64(32)).astype(np.int64), masks


class HashSet:
    """Arrays of similar size are merged, so there are few."""

    def __init__(self) -> None:
        self._runs: list[Hashes32] = []

    def add(self, hashes: Hashes32) -> None:
        """Add hashes that are not in the set, distinct and in ascending order."""
        while self._runs and len(self._runs[-1]) <= 2 * len(hashes):
            hashes = np.concatenate([self._runs.pop(), hashes])
            hashes.sort(kind="stable")
        if len(hashes):
            self._runs.append(hashes)

    def contains(self, hashes: Hashes32) -> Flags:
        """Whether each of these hashes is in the set, as numpy Booleans."""
        found = np.zeros(len(hashes), bool)
        for run in self._runs:
            found |= are_among(hashes, run)
        return found

    def keep(self, hashes: Hashes32) -> None:
        """Remove all hashes but these, which ascend and are distinct."""
        kept = hashes[self.contains(hashes)]
        self._runs = [kept] if len(kept) else []

    def clear(self) -> None:
        self._runs = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))


def distinct(hashes: Hashes32) -> Hashes32:
    """The distinct hashes in ascending order."""
    ordered = np.sort(hashes)
    new = begins(ordered)
    return ordered if new.all() else ordered[new]


def are_among(hashes: Hashes32, others: Hashes32) -> Flags:
    """Whether each hash is one of the others, which ascend, as numpy Booleans."""
    if not len(others):
        return np.zeros(len(hashes), bool)
    at = np.searchsorted(others, hashes)
    found: Flags = others[np.minimum(at, len(others) - 1)] == hashes
    return found
