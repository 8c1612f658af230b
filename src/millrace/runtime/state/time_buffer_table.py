"""Elements by key and time, until they are too old: the memory of joins over time.

What a chunk of elements asks for is found for all of them together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.state.figures import MEMORY_BYTES, ROWS, Figures
from millrace.runtime.state.tables import Table
from millrace.runtime.state.time_index import TimeIndex
from millrace.runtime.storage import dumps
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.ranges import Ids

Entries = dict[Any, tuple[list[int], list[Any]]]
"""key -> (times, elements)"""

FEW = 16
"""So many elements are not worth looking for old ones among them."""
ONE_BY_ONE = 8
"""Chunks of so many elements or fewer are processed one element after the other: a call of numpy costs more."""
MOST_RECENT = 256
"""The most elements that wait for a place in the index; so many fill a small run of it."""
SAMPLE = 64
"""The number of elements by which the size of all is estimated."""
OBJECT_BYTES = 160
"""The bytes of an element in memory beside those of its content: in arrays, and as an object."""


class _Added(NamedTuple):
    """Elements in the order of arrival."""

    keys: Sequence[Any]
    times: Sequence[int]
    values: Sequence[Any]
    latest: int


class _Recent:
    """The newest elements, which came in chunks too small for the index."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.times: list[int] = []
        self.values: list[Any] = []
        self._of: dict[Any, list[tuple[int, Any]]] = {}
        """key -> (time, element) in the order of arrival"""

    def add(self, keys: Sequence[Any], times: Sequence[int], values: Sequence[Any]) -> None:
        self.keys += keys
        self.times += times
        self.values += values
        for key, element in zip(keys, zip(times, values)):
            self._of.setdefault(key, []).append(element)

    def near(self, key: Any, first: int, last: int) -> list[tuple[int, Any]]:
        """(time, element) of a key within a range of time, in the order of arrival."""
        return [each for each in self._of.get(key, ()) if first <= each[0] <= last]


