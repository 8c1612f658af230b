"""Which windows an operator has: the user's strategy, slices of windows that are alike for all keys, times when they
fire.

All times are ms. A slice or window is known by its start and end; the start belongs to it, the end doesn't. Windows
that begin and end at the same times for every key are cut into slices that no window cuts through. Windows of
DataStreams and of tables are the same here: one element asks by ``window_ends``, a column of rows by ``expand``.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any, Generic, TypeVar

import numpy as np

from millrace.common.state import StateDescriptor
from millrace.common.window import (
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    Evictor,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)

# The strategy

CONTENTS = "window-contents"
"""name of the state that holds the elements of the windows, or what they were folded into"""


@dataclass(frozen=True)
class WindowStrategy:
    """Assigner, trigger and evictor, how contents are kept, and what happens to late elements."""

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    contents: StateDescriptor
    """a list state of the elements, or the reducing or aggregating state that they are folded into"""
    evictor: Evictor[Any, Any] | None = None
    allowed_lateness: int = 0
    """ms"""
    late_tag: str | None = None
    """side output for late elements; None: they are counted and dropped"""
    late_element: Callable[[Any], Any] | None = None
    """what of a late element goes to the side output; None: all of it"""
    in_memory: bool = True
    """whether all windows may be kept in tables that are in memory as a whole"""

    @property
    def is_event_time(self) -> bool:
        return self.assigner.is_event_time()

    @property
    def is_merging(self) -> bool:
        return isinstance(self.assigner, MergingWindowAssigner)


# Slices

Times = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Slicing(ABC):
    """How an assigner's windows consist of slices. The end of a window is its name: no two windows share one."""

    offset: int
    """where the grid of windows begins, relative to 1970"""

    @property
    @abstractmethod
    def slice_size(self) -> int:
        """The length of every slice."""

    @property
    def worth_sharing(self) -> bool:
        """Whether windows overlap, and are cut in few slices: those of 10 s every 3.333 s would have slices of 1 ms."""
        return False

    @abstractmethod
    def window_ends(self, slice_start: int) -> list[int]:
        """The windows that a slice lies in, in the assigner's order."""

    @abstractmethod
    def window_start(self, end: int) -> int:
        """Where the window with this end begins."""

    def window(self, end: int) -> TimeWindow:
        return TimeWindow(self.window_start(end), end)

    def slice_ends(self, window_end: int) -> range:
        """The slices of a window."""
        size = self.slice_size
        return range(self.window_start(window_end) + size, window_end + 1, size)

    def last_window(self, slice_end: int) -> int:
        """The end of the last window that a slice lies in; the slice's own end if it lies in none."""
        return max(self.window_ends(slice_end - self.slice_size), default=slice_end)

    def slice_ends_at(self, times: Times) -> Times:
        """The slices that these times are in."""
        size = self.slice_size
        return times - (times - self.offset) % size + size

    @abstractmethod
    def expand(self, times: Times) -> tuple[Times, Times, Times]:
        """(place in ``times``, start, end) of every window that a time is in; all of one time are neighbours, in the
        assigner's order."""


@dataclass(frozen=True)
class TumblingSlices(Slicing):
    size: int

    @property
    def slice_size(self) -> int:
        return self.size

    def window_ends(self, slice_start: int) -> list[int]:
        return [slice_start + self.size]

    def window_start(self, end: int) -> int:
        return end - self.size

    def expand(self, times: Times) -> tuple[Times, Times, Times]:
        ends = self.slice_ends_at(times)
        return np.arange(len(times)), ends - self.size, ends


@dataclass(frozen=True)
class SlidingSlices(Slicing):
    size: int
    slide: int

    @property
    def slice_size(self) -> int:
        return gcd(self.size, self.slide)

    @property
    def worth_sharing(self) -> bool:
        return self.slide < self.size and self.slide <= 2 * self.slice_size

    def window_ends(self, slice_start: int) -> list[int]:
        last = slice_start - (slice_start - self.offset) % self.slide
        return [start + self.size for start in range(last, slice_start - self.size, -self.slide)]

    def window_start(self, end: int) -> int:
        return end - self.size

    def expand(self, times: Times) -> tuple[Times, Times, Times]:
        last = times - (times - self.offset) % self.slide
        starts = last[:, None] - np.arange(0, self.size, self.slide)
        rows, column = np.nonzero(starts + self.size > times[:, None])
        found = starts[rows, column]
        return rows, found, found + self.size


@dataclass(frozen=True)
class CumulativeSlices(Slicing):
    max_size: int
    step: int

    @property
    def slice_size(self) -> int:
        return self.step

    @property
    def worth_sharing(self) -> bool:
        return self.step < self.max_size

    def window_ends(self, slice_start: int) -> list[int]:
        start = self.window_start(slice_start + self.step)
        return list(range(slice_start + self.step, start + self.max_size + 1, self.step))

    def window_start(self, end: int) -> int:
        return end - 1 - (end - 1 - self.offset) % self.max_size

    def expand(self, times: Times) -> tuple[Times, Times, Times]:
        starts = times - (times - self.offset) % self.max_size
        ends = self.slice_ends_at(times)[:, None] + np.arange(0, self.max_size, self.step)
        rows, column = np.nonzero(ends <= (starts + self.max_size)[:, None])
        return rows, starts[rows], ends[rows, column]


def slicing_of(assigner: Any) -> Slicing | None:
    """The slices of an assigner that comes with Millrace, None for any other: a subclass may do something else."""
    kind = type(assigner)
    if kind in (TumblingEventTimeWindows, TumblingProcessingTimeWindows):
        return TumblingSlices(assigner.offset, assigner.size)
    if kind in (SlidingEventTimeWindows, SlidingProcessingTimeWindows):
        return SlidingSlices(assigner.offset, assigner.size, assigner.slide)
    if kind in (CumulativeEventTimeWindows, CumulativeProcessingTimeWindows):
        return CumulativeSlices(assigner.offset, assigner.max_size, assigner.step)
    return None


# Times that windows wait for

T = TypeVar("T")


class Agenda(Generic[T]):
    """Entries by time (ms), each once. Not state: an operator plans again from its windows after a restore."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._entries: dict[int, dict[T, None]] = {}

    def add(self, time: int, entry: T) -> None:
        entries = self._entries.get(time)
        if entries is None:
            self._entries[time] = {entry: None}
            heapq.heappush(self._times, time)
        else:
            entries[entry] = None

    def next_time(self) -> int | None:
        return self._times[0] if self._times else None

    def due(self, now: int) -> Iterator[tuple[int, Iterable[T]]]:
        """Take off what is due until ``now``, in order of time; may be added to meanwhile."""
        while self._times and self._times[0] <= now:
            time = heapq.heappop(self._times)
            yield time, self._entries.pop(time)

    def clear(self) -> None:
        self._times.clear()
        self._entries.clear()
