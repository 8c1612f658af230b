"""Timers of one operator and one time domain: deduplicated by (time, key and namespace), fired in time order.

A heap contains each time once, however many timers it has; the timers of a time are in a list, in the order of their
numbers. So a timer needs no heap entry of its own, and no comparison of keys.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

TimerId = tuple[int, Any]
"""(timestamp in ms, address of the key and namespace)"""

NOBODY = object()
_SMALL = 64
"""the number of deleted timers up to which no clean-up is worth it"""


class TimerHeap:
    """A set of numbered timers, ordered by time."""

    def __init__(self) -> None:
        self._order: dict[TimerId, int] = {}
        """timer -> its number"""
        self._waiting: dict[int, Any] = {}
        """time (ms) -> the only address with a timer at this time, or a list of them"""
        self._firing: dict[int, list[Any]] = {}
        """time (ms) that has begun to fire -> the addresses left to fire, the next one last"""
        self._times: list[int] = []
        """a heap of all times; it may contain times without timers, and duplicates"""
        self._mixed: set[int] = set()
        """times whose list contains deleted addresses, or is not in the order of the numbers"""
        self._deleted = 0
        """number of timers deleted since the last clean-up"""

    def next_time(self) -> int | None:
        """When the earliest timer is due (ms); None: there are no timers."""
        while self._times:
            time = self._times[0]
            if self._firing.get(time):
                return time
            waiting = self._waiting.get(time, NOBODY)
            if waiting is not NOBODY and time in self._mixed:
                self._tidy(time)
                waiting = self._waiting.get(time, NOBODY)
            if waiting is not NOBODY:
                return time
            self._firing.pop(time, None)
            heapq.heappop(self._times)
        return None

    def _line_up(self, time: int, at: Any) -> None:
        """Append an address to those that have a timer at this time."""
        waiting = self._waiting.get(time, NOBODY)
        if waiting is NOBODY:
            self._waiting[time] = at
            if time not in self._firing:
                heapq.heappush(self._times, time)
        elif waiting.__class__ is list:
            waiting.append(at)
        else:
            self._waiting[time] = [waiting, at]

    def _put(self, timer: TimerId, number: int) -> None:
        """Add a timer with any number, which may be lower than those of other timers."""
        time, at = timer
        self._order[timer] = number
        self._line_up(time, at)
        if self._waiting[time].__class__ is list:
            self._mixed.add(time)

    def _leave(self, timer: TimerId) -> None:
        """Remove a timer from the lists by time, after it was removed from ``_order``."""
        time, at = timer
        firing = self._firing.get(time)
        if firing is not None and at in firing:
            firing.remove(at)
            return
        if self._waiting[time].__class__ is list:
            self._mixed.add(time)
        else:
            del self._waiting[time]
        self._deleted += 1
        if self._deleted > max(_SMALL, len(self._order)):
            self._tidy_all()

    def _pop(self, until: int) -> tuple[TimerId, int] | None:
        """Remove and return the earliest timer that is due at ``until`` (ms), with its number; None: there is none."""
        times = self._times
        while times and times[0] <= until:
            time = times[0]
            firing = self._firing.get(time)
            if firing is None:
                if time in self._mixed:
                    self._tidy(time)
                waiting = self._waiting.pop(time, NOBODY)
                if waiting.__class__ is not list:
                    heapq.heappop(times)
                    if waiting is NOBODY:
                        continue
                    timer = (time, waiting)
                    return timer, self._order.pop(timer)
                waiting.reverse()
                firing = self._firing[time] = waiting
            if firing:
                timer = (time, firing.pop())
                return timer, self._order.pop(timer)
            del self._firing[time]
            if time not in self._waiting:
                heapq.heappop(times)
        return None

    def _tidy(self, time: int) -> None:
        """Sort the addresses of a time by their numbers, without the deleted ones."""
        order = self._order
        self._mixed.discard(time)
        found = [at for at in dict.fromkeys(self._waiting.pop(time)) if (time, at) in order]
        found.sort(key=lambda at: order[time, at])
        if found:
            self._waiting[time] = found if len(found) > 1 else found[0]

    def _tidy_all(self) -> None:
        for time in list(self._mixed):
            self._tidy(time)
        self._times = [*self._waiting.keys() | self._firing.keys()]
        heapq.heapify(self._times)
        self._deleted = 0

    def _forget(self) -> None:
        """Drop all timers."""
        for known in (self._order, self._waiting, self._firing, self._times, self._mixed):
            known.clear()
        self._deleted = 0


class TimerQueue(TimerHeap):
    """The timers of an operator in one time domain.

    Timers of the same time fire in the order of their registration; that order is part of the snapshot, so a restored
    operator fires like one that was never interrupted.
    """

    def __init__(self) -> None:
        super().__init__()
        self._next = 0
        """number of the next registration"""
        self._reported = 0
        """timers with a smaller number were in an earlier delta"""
        self._removed: dict[TimerId, None] = {}
        """timers from earlier deltas that were removed since the last delta"""
        self._ascending = True
        """whether ``_order`` is sorted by number"""
        self.closed = False
        """whether new timers are ignored"""

    def __len__(self) -> int:
        return len(self._order)

    def register(self, timestamp: int, at: Any) -> None:
        number = self._next
        if self.closed or self._order.setdefault((timestamp, at), number) != number:
            return
        self._next = number + 1
        waiting = self._waiting.get(timestamp, NOBODY)
        if waiting.__class__ is list:  # what ``_line_up`` does, without a call for the many
            waiting.append(at)
        else:
            self._line_up(timestamp, at)

    def delete(self, timestamp: int, at: Any) -> None:
        timer = (timestamp, at)
        number = self._order.pop(timer, None)
        if number is not None:
            self._leave(timer)
            self._gone(timer, number)

    def clear(self) -> None:
        """Delete all timers."""
        for timer, number in self._order.items():
            self._gone(timer, number)
        self._forget()

    def wipe(self) -> None:
        """Delete all timers, and forget the changes: no delta will be taken."""
        self._forget()
        self._removed.clear()
        self._reported = self._next

    def pop_due(self, time: int) -> TimerId | None:
        """Remove and return the earliest timer with timestamp <= ``time`` (ms); None: there is none."""
        firing = self._firing.get(self._times[0]) if self._times else None
        if firing and self._times[0] <= time:  # the next one of a line: what ``_pop`` does, without a call for the many
            timer = (self._times[0], firing.pop())
            number = self._order.pop(timer)
        else:
            found = self._pop(time)
            if found is None:
                return None
            timer, number = found
        if number < self._reported:
            self._removed[timer] = None
        return timer

    def times(self, at: Any) -> list[int]:
        """The pending timestamps (ms) of one address, in order."""
        return sorted(timestamp for timestamp, address in self._order if address == at)

    def _gone(self, timer: TimerId, number: int) -> None:
        """Note that a timer was removed, unless it was also registered since the last delta."""
        if number < self._reported:
            self._removed[timer] = None

    def delta(self) -> list[tuple[TimerId, int | None]]:
        """Changes since the last call: (timer, its registration number, or None if it was removed)."""
        if not self._ascending:
            self._order = dict(sorted(self._order.items(), key=_number))
            self._ascending = True
        new: list[tuple[TimerId, int | None]] = []
        for timer, number in reversed(self._order.items()):
            if number < self._reported:
                break
            new.append((timer, number))
        changes: list[tuple[TimerId, int | None]]
        changes = [(timer, None) for timer in self._removed if timer not in self._order]
        changes += reversed(new)
        self._removed, self._reported = {}, self._next
        return changes

    def entries(self) -> list[tuple[TimerId, int | None]]:
        """All timers, in the form of a delta."""
        return list(self._order.items())

    def apply(self, changes: Iterable[tuple[TimerId, int | None]]) -> None:
        all_reported = self._reported == self._next
        for timer, number in changes:
            if self._order.pop(timer, None) is not None:
                self._leave(timer)
            if number is not None:
                self._ascending = self._ascending and number >= self._next
                self._put(timer, number)
                self._next = max(self._next, number + 1)
        if all_reported:
            self._reported = self._next


def _number(entry: tuple[TimerId, int]) -> int:
    return entry[1]
