"""A trigger that also fires when a window has waited for too long. An addition to PyFlink."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

from millrace.common.state import ValueState, ValueStateDescriptor
from millrace.common.time import TimeSpan, to_millis
from millrace.common.typeinfo import Types
from millrace.common.window.trigger import Trigger, TriggerResult

__all__ = ["ProcessingTimeoutTrigger"]

T = TypeVar("T")
"""Type of the elements."""
W = TypeVar("W")
"""Type of the windows."""


class ProcessingTimeoutTrigger(Trigger[T, W]):
    """Does what ``nested_trigger`` does, and fires at each of its timers and when a timeout is over.

    The timeout begins with the first element after the window fired. It is purging if the nested trigger purges at the
    timer. As in Flink, every timer of the window makes it fire, and it can't be used with windows that merge.

        >>> trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(100), Duration.of_seconds(5))

    :param interval: the timeout in ms of processing time.
    :param reset_timer_on_new_record: let the timeout begin anew with every element.
    :param should_clear_on_timeout: clear the nested trigger (a count begins at 0 again) when the timeout is over.
    """

    def __init__(
        self,
        nested_trigger: Trigger[T, W],
        interval: int,
        reset_timer_on_new_record: bool,
        should_clear_on_timeout: bool,
    ) -> None:
        self.nested_trigger: Final = nested_trigger
        self.interval: Final = interval
        self.reset_timer_on_new_record: Final = reset_timer_on_new_record
        self.should_clear_on_timeout: Final = should_clear_on_timeout
        self._timeout = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: TimeSpan,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger[Any, Any]:
        """``nested_trigger``, which also fires when ``timeout`` is over."""
        return ProcessingTimeoutTrigger(
            nested_trigger, to_millis(timeout), reset_timer_on_new_record, should_clear_on_timeout
        )

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = self._state(ctx)
        timeout = state.value()
        if timeout is not None and self.reset_timer_on_new_record:
            ctx.delete_processing_time_timer(timeout)
            timeout = None
        if timeout is None:
            timeout = ctx.get_current_processing_time() + self.interval
            state.update(timeout)
            ctx.register_processing_time_timer(timeout)
        return result

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._fire(self.nested_trigger.on_processing_time(time, window, ctx), window, ctx)

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._fire(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def _fire(self, nested: TriggerResult, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        if self.should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested.is_purge() else TriggerResult.FIRE

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        state = self._state(ctx)
        timeout = state.value()
        if timeout is not None:
            ctx.delete_processing_time_timer(timeout)
            state.clear()
        self.nested_trigger.clear(window, ctx)

    def _state(self, ctx: Trigger.TriggerContext) -> ValueState[int]:
        return cast("ValueState[int]", ctx.get_partitioned_state(self._timeout))

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self.nested_trigger!r}, {self.interval})"
