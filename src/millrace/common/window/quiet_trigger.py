"""What built-in triggers begin with: nothing ever happens."""

from __future__ import annotations

from typing import TypeVar

from millrace.common.window.trigger import Trigger, TriggerResult

T = TypeVar("T")
"""Type of the elements."""
W = TypeVar("W")
"""Type of the windows."""


class QuietTrigger(Trigger[T, W]):
    """Answers every call with CONTINUE and has nothing to clear; subclasses override what they react to."""

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        return None
