"""``WindowAssigner`` (to which windows an element belongs) and the assigners of windows of fixed length: tumbling (one
after the other), sliding (beginning at regular intervals) and cumulative (beginning together, ending one after the
other; an addition to PyFlink, SQL's ``CUMULATE``), each in event time and in processing time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from millrace.common.constants import MIN_LONG_VALUE
from millrace.common.time import TimeSpan, to_millis
from millrace.common.window import windows as _windows
from millrace.common.window.triggers import EventTimeTrigger, ProcessingTimeTrigger
from millrace.common.window.windows import TimeWindow, TimeWindowSerializer

if TYPE_CHECKING:
    from millrace.common.functions import RuntimeContext
    from millrace.common.serializer import TypeSerializer
    from millrace.common.window.triggers import Trigger
    from millrace.common.window.windows import MergeCallback


# Assigners

T = TypeVar("T")
"""Type of the elements."""
W = TypeVar("W")
"""Type of the windows."""


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns each element to any number of windows.

    >>> assigner = TumblingEventTimeWindows.of(Time.minutes(1))
    >>> isinstance(assigner, WindowAssigner), assigner.is_event_time()
    (True, True)
    """

    class WindowAssignerContext(ABC):
        """What an assigner can ask for."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The wall clock of the task, ms."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """The runtime context of the window operator; its state is that of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows that ``element`` belongs to.

        :param timestamp: its event time, ms; None if it has none.
        """

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """The trigger of windows for which the user names none.

        :param env: the ``StreamExecutionEnvironment``.
        """

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Writes and reads the windows of this assigner."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows end in event time, not in processing time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """Assigns windows that may become one later, as sessions do when an element comes between them.

    >>> isinstance(EventTimeSessionWindows.with_gap(Time.minutes(5)), MergingWindowAssigner)
    True
    """

    MergeCallback: TypeAlias = _windows.MergeCallback

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergeCallback[W]) -> None:
        """Call ``callback`` for each group of ``windows`` that become one."""


# Assigners of time windows


def check_timestamp(timestamp: int | None, who: object) -> int:
    """``timestamp``, if it is one; raises ``ValueError`` on behalf of ``who`` if the element has none."""
    if timestamp is None or timestamp <= MIN_LONG_VALUE:
        raise ValueError(
            f"{who} needs event time, but the element has no timestamp: call "
            "stream.assign_timestamps_and_watermarks(...) with a timestamp assigner before the window, "
            "or use windows in processing time"
        )
    return timestamp


class TimeAssigner(WindowAssigner[T, TimeWindow]):
    """Assigns ``TimeWindow``s by a clock that the subclass names."""

    @abstractmethod
    def _time_of(self, timestamp: int | None, context: WindowAssigner.WindowAssignerContext) -> int:
        """The time (ms) that decides about the windows of an element."""

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()


class AlignedAssigner(TimeAssigner[T]):
    """Assigns windows that are the same for all keys and elements: the time alone decides."""

    @abstractmethod
    def windows_at(self, time: int) -> list[TimeWindow]:
        """All windows that contain ``time`` (ms)."""

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return self.windows_at(self._time_of(timestamp, context))


class EventTimeAssigner(TimeAssigner[T]):
    """Assigns windows by the timestamps of the elements."""

    def _time_of(self, timestamp: int | None, context: WindowAssigner.WindowAssignerContext) -> int:
        return check_timestamp(timestamp, self)

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class ProcessingTimeAssigner(TimeAssigner[T]):
    """Assigns windows by the wall clock of the task."""

    def _time_of(self, timestamp: int | None, context: WindowAssigner.WindowAssignerContext) -> int:
        return context.get_current_processing_time()

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


# Tumbling windows

Tumbling = TypeVar("Tumbling", bound="TumblingWindows[Any]")
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
    def of(cls: type[Tumbling], size: TimeSpan, offset: TimeSpan | None = None) -> Tumbling:
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


# Sliding windows

MAX_WINDOWS = 10_000_000
"""In how many windows one element may be: Flink's limit."""


Sliding = TypeVar("Sliding", bound="SlidingWindows[Any]")
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
    def of(cls: type[Sliding], size: TimeSpan, slide: TimeSpan, offset: TimeSpan | None = None) -> Sliding:
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


# Cumulative windows

Cumulative = TypeVar("Cumulative", bound="CumulativeWindows[Any]")
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
    def of(cls: type[Cumulative], max_size: TimeSpan, step: TimeSpan, offset: TimeSpan | None = None) -> Cumulative:
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
