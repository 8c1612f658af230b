"""Session windows: they end after a gap without elements, which is the same for all elements or set by each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from operator import index
from typing import TYPE_CHECKING, Any, Final, TypeVar

from millrace.common.time import TimeSpan, to_millis
from millrace.common.window.time_windows import (
    EventTimeAssigner,
    MergingWindowAssigner,
    ProcessingTimeAssigner,
    TimeAssigner,
    WindowAssigner,
)
from millrace.common.window.windows import TimeWindow

if TYPE_CHECKING:
    from millrace.common.window.windows import MergeCallback


__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
]


T = TypeVar("T")
"""Type of the elements."""
S = TypeVar("S", bound="StaticSessions[Any]")
"""The class that ``with_gap`` is called on."""
D = TypeVar("D", bound="DynamicSessions[Any]")
"""The class that ``with_dynamic_gap`` is called on."""


class SessionWindowTimeGapExtractor(ABC):
    """Computes from an element how long its session lasts after it.

    >>> class Gap(SessionWindowTimeGapExtractor):
    ...     def extract(self, element):
    ...         return 60_000 if element == "slow" else 1_000
    >>> EventTimeSessionWindows.with_dynamic_gap(Gap()).assign_windows("slow", 0, None)
    [TimeWindow(start=0, end=60000)]
    """

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap in ms, greater than 0."""


class Sessions(TimeAssigner[T], MergingWindowAssigner[T, TimeWindow]):
    """Each element opens a window from its time to the end of its gap; windows that overlap or touch become one."""

    @abstractmethod
    def gap_of(self, element: T) -> int:
        """How long (ms) the session lasts after ``element``."""

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        start = self._time_of(timestamp, context)
        return [TimeWindow(start, start + self.gap_of(element))]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: MergeCallback[TimeWindow]) -> None:
        TimeWindow.merge_windows(windows, callback)


class StaticSessions(Sessions[T]):
    """Sessions that end ``session_gap`` ms after their last element.

    :raises ValueError: ``session_gap`` is not positive.
    """

    def __init__(self, session_gap: int) -> None:
        if session_gap <= 0:
            raise ValueError(f"{type(self).__name__} needs a gap > 0, not {session_gap} ms")
        self.session_gap: Final = session_gap

    @classmethod
    def with_gap(cls: type[S], size: TimeSpan) -> S:
        """Sessions that end when no element came for ``size``."""
        return cls(to_millis(size))

    def gap_of(self, element: T) -> int:
        return self.session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_gap})"


class DynamicSessions(Sessions[T]):
    """Sessions with a gap that each element sets.

    :param session_window_time_gap_extractor: a ``SessionWindowTimeGapExtractor``, or a function from an element to ms.
    :raises TypeError: it is neither.
    """

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]) -> None:
        extractor = session_window_time_gap_extractor
        extract = getattr(extractor, "extract", extractor)
        if not callable(extract):
            raise TypeError(
                f"{type(self).__name__} needs a SessionWindowTimeGapExtractor or a function from an element "
                f"to milliseconds, not {extractor!r}"
            )
        self._extractor: Final = extractor
        self._extract: Final[Callable[[Any], int]] = extract

    @classmethod
    def with_dynamic_gap(cls: type[D], extractor: SessionWindowTimeGapExtractor | Callable[[Any], int]) -> D:
        """Sessions that end when the gap of the last element is over, or of one before if that ends later."""
        return cls(extractor)

    def gap_of(self, element: T) -> int:
        """The gap of ``element`` in ms.

        :raises TypeError: it is no integer.
        :raises ValueError: it is not positive.
        """
        gap = self._extract(element)
        try:
            gap = index(gap)
        except TypeError:
            raise TypeError(f"{self!r} needs gaps in ms as int; that of the element {element!r} is {gap!r}") from None
        if gap <= 0:
            raise ValueError(f"{self!r} needs gaps > 0; that of the element {element!r} is {gap} ms")
        return gap

    def __repr__(self) -> str:
        # Without an address: the text is that of a plan, the same in every run.
        name = getattr(self._extractor, "__qualname__", type(self._extractor).__name__)
        return f"{type(self).__name__}({name})"


class DynamicEventTimeSessionWindows(EventTimeAssigner[T], DynamicSessions[T]):
    """Sessions in event time with a gap of each element's own.

    >>> windows = EventTimeSessionWindows.with_dynamic_gap(lambda element: element["gap"])
    >>> windows.assign_windows({"gap": 3_000}, 1_000, None)
    [TimeWindow(start=1000, end=4000)]
    """


class DynamicProcessingTimeSessionWindows(ProcessingTimeAssigner[T], DynamicSessions[T]):
    """Sessions in processing time with a gap of each element's own.

    >>> windows = ProcessingTimeSessionWindows.with_dynamic_gap(lambda element: element["gap"])
    >>> isinstance(windows, DynamicProcessingTimeSessionWindows)
    True
    """


class EventTimeSessionWindows(EventTimeAssigner[T], StaticSessions[T]):
    """Sessions in event time: ``stream.window(EventTimeSessionWindows.with_gap(Time.minutes(1)))``.

    >>> EventTimeSessionWindows.with_gap(Time.seconds(5)).assign_windows("element", 1_000, None)
    [TimeWindow(start=1000, end=6000)]
    """

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicEventTimeSessionWindows[Any]:
        """Sessions with a gap that each element sets."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(ProcessingTimeAssigner[T], StaticSessions[T]):
    """Sessions in processing time: ``stream.window(ProcessingTimeSessionWindows.with_gap(Time.minutes(1)))``.

    >>> ProcessingTimeSessionWindows.with_gap(Time.minutes(10)).is_event_time()
    False
    """

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicProcessingTimeSessionWindows[Any]:
        """Sessions with a gap that each element sets."""
        return DynamicProcessingTimeSessionWindows(extractor)
