"""Windows as values. Assigners, triggers and serializers of PyFlink's module are not in Millrace yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Protocol

from millrace.common.constants import MAX_LONG_VALUE
from millrace.datastream.not_yet import module_getattr

__all__ = ["Window", "TimeWindow", "CountWindow", "GlobalWindow"]

__getattr__ = module_getattr(__name__)


class MergeCallback(Protocol):
    """Is told which windows become one."""

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        """``to_be_merged`` (at least two) are now ``merge_result``."""


class Window(ABC):
    """A finite set of elements that are evaluated together. Hashable: a window is a namespace of state."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last event time (ms) that belongs to the window; a watermark at or past it completes the window."""


class TimeWindow(Window):
    """The interval from ``start`` (included) to ``end`` (not included), ms since the epoch. Ordered by start, end."""

    __slots__ = ("start", "end")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        """The last millisecond of the window: ``end - 1``."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the windows overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that contains both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Start of the window of ``window_size`` ms that ``timestamp`` falls into; correct before 1970, too.

        :param offset: shift of all windows, ms.
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergeCallback) -> None:
        """Find the groups of windows that overlap or touch and tell ``callback`` of each group of at least two."""
        merged: TimeWindow | None = None
        group: set[TimeWindow] = set()
        groups: list[tuple[TimeWindow, set[TimeWindow]]] = []
        for window in sorted(windows):
            if merged is not None and merged.intersects(window):
                merged = merged.cover(window)
                group.add(window)
            else:
                merged = window
                group = {window}
                groups.append((merged, group))
            groups[-1] = (merged, group)
        # Only now: the callback may change the collection that the windows come from.
        for result, members in groups:
            if len(members) > 1:
                callback.merge(members, result)

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.start == other.start and self.end == other.end

    def __lt__(self, other: TimeWindow) -> bool:
        if not isinstance(other, TimeWindow):
            return NotImplemented
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: TimeWindow) -> bool:
        if not isinstance(other, TimeWindow):
            return NotImplemented
        return (self.start, self.end) <= (other.start, other.end)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


class CountWindow(Window):
    """The ``id``-th window of a number of elements. It has no end in time."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        """The largest long: time never completes the window."""
        return MAX_LONG_VALUE

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.id == other.id

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that holds all elements of a key. All instances are equal."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """The global window."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        """The largest long: time never completes the window."""
        return MAX_LONG_VALUE

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __repr__(self) -> str:
        return "GlobalWindow"
