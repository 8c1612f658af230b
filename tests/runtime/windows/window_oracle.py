"""Windows in plain Python, computed anew from the elements at every step: what all window operators are compared with.

Nothing here is shared with the package. An element arrives as ``(key, value, timestamp)``; every step gives what it
makes happen. ``Oracle`` knows windows that are fixed (``grid``, ``cumulative``), ``SessionOracle`` those that grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Span = tuple[int, int]
"""start and end of a window, the end not included"""
MIN = -(2**63)


class Firing(NamedTuple):
    """The window function is called."""

    key: Any
    window: Span
    contents: tuple[Any, ...]
    """values in the order of their arrival"""


@dataclass
class Happened:
    """What one step caused, each list in order."""

    fired: list[Firing] = field(default_factory=list)
    late: list[Any] = field(default_factory=list)
    """values of elements that are in no window any more"""
    dropped: list[tuple[Any, Span]] = field(default_factory=list)
    """windows whose state is gone: (key, window)"""


def grid(size: int, slide: int, offset: int = 0) -> Callable[[int], list[Span]]:
    """Windows that begin at ``offset`` and every ``slide`` before and after: tried out one by one, the latest first."""

    def windows_of(time: int) -> list[Span]:
        starts = [start for start in range(time, time - size, -1) if (start - offset) % slide == 0]
        return [(start, start + size) for start in starts]

    return windows_of


def cumulative(max_size: int, step: int, offset: int = 0) -> Callable[[int], list[Span]]:
    """All windows from the beginning of a series that ``time`` lies in."""

    def windows_of(time: int) -> list[Span]:
        start = next(start for start in range(time, time - max_size, -1) if (start - offset) % max_size == 0)
        return [(start, start + size) for size in range(step, max_size + 1, step) if time < start + size]

    return windows_of


class Oracle:
    """Fixed windows in event time with the trigger that goes with them."""

    def __init__(self, windows_of: Callable[[int], list[Span]], lateness: int = 0) -> None:
        self._windows_of = windows_of
        self._lateness = lateness
        self._watermark = MIN
        self._open: dict[tuple[Any, Span], list[Any]] = {}

    def element(self, key: Any, value: Any, timestamp: int) -> Happened:
        happened = Happened()
        spans = self._windows_of(timestamp)
        still_open = [span for span in spans if span[1] - 1 + self._lateness > self._watermark]
        for span in still_open:
            values = self._open.setdefault((key, span), [])
            values.append(value)
            if span[1] - 1 <= self._watermark:
                happened.fired.append(Firing(key, span, tuple(values)))
        if not still_open and timestamp + self._lateness <= self._watermark:
            happened.late.append(value)
        return happened

    def watermark(self, time: int) -> Happened:
        before, self._watermark, happened = self._watermark, time, Happened()
        for fires, (key, span) in _due(self._open, before, time, self._lateness):
            if fires:
                happened.fired.append(Firing(key, span, tuple(self._open[key, span])))
            else:
                del self._open[key, span]
                happened.dropped.append((key, span))
        return happened


def _due(open_windows: Iterable[tuple[Any, Span]], before: int, now: int, lateness: int) -> Iterator[tuple[bool, Any]]:
    """What the watermark's move from ``before`` to ``now`` brings, in order: (firing or end, key and window)."""
    moments = []
    for at in open_windows:
        last = at[1][1] - 1
        moments += [(last, True, at), (last + lateness, False, at)]
    moments.sort(key=lambda moment: (moment[0], not moment[1]))
    return ((fires, at) for time, fires, at in moments if before < time <= now)


class SessionOracle:
    """Sessions: what is connected is found anew from the single elements, never by joining what was joined before.

    Contents are sorted: when sessions become one, the order of their elements is nobody's promise.
    """

    def __init__(self, gap_of: Callable[[Any], int], lateness: int = 0) -> None:
        self._gap_of = gap_of
        self._lateness = lateness
        self._watermark = MIN
        self._alive: dict[Any, list[tuple[int, int, Any]]] = {}
        """key -> (start, end, value) of every element in a session that is not dropped"""

    def _sessions(self, key: Any) -> list[tuple[Span, tuple[Any, ...]]]:
        groups: list[list[tuple[int, int, Any]]] = []
        for element in sorted(self._alive.get(key, ()), key=lambda element: element[:2]):
            if groups and element[0] <= max(end for _, end, _ in groups[-1]):
                groups[-1].append(element)
            else:
                groups.append([element])
        return [
            ((group[0][0], max(end for _, end, _ in group)), tuple(sorted(value for _, _, value in group)))
            for group in groups
        ]

    def element(self, key: Any, value: Any, timestamp: int) -> Happened:
        happened = Happened()
        alive = self._alive.setdefault(key, [])
        alive.append((timestamp, timestamp + self._gap_of(value), value))
        span, values = next(found for found in self._sessions(key) if found[0][0] <= timestamp < found[0][1])
        if span[1] - 1 + self._lateness <= self._watermark:
            alive.pop()
            happened.late.append(value)
        elif span[1] - 1 <= self._watermark:
            happened.fired.append(Firing(key, span, values))
        return happened

    def watermark(self, time: int) -> Happened:
        before, self._watermark, happened = self._watermark, time, Happened()
        sessions = {(key, span): values for key in self._alive for span, values in self._sessions(key)}
        for fires, (key, span) in _due(sessions, before, time, self._lateness):
            if fires:
                happened.fired.append(Firing(key, span, sessions[key, span]))
            else:
                alive = self._alive[key]
                alive[:] = [element for element in alive if not span[0] <= element[0] < span[1]]
                happened.dropped.append((key, span))
        return happened
