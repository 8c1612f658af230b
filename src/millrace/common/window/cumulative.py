"""Cumulative windows: they begin together and end one after the other. An addition to PyFlink (SQL: ``CUMULATE``)."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from millrace.common.time import TimeSpan, to_millis
from millrace.common.window.time_assigner import AlignedAssigner, EventTimeAssigner, ProcessingTimeAssigner
from millrace.common.window.windows import TimeWindow

__all__ = ["CumulativeEventTimeWindows", "CumulativeProcessingTimeWindows"]

T = TypeVar("T")
"""Type of the elements."""
A = TypeVar("A", bound="CumulativeWindows[Any]")
"""The class that ``of`` is called on."""


class CumulativeWindows(AlignedAssigner[T]):
    """Every ``max_size`` ms a series of windows begins: of ``step`` ms, two times ``step`` ms, up to ``max_size`` ms.

    :raises ValueError: ``max_size`` is no positive multiple of ``step``, or ``offset``, whatever its sign, not smaller
        than ``max_size``.
    """

    def __init__(self, max_size: int, step: int, offset: int) -> None:
        if step <= 0 or max_size <= 0 or max_size % step or abs(offset) >= max_size:
            raise ValueError(
                f"{type(self).__name__} needs step > 0, max_size that is a multiple of step, and "
                f"abs(offset) < max_size, not a max_size of {max_size} ms, a step of {step} ms "
                f"and an offset of {offset} ms"
            )
        self.max_size: Final = max_size
        self.step: Final = step
        self.offset: Final = offset

    @classmethod
    def of(cls: type[A], max_size: TimeSpan, step: TimeSpan, offset: TimeSpan | None = None) -> A:
        """Windows that grow by ``step`` up to ``max_size``, and then begin again.

        :param offset: shifts all windows; without it a series begins at midnight UTC, 1 January 1970.
        """
        return cls(to_millis(max_size), to_millis(step), 0 if offset is None else to_millis(offset))

    def windows_at(self, time: int) -> list[TimeWindow]:
        since_start = (time - self.offset) % self.max_size
        start = time - since_start
        first_end = time - since_start % self.step + self.step
        return [TimeWindow(start, end) for end in range(first_end, start + self.max_size + 1, self.step)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.max_size}, {self.step}, {self.offset})"


class CumulativeEventTimeWindows(EventTimeAssigner[T], CumulativeWindows[T]):
    """Cumulative windows in event time, here the day so far, every hour:

    ``stream.window(CumulativeEventTimeWindows.of(Time.days(1), Time.hours(1)))``.

        >>> windows = CumulativeEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
        >>> sorted(windows.assign_windows("element", 2_000, None))
        [TimeWindow(start=0, end=5000), TimeWindow(start=0, end=10000)]
    """


class CumulativeProcessingTimeWindows(ProcessingTimeAssigner[T], CumulativeWindows[T]):
    """Cumulative windows in processing time, here the day so far, every hour:

    ``stream.window(CumulativeProcessingTimeWindows.of(Time.days(1), Time.hours(1)))``.

        >>> CumulativeProcessingTimeWindows.of(Time.days(1), Time.hours(1)).is_event_time()
        False
    """
