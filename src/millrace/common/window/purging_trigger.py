"""A trigger that drops the elements of a window when it fires."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from millrace.common.window.trigger import Trigger, TriggerResult

__all__ = ["PurgingTrigger"]

T = TypeVar("T")
"""Type of the elements."""
W = TypeVar("W")
"""Type of the windows."""


class PurgingTrigger(Trigger[T, W]):
    """Does what ``nested_trigger`` does; where that fires, it fires and purges.

        >>> numbers = env.from_collection([1, 2, 3, 4]).window_all(GlobalWindows.create())
        >>> pairs = numbers.trigger(PurgingTrigger.of(CountTrigger.of(2)))
        >>> list(pairs.reduce(lambda x, y: x + y).execute_and_collect())
        [3, 7]
    """

    def __init__(self, nested_trigger: Trigger[T, W]) -> None:
        self.nested_trigger: Final = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger[Any, Any]:
        """``nested_trigger``, purging."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result
