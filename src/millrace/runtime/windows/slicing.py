"""The windows of an operator: the user's strategy, slices of windows that are the same for all keys, and firing times.

All times are ms. A slice or window includes its start and excludes its end. Windows that begin and end at the same
times for every key are divided into slices that no window cuts. DataStreams and tables share these classes: for one
element there is ``window_ends``, for a column of rows ``expand``.
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
"""name of the state with the elements of the windows, or their folded values"""


@dataclass(frozen=True)
class WindowStrategy:
    """A window operation: assigner, trigger and evictor, the state of contents, and what happens to late elements."""

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    contents: StateDescriptor
    """a list state for the elements, or the reducing or aggregating state that folds them"""
    evictor: Evictor[Any, Any] | None = None
    allowed_lateness: int = 0
    """allowed lateness (ms)"""
    late_tag: str | None = None
    """side output for late elements; None: they are counted and dropped"""
    late_element: Callable[[Any], Any] | None = None
    """makes of a late element what goes to the side output; None: the element itself"""
    in_memory: bool = True
    """whether all windows may be stored in tables that must fit into memory"""

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
    """The slices of an assigner's windows. A window is identified by its end: no two windows have the same."""

    offset: int
    """start of the grid of windows, relative to 1970 (ms)"""

    @property
    @abstractmethod
    def slice_size(self) -> int:
        """The length of a slice (ms)."""

    @property
    def worth_sharing(self) -> bool:
        """Whether windows overlap, and have few slices: windows of 10 s every 3.333 s would have slices of 1 ms."""
        return False

    @abstractmethod
    def window_ends(self, slice_start: int) -> list[int]:
        """The ends of the windows that contain a slice, in the assigner's order."""

    @abstractmethod
    def window_start(self, end: int) -> int:
        """The start of the window with this end."""

    def window(self, end: int) -> TimeWindow:
        return TimeWindow(self.window_start(end), end)

    def slice_ends(self, window_end: int) -> range:
        """The ends of the slices of a window."""
        size = self.slice_size
        return range(self.window_start(window_end) + size, window_end + 1, size)

    def last_window(self, slice_end: int) -> int:
        """The end of the last window that contains a slice; the slice's own end if no window does."""
        return max(self.window_ends(slice_end - self.slice_size), default=slice_end)

    def slice_ends_at(self, times: Times) -> Times:
        """The ends of the slices that contain these times."""
        size = self.slice_size
        return times - (times - self.offset) % size + size

    @abstractmethod
    def expand(self, times: Times) -> tuple[Times, Times, Times]:
        """(index in ``times``, start, end) of every window that contains a time. The windows of one time are
        consecutive, in the assigner's order."""


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
    """The slicing of one of Millrace's own assigners; None for any other: a subclass may behave differently."""
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
    """Entries by time (ms), each once. It is no state: after a restore the operator adds entries again from its
    windows."""

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
        """Remove and yield the entries due at ``now``, in the order of time; entries may be added meanwhile."""
        while self._times and self._times[0] <= now:
            time = heapq.heappop(self._times)
            yield time, self._entries.pop(time)

    def clear(self) -> None:
        self._times.clear()
        self._entries.clear()
