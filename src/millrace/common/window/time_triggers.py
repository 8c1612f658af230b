"""The triggers that fire at the end of a window: the default ones of the time windows."""

from __future__ import annotations

from typing import Any, TypeVar

from millrace.common.window.quiet_trigger import QuietTrigger
from millrace.common.window.trigger import Trigger, TriggerResult
from millrace.common.window.windows import TimeWindow

__all__ = ["EventTimeTrigger", "ProcessingTimeTrigger"]

T = TypeVar("T")
"""Type of the elements."""


class EventTimeTrigger(QuietTrigger[T, TimeWindow]):
    """Fires when the watermark passes the end of the window, and then at once for every late element.

        >>> windows = TumblingEventTimeWindows.of(Time.minutes(1))
        >>> isinstance(windows.get_default_trigger(env), EventTimeTrigger)
        True
    """

    @staticmethod
    def create() -> EventTimeTrigger[Any]:
        """The trigger."""
        return EventTimeTrigger()

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        # If the watermark is past the end, on_element fires for the element that made the windows merge.
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(QuietTrigger[T, TimeWindow]):
    """Fires when the wall clock of the task passes the end of the window.

        >>> windows = TumblingProcessingTimeWindows.of(Time.minutes(1))
        >>> isinstance(windows.get_default_trigger(env), ProcessingTimeTrigger)
        True
    """

    @staticmethod
    def create() -> ProcessingTimeTrigger[Any]:
        """The trigger."""
        return ProcessingTimeTrigger()

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())
