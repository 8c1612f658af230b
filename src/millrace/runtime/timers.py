"""Timers of one operator and one time domain: deduplicated by (time, key and namespace), fired in time order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.runtime.lineup import NOBODY, Lineup
from millrace.runtime.lineup import TimerId as TimerId


class TimerQueue(Lineup):
    """A set of timers with the earliest at hand.

    Timers of the same time fire in the order of their registration; that order is part of the snapshot, so a restored
    operator fires like one that was never interrupted.
    """

    def __init__(self) -> None:
        super().__init__()
        self._next = 0
        """the number of the next registration"""
        self._told = 0
        """timers with a smaller number are known from the deltas so far"""
        self._removed: dict[TimerId, None] = {}
        """timers of these that were taken out since the last delta"""
        self._ascending = True
        """whether the order has its timers by their numbers"""
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
        """Forget all timers."""
        for timer, number in self._order.items():
            self._gone(timer, number)
        self._forget()

    def wipe(self) -> None:
        """Drop everything, and what there was to say of it in a delta."""
        self._forget()
        self._removed.clear()
        self._told = self._next

    def pop_due(self, time: int) -> TimerId | None:
        """Take the earliest timer with timestamp <= ``time`` out, None if there is none."""
        firing = self._firing.get(self._times[0]) if self._times else None
        if firing and self._times[0] <= time:  # the next one of a line: what ``_pop`` does, without a call for the many
            timer = (self._times[0], firing.pop())
            number = self._order.pop(timer)
        else:
            found = self._pop(time)
            if found is None:
                return None
            timer, number = found
        if number < self._told:
            self._removed[timer] = None
        return timer

    def times(self, at: Any) -> list[int]:
        """The pending timestamps of one address, in order."""
        return sorted(timestamp for timestamp, address in self._order if address == at)

    def _gone(self, timer: TimerId, number: int) -> None:
        """It is not set any more; one that came and went between two deltas is not told."""
        if number < self._told:
            self._removed[timer] = None

    def delta(self) -> list[tuple[TimerId, int | None]]:
        """Changes since the last call: (timer, its registration number or None when it is gone)."""
        if not self._ascending:
            self._order = dict(sorted(self._order.items(), key=_number))
            self._ascending = True
        new: list[tuple[TimerId, int | None]] = []
        for timer, number in reversed(self._order.items()):
            if number < self._told:
                break
            new.append((timer, number))
        changes: list[tuple[TimerId, int | None]]
        changes = [(timer, None) for timer in self._removed if timer not in self._order]
        changes += reversed(new)
        self._removed, self._told = {}, self._next
        return changes

    def entries(self) -> list[tuple[TimerId, int | None]]:
        """Everything, in the form of a delta."""
        return list(self._order.items())

    def apply(self, changes: Iterable[tuple[TimerId, int | None]]) -> None:
        all_told = self._told == self._next
        for timer, number in changes:
            if self._order.pop(timer, None) is not None:
                self._leave(timer)
            if number is not None:
                self._ascending = self._ascending and number >= self._next
                self._put(timer, number)
                self._next = max(self._next, number + 1)
        if all_told:
            self._told = self._next


def _number(entry: tuple[TimerId, int]) -> int:
    return entry[1]
