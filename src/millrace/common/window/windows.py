"""Windows as values, and their binary forms as PyFlink writes them: big-endian longs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from io import BytesIO
from struct import Struct
from typing import Generic, NamedTuple, TypeVar

from millrace.common.constants import MAX_LONG_VALUE
from millrace.common.serializer import TypeSerializer

__all__ = ["CountWindow", "GlobalWindow", "MergeCallback", "TimeWindow", "Window"]

W2 = TypeVar("W2")
"""Type of the windows, within a callback."""


class MergeCallback(ABC, Generic[W2]):
    """Gets the groups of windows that are merged. PyFlink's name for it is ``MergingWindowAssigner.MergeCallback``.

    >>> sorted(MergeCallback.__abstractmethods__)
    ['merge']
    """

    @abstractmethod
    def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
        """``to_be_merged`` (at least two, all different) are now ``merge_result``."""


class Window(ABC):
    """A finite set of elements that are evaluated together. Hashable: a window is a namespace of state.

    >>> isinstance(TimeWindow(0, 1000), Window)
    True
    """

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last event time (ms) that belongs to the window; a watermark at or past it completes the window."""


# State is looked up by window for every element. Tuples are created, hashed and compared in C.
class _Interval(NamedTuple):
    start: int
    end: int


class TimeWindow(_Interval, Window):
    """The interval from ``start`` (included) to ``end`` (not included), ms since the epoch. Ordered by start, end.

    It is a tuple, so it equals the plain tuple ``(start, end)``.

        >>> window = TimeWindow(0, 60_000)
        >>> window.max_timestamp(), window.intersects(TimeWindow(59_999, 70_000))
        (59999, True)
    """

    __slots__ = ()

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
    def merge_windows(windows: Iterable[TimeWindow], callback: MergeCallback[TimeWindow]) -> None:
        """Find the groups of windows that overlap or touch, and call ``callback`` for each group of at least two."""
        groups: list[tuple[TimeWindow, list[TimeWindow]]] = []
        for window in sorted(set(windows)):
            if groups and groups[-1][0].intersects(window):
                merged, group = groups[-1]
                groups[-1] = (merged.cover(window), [*group, window])
            else:
                groups.append((window, [window]))
        # Only now: the callback may change the collection that the windows come from.
        for merged, group in groups:
            if len(group) > 1:
                callback.merge(group, merged)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


class CountWindow(Window):
    """The ``id``-th window of a number of elements. It has no end in time.

    >>> window = CountWindow(3)
    >>> window.id
    3
    """

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
    """The one window that holds all elements of a key. There is one object of it in a process.

    >>> GlobalWindow.get() == GlobalWindow.get()
    True
    """

    __slots__ = ()

    _instance: GlobalWindow

    def __new__(cls) -> GlobalWindow:
        if "_instance" not in cls.__dict__:
            cls._instance = super().__new__(cls)
        return cls._instance

    @staticmethod
    def get() -> GlobalWindow:
        """The global window."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        """The largest long: time never completes the window."""
        return MAX_LONG_VALUE

    def __repr__(self) -> str:
        return "GlobalWindow"


# Binary forms

_LONG = Struct(">q")
_TWO_LONGS = Struct(">qq")


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """16 bytes: start, end.

    >>> serializer = TimeWindowSerializer()
    >>> isinstance(serializer, TypeSerializer)
    True
    """

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        """Write a window to a stream of bytes."""
        stream.write(_TWO_LONGS.pack(element.start, element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        """Read a window from a stream of bytes."""
        return TimeWindow(*_TWO_LONGS.unpack(stream.read(_TWO_LONGS.size)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """8 bytes: the id.

    >>> isinstance(CountWindowSerializer(), TypeSerializer)
    True
    """

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        """Write a window to a stream of bytes."""
        stream.write(_LONG.pack(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        """Read a window from a stream of bytes."""
        return CountWindow(*_LONG.unpack(stream.read(_LONG.size)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """One byte, 0.

    >>> isinstance(GlobalWindowSerializer(), TypeSerializer)
    True
    """

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        """Write a window to a stream of bytes."""
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        """Read a window from a stream of bytes."""
        stream.read(1)
        return GlobalWindow.get()
