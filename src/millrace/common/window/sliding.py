"""Sliding windows: of one length, beginning at regular intervals."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from millrace.common.time import TimeSpan, to_millis
from millrace.common.window.time_assigner import AlignedAssigner, EventTimeAssigner, ProcessingTimeAssigner
from millrace.common.window.windows import TimeWindow

__all__ = ["SlidingEventTimeWindows", "SlidingProcessingTimeWindows"]

MAX_WINDOWS = 10_000_000
"""In how many windows one element may be: Flink's limit."""

T = TypeVar("T")
"""Type of the elements."""
A = TypeVar("A", bound="SlidingWindows[Any]")
"""The class that ``of`` is called on."""


class SlidingWindows(AlignedAssigner[T]):
    """Windows of ``size`` ms that begin at ``offset`` ms, and every ``slide`` ms before and after that.

    They overlap if ``slide`` is less than ``size``, and leave gaps if it is more.

    :raises ValueError: ``size`` or ``slide`` is not positive, or ``offset``, whatever its sign, not smaller than
        ``slide``, or an element would be in more than ten million windows.
    """

    def __init__(self, size: int, slide: int, offset: int) -> None:
        if abs(offset) >= slide or size <= 0:
            raise ValueError(
                f"{type(self).__name__} needs size > 0, slide > 0 and abs(offset) < slide, not a size of {size} ms, "
                f"a slide of {slide} ms and an offset of {offset} ms"
            )
        if size // slide > MAX_WINDOWS:
            raise ValueError(
                f"{type(self).__name__} needs size / slide <= {MAX_WINDOWS}, not {size} ms / {slide} ms: "
                "every element would be in that many windows"
            )
        self.size: Final = size
        self.slide: Final = slide
        self.offset: Final = offset

    @classmethod
    def of(cls: type[A], size: TimeSpan, slide: TimeSpan, offset: TimeSpan | None = None) -> A:
        """Windows of ``size``, one every ``slide``.

        :param offset: shifts all windows: ``of(Time.hours(1), Time.minutes(30), Time.minutes(15))`` gives windows that
            begin at quarter past and quarter to. Without it one begins at midnight UTC, 1 January 1970.
        """
        return cls(to_millis(size), to_millis(slide), 0 if offset is None else to_millis(offset))

    def windows_at(self, time: int) -> list[TimeWindow]:
        last_start = time - (time - self.offset) % self.slide
        return [TimeWindow(start, start + self.size) for start in range(last_start, time - self.size, -self.slide)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"


class SlidingEventTimeWindows(EventTimeAssigner[T], SlidingWindows[T]):
    """Sliding windows in event time, here of a minute, every ten seconds:

    ``stream.window(SlidingEventTimeWindows.of(Time.minutes(1), Time.seconds(10)))``.

        >>> windows = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
        >>> sorted(windows.assign_windows("element", 7_000, None))
        [TimeWindow(start=0, end=10000), TimeWindow(start=5000, end=15000)]
    """


class SlidingProcessingTimeWindows(ProcessingTimeAssigner[T], SlidingWindows[T]):
    """Sliding windows in processing time, here of a minute, every ten seconds:

    ``stream.window(SlidingProcessingTimeWindows.of(Time.minutes(1), Time.seconds(10)))``.

        >>> SlidingProcessingTimeWindows.of(Time.minutes(10), Time.minutes(5)).is_event_time()
        False
    """
