"""Which elements have the same key."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

from millrace.runtime.batch.columns import MANY
from millrace.runtime.elements import MIN_TIMESTAMP


class Groups(NamedTuple):
    """Places of elements, key by key."""

    places: Any
    """a list, or an array of numpy"""
    bounds: list[int]
    """where the keys begin in ``places``, and at last the end"""

    def sizes(self) -> list[int]:
        """How many elements each key has."""
        return [end - start for start, end in pairwise(self.bounds)]

    def firsts(self) -> list[int]:
        """One place of each key."""
        places = self.places
        if isinstance(places, list):
            return [places[start] for start in self.bounds[:-1]]
        firsts: list[int] = places[self.bounds[:-1]].tolist()
        return firsts

    def rounds(self, size: int) -> Iterator[Groups]:
        """Whole keys with so many elements together, or a little more."""
        bounds, first = self.bounds, 0
        while first + 1 < len(bounds):
            start = bounds[first]
            last = min(bisect_left(bounds, start + size, lo=first + 1), len(bounds) - 1)
            ends = [bound - start for bound in bounds[first : last + 1]]
            yield Groups(self.places[start : bounds[last]], ends)
            first = last


def groups_of(keys: list[Any], timestamps: list[int | None] | None) -> Groups:
    """The elements of each key, in the order of time (without one they come first) and then of their places.

    Keys are in the order of their first places.
    """
    times = None if timestamps is None else sort_keys(timestamps)
    found = None
    if len(keys) >= MANY and set(map(type, keys)) in ({int}, {str}):
        found = _by_columns(keys, times)
    return found or _by_dict(keys, times)


def _by_columns(keys: list[Any], times: list[int] | None) -> Groups | None:
    """Several times as fast as a dict of lists, which lie all over the memory. None: there are keys or times that don't
    fit into columns."""
    import numpy as np
    import pyarrow as pa

    try:
        encoded = pa.array(keys).dictionary_encode()
        stamps = None if times is None else np.array(times, np.int64)
    except (pa.ArrowInvalid, OverflowError, UnicodeError):  # a large number, half a surrogate pair
        return None
    codes = encoded.indices.to_numpy()
    if len(encoded.dictionary) <= np.iinfo(np.uint16).max:
        codes = codes.astype(np.uint16)  # these are sorted by radix
    places = np.argsort(codes, kind="stable") if stamps is None else np.lexsort((stamps, codes))
    return Groups(places, [0, *np.cumsum(np.bincount(codes)).tolist()])


def _by_dict(keys: list[Any], times: list[int] | None) -> Groups:
    groups = positions(keys).values()
    if times is not None:
        for places in groups:
            if len(places) > 1:
                places.sort(key=times.__getitem__)
    return Groups(list(chain.from_iterable(groups)), [0, *accumulate(map(len, groups))])


def positions(keys: Iterable[Hashable]) -> dict[Any, list[int]]:
    """Key -> its places, keys in the order of their first ones."""
    found: dict[Any, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        found[key].append(place)
    return found


def sort_keys(timestamps: list[int | None]) -> list[int]:
    """What to sort by: elements without a timestamp come first, as in Flink."""
    if None in timestamps:
        return [MIN_TIMESTAMP if time is None else time for time in timestamps]
    return timestamps  # type: ignore[return-value]