class TimeBufferTable(Table):
    """Elements with keys and timestamps (ms).

    A change is (times, elements) of a key that were added, in the order of arrival; it is to be applied once. Removals
    of old elements are in no delta: every copy removes them itself, sooner or later, so readers must ask for a range of
    time. The full content of a key is in the order of time; elements of the same time are in that of arrival.
    """

    kind = "time buffers"

    def __init__(self) -> None:
        super().__init__()
        self._added: deque[_Added] = deque()
        """elements added since the last delta"""
        self._needed = MIN_TIMESTAMP
        """elements before this time (ms) are too old"""
        self._begin()

    def _begin(self) -> None:
        """Begin without elements."""
        self._codes_of: dict[Any, int] = {}
        self._keys: list[Any] = []
        """the key of each code"""
        self.length = 0
        self._codes = np.zeros(0, np.int64)
        self._times = np.zeros(0, np.int64)
        self._values = np.zeros(0, object)
        self._index = TimeIndex()
        self._recent = _Recent()
        """elements that are not in the index, nor in what has a number"""
        self._checked = 0
        """number of elements when old ones were looked for last"""
        self._middle = MIN_TIMESTAMP
        """a time (ms) before which half of these were"""

    # -- elements come and go -------------------------------------------------------------------------------------

    def add_all(self, keys: Sequence[Any], times: Sequence[int], values: Sequence[Any]) -> None:
        """Add elements in the order of their arrival; the sequences must not change afterwards."""
        if keys:
            self._added.append(_Added(keys, times, values, max(times)))
            self._add(keys, times, values)

    def _add(self, keys: Sequence[Any], times: Sequence[int], values: Sequence[Any]) -> None:
        if len(keys) <= ONE_BY_ONE:
            self._recent.add(keys, times, values)
            if len(self._recent.keys) >= MOST_RECENT:
                self._number_recent()
        else:
            self._number_recent()
            self._number(keys, times, values)

    def _number_recent(self) -> None:
        """Give the newest elements numbers and places in the index."""
        recent = self._recent
        if recent.keys:
            self._recent = _Recent()
            self._number(recent.keys, recent.times, recent.values)

    def _number(self, keys: Sequence[Any], times: Sequence[int], values: Sequence[Any]) -> None:
        self._index.add(*self._append(keys, np.array(times, np.int64), values))

    def _append(self, keys: Sequence[Any], times: Ids, values: Sequence[Any]) -> tuple[Ids, Ids, Ids]:
        """(numbers, codes, times) of new rows, which have to be added to the index."""
        codes, first, count = self._codes_for(keys), self.length, len(keys)
        end = self.length = first + count
        self._codes, self._times = with_room(self._codes, end), with_room(self._times, end)
        self._values = with_room(self._values, end)
        self._codes[first:end], self._times[first:end] = codes, times
        self._values[first:end] = np.fromiter(values, object, count)
        return np.arange(first, end), codes, times

    def _codes_for(self, keys: Sequence[Any]) -> Ids:
        """The codes of keys, new ones included."""
        codes = self._known_codes(keys)
        unknown = (codes < 0).nonzero()[0]
        if len(unknown):
            first = len(self._keys)
            new = list(dict.fromkeys(map(keys.__getitem__, unknown.tolist())))
            self._codes_of.update(zip(new, range(first, first + len(new))))
            self._keys += new
            codes = self._known_codes(keys)
        return codes

    def _known_codes(self, keys: Sequence[Any]) -> Ids:
        """The codes of keys, -1 for those without elements in memory."""
        return np.fromiter(map(self._codes_of.get, keys, repeat(-1)), np.int64, len(keys))

    def near(
        self, keys: Sequence[Any], times: Sequence[int], earlier: int, later: int, most: int
    ) -> Iterator[tuple[list[int], list[int], list[Any]]]:
        """(index in ``keys``, timestamp and value of an element of this key whose timestamp is from ``times[index] +
        earlier`` to ``times[index] + later``) as three lists, by index, time and arrival: about ``most`` at a time, or
        all of one index. Until the last ones are taken the table must not change."""
        if len(keys) <= ONE_BY_ONE:
            yield from self._near_few(keys, times, earlier, later, most)
            return
        self._number_recent()
        if not self.length:
            return
        codes = self._known_codes(keys)
        around = np.array(times, np.int64)
        bounds = shifted(around, earlier), shifted(around, later)
        for owners, numbers in self._index.near(codes, *bounds, self._times, most):
            self._found(numbers)
            yield owners.tolist(), self._times[numbers].tolist(), self._values[numbers].tolist()

    def _near_few(
        self, keys: Sequence[Any], times: Sequence[int], earlier: int, later: int, most: int
    ) -> Iterator[tuple[list[int], list[int], list[Any]]]:
        """As ``near``, one after the other."""
        owners: list[int] = []
        found: list[tuple[int, Any]] = []
        earlier, later = _in_bounds(earlier), _in_bounds(later)
        for owner, (key, time) in enumerate(zip(keys, times)):
            first, last = _in_bounds(time + earlier), _in_bounds(time + later)
            its = self._recent.near(key, first, last)
            numbers = self._index.of_one(self._codes_of.get(key, -1), first, last, self._times)
            if len(numbers):
                self._found(numbers)
                its = [*zip(self._times[numbers].tolist(), self._values[numbers].tolist()), *its]
            its.sort(key=itemgetter(0))
            if owners and len(owners) + len(its) > most:
                yield owners, *_apart(found)
                owners, found = [], []
            owners += repeat(owner, len(its))
            found += its
        if owners:
            yield owners, *_apart(found)

    def _found(self, numbers: Ids) -> None:
        """These elements have been found."""

    def forget_before(self, time: int) -> None:
        """Elements with a timestamp before ``time`` (ms) are not needed any more."""
        self._needed = time = min(max(time, MIN_TIMESTAMP), MAX_WATERMARK)
        added = self._added
        while added and added[0].latest < time:
            added.popleft()
        if time > self._middle or self.length >= 2 * self._checked + FEW:
            self._remove_old()

    def _remove_old(self) -> None:
        """Remove old elements if they are half of all: so each removal costs as much as what it removes."""
        self._number_recent()
        if not self.length:
            return
        wanted = self._times[: self.length] >= self._needed
        if 2 * int(np.count_nonzero(wanted)) <= self.length:
            self.retain(wanted)
        self._checked = half = self.length
        if half:
            half //= 2
            self._middle = int(np.partition(self._times[: self.length], half)[half])

    def settle(self) -> None:
        """Let elements leave memory that are not needed there."""

    def retain(self, wanted: Any) -> None:
        """Remove all other elements that have numbers from memory; the remaining ones get new numbers, and their keys
        new codes."""
        kept = np.flatnonzero(wanted)
        codes, self._codes = np.unique(self._codes[kept], return_inverse=True)
        new_codes = np.zeros(len(self._keys), np.int64)
        new_codes[codes] = np.arange(len(codes))
        self._index.keep(wanted, new_codes)
        self._keep_keys(codes)
        self._times, self._values = self._times[kept], self._values[kept]
        self.length = len(kept)
        self._checked, self._middle = 0, MIN_TIMESTAMP

    def _keep_keys(self, codes: Ids) -> None:
        """Only the keys with these codes have elements now; their places here are their new codes."""
        self._keys = [self._keys[code] for code in codes.tolist()]
        self._codes_of = dict(zip(self._keys, range(len(codes))))

    @property
    def _count(self) -> int:
        return self.length + len(self._recent.keys)

    @property
    def bytes_in_memory(self) -> int:
        count = self._count
        return (OBJECT_BYTES + self._bytes_of_one()) * count

    def _bytes_of_one(self) -> int:
        """About the bytes of an element's content."""
        numbered = self._values[: self.length : -(-self.length // SAMPLE) or 1].tolist()
        some = numbered or self._recent.values[:SAMPLE]
        try:
            return len(dumps(some)) // max(len(some), 1)
        except Exception:
            return 0  # what cannot be stored is told by who stores it

    def figures(self) -> Figures:
        return {ROWS: self._count, MEMORY_BYTES: self.bytes_in_memory}

    # -- as a table -----------------------------------------------------------------------------------------------

    def wipe(self) -> None:
        self._begin()
        self._added.clear()

    def delta(self) -> dict[Any, Any]:
        changes: Entries = {}
        needed = self._needed
        for keys, times, values, _ in self._added:
            for key, time, value in zip(keys, times, values):
                if time >= needed:
                    change = changes.get(key)
                    if change is None:
                        changes[key] = ([time], [value])
                    else:
                        change[0].append(time)
                        change[1].append(value)
        self._added.clear()
        return changes

    def apply(self, changes: dict[Any, Any]) -> None:
        if not changes:
            return
        keys = [key for key, (times, _) in changes.items() for _ in times]
        times = list(chain.from_iterable(times for times, _ in changes.values()))
        self._add(keys, times, list(chain.from_iterable(values for _, values in changes.values())))

    def entries(self) -> dict[Any, Any]:
        self._number_recent()
        return self._entries(self._times[: self.length] >= self._needed)

    def _entries(self, wanted: Any) -> Entries:
        """The content that the wanted elements are (numpy Booleans by number)."""
        numbers = self._index.in_order()
        numbers = numbers[wanted[numbers]]
        codes, times, values = self._codes[numbers], self._times[numbers].tolist(), self._values[numbers].tolist()
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        found: Entries = {}
        for code, start, end in zip(codes[starts].tolist(), starts.tolist(), [*starts[1:].tolist(), len(values)]):
            found[self._keys[code]] = (times[start:end], values[start:end])
        return found

    def row(self, at: Any) -> Any:
        """The elements of a key in the order of time; None: there are none."""
        self._number_recent()
        code = self._codes_of.get(at, -1)
        wanted = (self._codes[: self.length] == code) & (self._times[: self.length] >= self._needed)
        entry = self._entries(wanted).get(at)
        return None if entry is None else entry[1]

    def addresses(self) -> Iterator[Any]:
        return iter(self.entries())


def _in_bounds(time: int) -> int:
    """The time (ms), or the first or last one that there is."""
    return min(max(time, MIN_TIMESTAMP), MAX_WATERMARK)


def _apart(found: list[tuple[int, Any]]) -> tuple[list[int], list[Any]]:
    """The times and the elements."""
    return [time for time, _ in found], [value for _, value in found]


def shifted(times: Ids, by: int) -> Ids:
    """The times moved by some milliseconds, but not beyond the first and the last one that there are."""
    by = _in_bounds(by)
    return (np.maximum(times, MIN_TIMESTAMP - by) if by < 0 else np.minimum(times, MAX_WATERMARK - by)) + by
