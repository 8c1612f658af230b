"""Finds rows by key and time, for many keys at once: sorted runs, which are merged when they are of similar size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from millrace.runtime.tables.columns.ranges import Ids, begins, ranges

SMALL = 256
"""A run of so many rows or fewer is merged with the next one, however few that has: looking into a run costs more than
merging it."""
TIMES_LARGER = 4
"""A run is merged with the next one unless it has more than this many times its rows."""


class _Run(NamedTuple):
    """Rows by key, time and arrival."""

    moments: Ids
    """the distinct times (ms) of its rows, in ascending order"""
    places: Ids
    """for each row (code of its key) * (number of moments + 1) + (index of its moment): a number that ascends by key
    and time, whatever the range of the times is"""
    numbers: Ids

    def between(self, codes: Ids, first: Ids, last: Ids) -> tuple[Ids, Ids]:
        """(index of the first row in time, number of such rows) for each key and its range of time (ms)."""
        moments, places = self.moments, self.places
        base = codes * (len(moments) + 1)
        starts = places.searchsorted(base + moments.searchsorted(first, "left"), "left")
        ends = places.searchsorted(base + moments.searchsorted(last, "right"), "left")
        return starts, np.maximum(ends - starts, 0)

    def parts(self) -> tuple[Ids, Ids]:
        """(code of the key, index of the moment) of each row."""
        return np.divmod(self.places, len(self.moments) + 1)

    def among(self, moments: Ids) -> Ids:
        """The places of its rows in a run with these moments, which include its own."""
        codes, at = self.parts()
        found: Ids = codes * (len(moments) + 1) + moments.searchsorted(self.moments)[at]
        return found


def _sorted(numbers: Ids, codes: Ids, times: Ids) -> _Run:
    """A run of rows that are given in the order of their arrival."""
    by_time = times.argsort(kind="stable")
    moments = times[by_time]
    first = begins(moments)
    at = first.cumsum() - 1
    moments = moments[first]
    places = codes[by_time] * (len(moments) + 1) + at
    order = places.argsort(kind="stable")
    return _Run(moments, places[order], numbers[by_time[order]])


def _merged(older: _Run, newer: _Run) -> _Run:
    moments = np.concatenate([older.moments, newer.moments])
    moments.sort(kind="stable")
    moments = moments[begins(moments)]
    places = np.concatenate([older.among(moments), newer.among(moments)])
    # Both parts are sorted, which a stable sort makes use of; rows of the same time stay in the order of arrival.
    order = places.argsort(kind="stable")
    return _Run(moments, places[order], np.concatenate([older.numbers, newer.numbers])[order])


class TimeIndex:
    """Each row has a number. Its key is a small number, too, the code."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        """from the oldest to the newest: of rows with equal keys and times, those in an earlier run arrived before"""

    def add(self, numbers: Ids, codes: Ids, times: Ids) -> None:
        """Add rows in the order of their arrival, which is after that of all rows with their keys."""
        run, runs = _sorted(numbers, codes, times), self._runs
        while runs and _are_alike(runs[-1], run):
            run = _merged(runs.pop(), run)
        runs.append(run)

    def add_older(self, numbers: Ids, codes: Ids, times: Ids) -> None:
        """Add rows that arrived before all rows with their keys."""
        run, runs = _sorted(numbers, codes, times), self._runs
        while runs and _are_alike(runs[0], run):
            run = _merged(run, runs.pop(0))
        runs.insert(0, run)

    def clear(self) -> None:
        self._runs = []

    def keep(self, wanted: Any, codes: Ids) -> None:
        """Remove all other rows; the remaining rows get new numbers, and their keys new codes.

        :param wanted: for each number, as numpy Booleans.
        :param codes: for each old code the new one, in the same order.
        """
        numbers = np.cumsum(wanted) - 1
        runs, self._runs = self._runs, []
        for run in runs:
            kept = wanted[run.numbers]
            if kept.any():
                its_codes, at = (each[kept] for each in run.parts())
                used = np.zeros(len(run.moments), bool)
                used[at] = True
                moments = run.moments[used]
                places = codes[its_codes] * (len(moments) + 1) + (np.cumsum(used) - 1)[at]
                self._runs.append(_Run(moments, places, numbers[run.numbers[kept]]))

    def in_order(self) -> Ids:
        """The numbers of all rows, by key, time and arrival."""
        while len(self._runs) > 1:
            newer = self._runs.pop()
            self._runs.append(_merged(self._runs.pop(), newer))
        return self._runs[0].numbers if self._runs else np.zeros(0, np.int64)

    def of_one(self, code: int, first: int, last: int, times: Ids) -> Ids:
        """The numbers of the rows of one key within a range of time (ms), by time and arrival.

        :param code: of the key; a negative one has no rows.
        :param times: of all rows, by number.
        """
        found = []
        for run in self._runs if code >= 0 else ():
            moments, places = run.moments, run.places
            if moments[0] <= last and moments[-1] >= first:
                base = code * (len(moments) + 1)
                start = places.searchsorted(base + moments.searchsorted(first, "left"), "left")
                end = places.searchsorted(base + moments.searchsorted(last, "right"), "left")
                if start < end:
                    found.append(run.numbers[start:end])
        if len(found) < 2:
            return found[0] if found else np.zeros(0, np.int64)
        numbers = np.concatenate(found)
        return numbers[times[numbers].argsort(kind="stable")]

    def near(self, codes: Ids, first: Ids, last: Ids, times: Ids, most: int) -> Iterator[tuple[Ids, Ids]]:
        """(index in ``codes``, number of a row of this key within the range of time), by index, time and arrival: about
        ``most`` pairs at a time, or all of one index.

        :param codes: of keys; negative ones have no rows.
        :param first, last: the range of time (ms) for each of them.
        :param times: of all rows, by number.
        """
        asked = (codes >= 0).nonzero()[0]
        codes = codes[asked]
        # Searching for ascending keys reads a run from beginning to end, mostly from the cache.
        order = codes.argsort()
        asked, codes = asked[order], codes[order]
        first, last = first[asked], last[asked]
        found = [(run, *run.between(codes, first, last)) for run in self._runs]
        found = [(run, starts, counts) for run, starts, counts in found if counts.any()]
        if not found:
            return
        back = asked.argsort()  # the order of the elements
        asked = asked[back]
        parts = [(run, starts[back], counts[back]) for run, starts, counts in found]
        ends = np.cumsum(sum(counts for _, _, counts in parts))
        begin = done = 0
        while done < ends[-1]:
            end = max(int(ends.searchsorted(done + most, "right")), begin + 1)
            owners, numbers = _pairs(parts, begin, end, times)
            yield asked[owners], numbers
            begin, done = end, int(ends[end - 1])


def _are_alike(one: _Run, other: _Run) -> bool:
    return len(one.numbers) <= max(TIMES_LARGER * len(other.numbers), SMALL)


def _pairs(parts: list[tuple[_Run, Ids, Ids]], begin: int, end: int, times: Ids) -> tuple[Ids, Ids]:
    """(index of an element, number of a row) for the elements from ``begin`` to ``end``, by element, time and arrival.

    :param parts: runs, and in each for each element the index of the first row, and the number of rows.
    """
    pairs = []
    for run, starts, counts in parts:
        owners, places = ranges(starts[begin:end], counts[begin:end])
        pairs.append((owners + begin, run.numbers[places]))
    if len(pairs) == 1:
        return pairs[0]
    owners, numbers = (np.concatenate(each) for each in zip(*pairs))
    order = np.lexsort((times[numbers], owners))
    return owners[order], numbers[order]
