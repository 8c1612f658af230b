"""When rows of a key are due, by the hash of the key: for state that is not looked at as a whole."""

from __future__ import annotations

import numpy as np

from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.ranges import begins

MANY = 65_536
"""The number of times added since hashes were last made distinct from which on that is worth it."""


class DueHashes:
    """Times (ms) at which a hash may have something to do. For each hash the earliest time is sure to be there: whoever
    takes a hash adds the time of what is left."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._runs: list[tuple[Ids, Hashes]] = []
        """(times in ascending order, the hash of each)"""
        self._distinct = 0
        """the number of times when hashes were last made distinct"""

    def __len__(self) -> int:
        return sum(len(times) for times, _ in self._runs)

    def add(self, times: Ids, hashes: Hashes) -> None:
        """Add a time (ms) for each of these hashes."""
        if not len(times):
            return
        while self._runs and len(self._runs[-1][0]) <= 2 * len(times):
            before = self._runs.pop()
            times, hashes = np.concatenate([before[0], times]), np.concatenate([before[1], hashes])
        self._insert(times, hashes)
        if len(self) > 2 * self._distinct + MANY:
            self._make_distinct()

    def _insert(self, times: Ids, hashes: Hashes) -> None:
        order = np.argsort(times, kind="stable")
        self._runs.append((times[order], hashes[order]))

    def add_earliest(self, times: Ids, hashes: Hashes) -> None:
        """As ``add``, for hashes that have many of these times each."""
        self.add(*_earliest(times, hashes))

    def _make_distinct(self) -> None:
        """Leave the earliest time of each hash."""
        times, hashes = (np.concatenate(each) for each in zip(*self._runs))
        self._runs = []
        self._insert(*_earliest(times, hashes))
        self._distinct = len(self)

    def take(self, until: int) -> Hashes:
        """The distinct hashes with a time up to this one, whose times are removed."""
        taken, left = [np.zeros(0, np.uint64)], []
        for times, hashes in self._runs:
            count = int(np.searchsorted(times, until, "right"))
            taken.append(hashes[:count])
            if count < len(times):
                left.append((times[count:], hashes[count:]) if count else (times, hashes))
        self._runs = left
        ordered = np.sort(np.concatenate(taken))  # np.unique takes several times as long
        found: Hashes = ordered[begins(ordered)]
        return found

    def next_time(self) -> int | None:
        """The earliest time (ms); None: there is none."""
        return min((int(times[0]) for times, _ in self._runs), default=None)


def _earliest(times: Ids, hashes: Hashes) -> tuple[Ids, Hashes]:
    """(the earliest time of each hash, the distinct hashes)."""
    order = np.lexsort((times, hashes))
    ordered = hashes[order]
    first = begins(ordered)
    return times[order[first]], ordered[first]
