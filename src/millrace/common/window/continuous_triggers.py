"""Triggers that fire at regular intervals while a window is open."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final, TypeVar, cast

from millrace.common.constants import MAX_LONG_VALUE
from millrace.common.state import ReducingState, ReducingStateDescriptor
from millrace.common.time import TimeSpan, to_millis
from millrace.common.typeinfo import Types
from millrace.common.window.quiet_trigger import QuietTrigger
from millrace.common.window.time_assigner import check_timestamp
from millrace.common.window.trigger import Trigger, TriggerResult
from millrace.common.window.windows import Window

__all__ = ["ContinuousEventTimeTrigger", "ContinuousProcessingTimeTrigger"]

T = TypeVar("T")
"""Type of the elements."""
W = TypeVar("W", bound=Window)
"""Type of the windows."""
C = TypeVar("C", bound="ContinuousTrigger[Any, Any]")
"""The class that ``of`` is called on."""


class ContinuousTrigger(QuietTrigger[T, W]):
    """Fires at the multiples of ``interval`` ms that follow the first element, and at the end of the window.

    The state holds the time at which the window fires next; merged windows fire at the earliest of theirs.

    :raises ValueError: ``interval`` is not positive.
    """

    def __init__(self, interval: int) -> None:
        if interval <= 0:
            raise ValueError(f"{type(self).__name__} needs an interval > 0, not {interval} ms")
        self.interval: Final = interval
        self._next_time = ReducingStateDescriptor("fire-time", min, Types.LONG())

    @classmethod
    def of(cls: type[C], interval: TimeSpan) -> C:
        """A trigger that fires every ``interval``."""
        return cls(to_millis(interval))

    @abstractmethod
    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Set a timer of the trigger's clock."""

    @abstractmethod
    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Delete a timer of the trigger's clock."""

    def _next_time_of(self, ctx: Trigger.TriggerContext) -> ReducingState[int]:
        """When the window fires next."""
        return cast("ReducingState[int]", ctx.get_partitioned_state(self._next_time))

    def register_next_fire_timestamp(
        self, time: int, window: W, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Let the window fire one interval after ``time``, at its end at the latest."""
        next_time = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_time)
        self._register(next_time, ctx)

    def _on_element_at(self, now: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """An element came at ``now`` on the trigger's clock."""
        state = self._next_time_of(ctx)
        if state.get() is None:
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def _on_timer(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """A timer on the trigger's clock is due."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        state = self._next_time_of(ctx)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._next_time)
        time = self._next_time_of(ctx).get()
        if time is not None:
            self._register(time, ctx)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        state = self._next_time_of(ctx)
        time = state.get()
        if time is not None:
            self._delete(time, ctx)
            state.clear()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(ContinuousTrigger[T, W]):
    """Fires whenever the watermark passes a multiple of the interval, and at the end of the window.

    After that it fires at once for every late element. A window without end fires when the input ends.

        >>> trigger = ContinuousEventTimeTrigger.of(Time.seconds(10))
        >>> trigger.interval
        10000
    """

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return self._on_element_at(check_timestamp(timestamp, self), window, ctx)

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        last = window.max_timestamp()
        if time < last == MAX_LONG_VALUE == ctx.get_current_watermark():
            # The input has ended, the window never does: it fires once more, not for all intervals until then.
            self._next_time_of(ctx).clear()
            return TriggerResult.CONTINUE
        return self._on_timer(time, window, ctx)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
        super().clear(window, ctx)


class ContinuousProcessingTimeTrigger(ContinuousTrigger[T, W]):
    """Fires whenever the wall clock of the task passes a multiple of the interval, and at the end of the window.

        >>> trigger = ContinuousProcessingTimeTrigger.of(Time.seconds(10))
        >>> trigger.interval
        10000
    """

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._on_element_at(ctx.get_current_processing_time(), window, ctx)

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._on_timer(time, window, ctx)
