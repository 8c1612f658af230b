"""What the assigners of ``TimeWindow`` share: above all, which clock they follow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.common.constants import MIN_LONG_VALUE
from millrace.common.window.assigner import WindowAssigner
from millrace.common.window.serializers import TimeWindowSerializer
from millrace.common.window.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from millrace.common.window.windows import TimeWindow

if TYPE_CHECKING:
    from millrace.common.serializer import TypeSerializer
    from millrace.common.window.trigger import Trigger

__all__ = ["AlignedAssigner", "EventTimeAssigner", "ProcessingTimeAssigner", "TimeAssigner", "check_timestamp"]

T = TypeVar("T")
"""Type of the elements."""


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
    """Goes by the timestamps of the elements."""

    def _time_of(self, timestamp: int | None, context: WindowAssigner.WindowAssignerContext) -> int:
        return check_timestamp(timestamp, self)

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class ProcessingTimeAssigner(TimeAssigner[T]):
    """Goes by the wall clock of the task."""

    def _time_of(self, timestamp: int | None, context: WindowAssigner.WindowAssignerContext) -> int:
        return context.get_current_processing_time()

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
