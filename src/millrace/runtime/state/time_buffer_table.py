"""Elements by key in the order of their timestamps, until they are too old: the memory of joins over time.

Adding an element in order costs an append. Old elements are removed key by key, not one by one: an index by time leads
to the keys, and each visit to a key removes at least half of the elements that it had at the last visit.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.state.tables import Table

SLOT_BITS = 7
"""Old elements may stay up to 128 ms longer, so that many keys share a slot of the index."""
LONG_TAIL = 4_096
"""Length of a tail from which on single insertions before it are too expensive."""
MERGE_AT = 64
"""At least this many elements that belong before a long tail are merged into it at once."""


class _Added(NamedTuple):
    """Elements in the order of arrival."""

    keys: Sequence[Any]
    times: Sequence[int]
    values: Sequence[Any]
    latest: int


class _Index(dict[int, list[Any]]):
    """slot (time >> SLOT_BITS) -> keys to check when the time of the slot has passed.

    A key is in one slot: that of the element that was in its middle when the key was added.
    """

    def __init__(self) -> None:
        self._heap: list[int] = []

    def __missing__(self, slot: int) -> list[Any]:
        heapq.heappush(self._heap, slot)
        keys = self[slot] = []
        return keys

    def take_before(self, slot: int) -> list[Any]:
        """Remove and return the keys of all earlier slots, in order."""
        taken = []
        while self._heap and self._heap[0] < slot:
            taken += self.pop(heapq.heappop(self._heap))
        return taken


class TimeBufferTable(Table):
    """Two lists per key: ``rows`` has the elements, ``times`` their timestamps (ms).

    They are in the order of time, elements of the same time in that of arrival. A change is (times, elements) that were
    added, in the order of arrival; it is to be applied once. Removals of old elements are in no delta: every copy
    removes them itself, sooner or later, so readers must ask for a range of time.
    """

    kind = "time buffers"

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[Any, list[int]] = {}
        self._index = _Index()
        self._added: deque[_Added] = deque()
        """elements added since the last delta"""
        self._needed = MIN_TIMESTAMP
        """elements before this time (ms) are too old"""

    def add_all(self, keys: Sequence[Any], times: Sequence[int], values: Sequence[Any]) -> None:
        """Add elements in the order of their arrival; the sequences must not change afterwards."""
        if keys:
            self._added.append(_Added(keys, times, values, max(times)))
            self._add(keys, times, values)

    def _add(self, keys: Sequence[Any], times: Sequence[int], values: Sequence[Any]) -> None:
        all_times, rows, index = self.times, self.rows, self._index
        waiting: dict[Any, list[tuple[int, Any]]] = {}
        for known, key, time, value in zip(map(all_times.get, keys), keys, times, values):
            if known is None:
                all_times[key] = [time]
                rows[key] = [value]
                index[time >> SLOT_BITS].append(key)
            elif time >= known[-1]:
                known.append(time)
                rows[key].append(value)
            else:
                place = bisect_right(known, time)
                if len(known) - place < LONG_TAIL:
                    known.insert(place, time)
                    rows[key].insert(place, value)
                else:
                    waiting.setdefault(key, []).append((time, value))
        for key, elements in waiting.items():
            _insert_all(all_times[key], rows[key], elements)

    def forget_before(self, time: int) -> None:
        """Elements with a timestamp before ``time`` (ms) are not needed any more."""
        self._needed = time
        added = self._added
        while added and added[0].latest < time:
            added.popleft()
        all_times, rows, index = self.times, self.rows, self._index
        for key in index.take_before(time >> SLOT_BITS):
            times = all_times[key]
            if times[-1] < time:
                del all_times[key], rows[key]
                continue
            old = bisect_left(times, time)
            del times[:old], rows[key][:old]
            index[times[len(times) // 2] >> SLOT_BITS].append(key)

    def wipe(self) -> None:
        self.rows.clear()
        self.times.clear()
        self._index = _Index()
        self._added.clear()

    def delta(self) -> dict[Any, Any]:
        changes: dict[Any, tuple[list[int], list[Any]]] = {}
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
        for key, (times, values) in changes.items():
            self._add([key] * len(times), times, values)

    def entries(self) -> dict[Any, Any]:
        needed: dict[Any, tuple[list[int], list[Any]]] = {}
        for key, times in self.times.items():
            old = bisect_left(times, self._needed)
            if old < len(times):
                needed[key] = (times[old:], self.rows[key][old:])
        return needed


def _insert_all(times: list[int], row: list[Any], elements: list[tuple[int, Any]]) -> None:
    """Insert elements before a long tail: one by one, or all at once if they are many."""
    if len(elements) < MERGE_AT:
        for time, value in elements:
            place = bisect_right(times, time)
            times.insert(place, time)
            row.insert(place, value)
        return
    place = bisect_right(times, min(time for time, _ in elements))
    tail = [*zip(times[place:], row[place:]), *elements]
    tail.sort(key=itemgetter(0))
    times[place:], row[place:] = map(list, zip(*tail))
