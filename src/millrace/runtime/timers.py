"""Timers of one operator and one time domain: deduplicated by (time, key and namespace), fired in time order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

TimerId = tuple[int, Any]
"""(timestamp in ms, address of the key and namespace)"""

_SMALL = 64
"""entries of a heap that is not worth a look"""


class TimerQueue:
    """A set of timers with the earliest at hand.

    Timers of the same time fire in the order of their registration; that order is part of the snapshot, so a restored
    operator fires like one that was never interrupted.
    """

    def __init__(self) -> None:
        self._order: dict[TimerId, int] = {}
        self._heap: list[tuple[int, int, int, Any]] = []
        self._pushed = 0
        self._next = 0
        self._dirty: dict[TimerId, bool] = {}
        """timers that have changed since the last delta -> whether they were set then"""
        self.closed = False
        """whether new timers are ignored"""

    def __len__(self) -> int:
        return len(self._order)

    def register(self, timestamp: int, at: Any) -> None:
        timer = (timestamp, at)
        if timer in self._order or self.closed:
            return
        self._add(timer, self._next)
        self._dirty.setdefault(timer, False)

    def delete(self, timestamp: int, at: Any) -> None:
        timer = (timestamp, at)
        if self._order.pop(timer, None) is not None:
            self._gone(timer)
            self._compact()

    def clear(self) -> None:
        """Forget all timers."""
        for timer in self._order:
            self._gone(timer)
        self._order.clear()
        self._heap.clear()

    def wipe(self) -> None:
        """Drop everything, and what there was to say of it in a delta."""
        self._order.clear()
        self._heap.clear()
        self._dirty.clear()

    def next_time(self) -> int | None:
        """When the earliest timer is due (ms), None without timers."""
        self._drop_deleted()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, time: int) -> TimerId | None:
        """Take the earliest timer with timestamp <= ``time`` out, None if there is none."""
        self._drop_deleted()
        if not self._heap or self._heap[0][0] > time:
            return None
        timestamp, _, _, at = heapq.heappop(self._heap)
        timer = (timestamp, at)
        del self._order[timer]
        self._gone(timer)
        return timer

    def times(self, at: Any) -> list[int]:
        """The pending timestamps of one address, in order."""
        return sorted(timestamp for timestamp, address in self._order if address == at)

    def _drop_deleted(self) -> None:
        # A heap entry is alive when the set still holds that very registration.
        heap, order = self._heap, self._order
        while heap and order.get((heap[0][0], heap[0][3])) != heap[0][1]:
            heapq.heappop(heap)

    def _gone(self, timer: TimerId) -> None:
        """It is not set any more; one that came and went between two deltas is not told."""
        if self._dirty.get(timer, True):
            self._dirty[timer] = True
        else:
            del self._dirty[timer]

    def _compact(self) -> None:
        """Deleted timers leave the heap when they are more than the others."""
        if len(self._heap) > max(_SMALL, 2 * len(self._order)):
            alive = [entry for entry in self._heap if self._order.get((entry[0], entry[3])) == entry[1]]
            heapq.heapify(alive)
            self._heap = alive

    def _add(self, timer: TimerId, position: int) -> None:
        self._order[timer] = position
        self._pushed += 1  # breaks ties between timers that came from different subtasks: keys need not be comparable
        heapq.heappush(self._heap, (timer[0], position, self._pushed, timer[1]))
        self._next = max(self._next, position + 1)

    def delta(self) -> list[tuple[TimerId, int | None]]:
        """Changes since the last call: (timer, its registration number or None when it is gone)."""
        changes = [(timer, self._order.get(timer)) for timer in self._dirty]
        self._dirty = {}
        return changes

    def entries(self) -> list[tuple[TimerId, int | None]]:
        """Everything, in the form of a delta."""
        return list(self._order.items())

    def apply(self, changes: Iterable[tuple[TimerId, int | None]]) -> None:
        for timer, position in changes:
            self._order.pop(timer, None)
            if position is not None:
                self._add(timer, position)
        self._compact()
