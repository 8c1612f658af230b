"""Elements that wait for event time, for all keys together: what is due is taken out in one go, in order of time.

In a full snapshot the elements are under their keys, so that after a rescale each subtask has those of its keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from millrace.runtime.state.tables import Table

SINCE = ("\0since",)
"""The address of a delta: (the time until which elements were taken or None, what was added since and not taken)."""
MOST_SEGMENTS = 64
"""So many segments become one: each watermark looks at all of them."""


class Segment(NamedTuple):
    """Elements in the order of their arrival."""

    keys: list[Any]
    times: list[int]
    values: list[Any]


class EventBufferTable(Table):
    """Elements until they are taken out. The full content of a key is (times, elements)."""

    kind = "event buffers"

    def __init__(self) -> None:
        super().__init__()
        self._segments: list[Segment] = []
        self._known = 0
        """how many of the segments the last delta had, or those before it"""
        self._taken: int | None = None
        """the latest time of a ``take`` since the last delta"""

    def add(self, keys: list[Any], times: list[int], values: list[Any]) -> None:
        """Add elements; the lists must not change afterwards."""
        if keys:
            self._segments.append(Segment(keys, times, values))

    def take(self, until: int) -> Segment:
        """Take out what is due at ``until`` (ms) or before, in the order of time; of the same time as it arrived."""
        due = Segment([], [], [])
        before = _split(self._segments[: self._known], until, due)
        since = _split(self._segments[self._known :], until, due)
        if due.keys:
            self._taken = until if self._taken is None else max(until, self._taken)
            self._segments, self._known = before + since, len(before)
        return _ordered(due)

    def delta(self) -> dict[Any, Any]:
        added = self._segments[self._known :]
        if not added and self._taken is None:
            return {}
        change = (self._taken, [tuple(segment) for segment in added])
        self._settle()
        return {SINCE: change}

    def _settle(self) -> None:
        if len(self._segments) > MOST_SEGMENTS:
            whole = Segment([], [], [])
            for segment in self._segments:
                for all_, part in zip(whole, segment):
                    all_ += part
            self._segments = [whole]
        self._taken, self._known = None, len(self._segments)

    def apply(self, changes: dict[Any, Any]) -> None:
        for at, change in changes.items():
            if at == SINCE:
                taken, added = change
                if taken is not None:
                    self.take(taken)
                for segment in added:
                    self.add(*segment)
            else:
                times, values = change
                self.add([at] * len(times), times, values)
        self._settle()

    def entries(self) -> dict[Any, Any]:
        found: dict[Any, tuple[list[int], list[Any]]] = {}
        for segment in self._segments:
            for key, time, value in zip(*segment):
                times, values = found.setdefault(key, ([], []))
                times.append(time)
                values.append(value)
        return found

    def wipe(self) -> None:
        self._segments, self._known, self._taken = [], 0, None

    def row(self, at: Any) -> Any:
        return self.entries().get(at)

    def addresses(self) -> Iterator[Any]:
        return iter(self.entries())


def _split(segments: list[Segment], until: int, due: Segment) -> list[Segment]:
    """The segments with what is due later; the rest is added to ``due``."""
    left = []
    for segment in segments:
        times = segment.times
        if min(times) > until:
            left.append(segment)
            continue
        if max(times) <= until:
            for all_, part in zip(due, segment):
                all_ += part
            continue
        later = Segment([], [], [])
        for key, time, value in zip(*segment):
            to = later if time > until else due
            to.keys.append(key)
            to.times.append(time)
            to.values.append(value)
        left.append(later)
    return left


def _ordered(due: Segment) -> Segment:
    times = due.times
    order = sorted(range(len(times)), key=times.__getitem__)
    return Segment(*([part[place] for place in order] for part in due))
