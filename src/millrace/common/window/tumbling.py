"""Tumbling windows: of one length, one after the other."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from millrace.common.time import TimeSpan, to_millis
from millrace.common.window.time_assigner import AlignedAssigner, EventTimeAssigner, ProcessingTimeAssigner
from millrace.common.window.windows import TimeWindow

__all__ = ["TumblingEventTimeWindows", "TumblingProcessingTimeWindows"]

T = TypeVar("T")
"""Type of the elements."""
A = TypeVar("A", bound="TumblingWindows[Any]")
"""The class that ``of`` is called on."""


class TumblingWindows(AlignedAssigner[T]):
    """Windows of ``size`` ms that begin at ``offset`` ms, and every ``size`` ms before and after that.

    :raises ValueError: ``size`` is not positive, or ``offset``, whatever its sign, not smaller than ``size``.
    """

    def __init__(self, size: int, offset: int) -> None:
        if abs(offset) >= size:
            raise ValueError(
                f"{type(self).__name__} needs size > 0 and abs(offset) < size, not a size of {size} ms "
                f"and an offset of {offset} ms"
            )
        self.size: Final = size
        self.offset: Final = offset

    @classmethod
    def of(cls: type[A], size: TimeSpan, offset: TimeSpan | None = None) -> A:
        """Windows of ``size``.

        :param offset: shifts all windows: ``of(Time.hours(1), Time.minutes(15))`` gives windows from quarter past to
            quarter past. Days begin at midnight UTC; ``of(Time.days(1), Time.hours(-8))`` gives the days of China.
        """
        return cls(to_millis(size), 0 if offset is None else to_millis(offset))

    def windows_at(self, time: int) -> list[TimeWindow]:
        start = time - (time - self.offset) % self.size
        return [TimeWindow(start, start + self.size)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


class TumblingEventTimeWindows(EventTimeAssigner[T], TumblingWindows[T]):
    """Tumbling windows in event time: ``stream.window(TumblingEventTimeWindows.of(Time.minutes(1)))``.

        >>> windows = TumblingEventTimeWindows.of(Time.minutes(1))
        >>> windows.assign_windows("element", 90_000, None)
        [TimeWindow(start=60000, end=120000)]
    """


class TumblingProcessingTimeWindows(ProcessingTimeAssigner[T], TumblingWindows[T]):
    """Tumbling windows in processing time: ``stream.window(TumblingProcessingTimeWindows.of(Time.minutes(1)))``.

        >>> TumblingProcessingTimeWindows.of(Time.minutes(1)).is_event_time()
        False
    """
