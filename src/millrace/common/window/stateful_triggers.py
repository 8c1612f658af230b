"""Triggers that keep state for each window: they count elements, measure how far elements move away, fire at regular
intervals while a window is open, or when it has waited for too long.

The triggers of deltas and timeouts are additions to PyFlink.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final, TypeVar, cast

from millrace.common.constants import MAX_LONG_VALUE
from millrace.common.state import ReducingState, ReducingStateDescriptor, ValueState, ValueStateDescriptor
from millrace.common.time import TimeSpan, to_millis
from millrace.common.typeinfo import Types
from millrace.common.window.evictors import AnyDeltaFunction, as_delta
from millrace.common.window.time_windows import check_timestamp
from millrace.common.window.triggers import QuietTrigger, Trigger, TriggerResult
from millrace.common.window.windows import Window

T = TypeVar("T")
"""Type of the elements."""
W = TypeVar("W")
"""Type of the windows."""


def _add(a: int, b: int) -> int:
    return a + b


class CountTrigger(QuietTrigger[T, W]):
    """Fires whenever ``window_size`` elements have come since it fired last.

    >>> numbers = env.from_collection([1, 2, 3, 4]).window_all(GlobalWindows.create())
    >>> list(numbers.trigger(CountTrigger.of(2)).reduce(lambda x, y: x + y).execute_and_collect())
    [3, 10]
    """

    def __init__(self, window_size: int) -> None:
        self.window_size: Final = window_size
        self._count = ReducingStateDescriptor("count", _add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger[Any, Any]:
        """A trigger that fires for every ``window_size``-th element of a window."""
        return CountTrigger(window_size)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        count = cast("ReducingState[int]", ctx.get_partitioned_state(self._count))
        count.add(1)
        if cast(int, count.get()) < self.window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._count).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self.window_size})"


class DeltaTrigger(QuietTrigger[T, W]):
    """Fires when an element is more than ``threshold`` away from the one for which it fired last.

    The first element of a window does not fire: the ones after it are compared with it.

        >>> rises = DeltaTrigger.of(10, lambda last, new: new - last)
        >>> numbers = env.from_collection([1, 5, 20]).window_all(GlobalWindows.create())
        >>> list(numbers.trigger(rises).reduce(lambda x, y: x + y).execute_and_collect())
        [26]

    :raises TypeError: ``delta_function`` is no function.
    """

    def __init__(self, threshold: float, delta_function: AnyDeltaFunction) -> None:
        self.threshold: Final = threshold
        self._delta = as_delta(delta_function)
        self._last = ValueStateDescriptor("last-element", Types.PICKLED_BYTE_ARRAY())

    @staticmethod
    def of(threshold: float, delta_function: AnyDeltaFunction) -> DeltaTrigger[Any, Any]:
        """A trigger that fires when ``delta_function(last, element) > threshold``."""
        return DeltaTrigger(threshold, delta_function)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = cast("ValueState[T]", ctx.get_partitioned_state(self._last))
        last = state.value()
        if last is None:
            state.update(element)
            return TriggerResult.CONTINUE
        if self._delta(last, element) > self.threshold:
            state.update(element)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._last).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self.threshold})"


class ProcessingTimeoutTrigger(Trigger[T, W]):
    """Does what ``nested_trigger`` does, and fires at each of its timers and when a timeout is over.

    The timeout begins with the first element after the window fired. It is purging if the nested trigger purges at the
    timer. As in Flink, every timer of the window makes it fire, and it can't be used with windows that merge.

        >>> trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(100), Duration.of_seconds(5))

    :param interval: the timeout in ms of processing time.
    :param reset_timer_on_new_record: whether every element restarts the timeout.
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


OpenWindow = TypeVar("OpenWindow", bound=Window)
"""Type of the windows."""
C = TypeVar("C", bound="ContinuousTrigger[Any, Any]")
"""The class that ``of`` is called on."""


class ContinuousTrigger(QuietTrigger[T, OpenWindow]):
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
        self, time: int, window: OpenWindow, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Let the window fire one interval after ``time``, at its end at the latest."""
        next_time = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_time)
        self._register(next_time, ctx)

    def _on_element_at(self, now: int, window: OpenWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """An element came at ``now`` on the trigger's clock."""
        state = self._next_time_of(ctx)
        if state.get() is None:
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def _on_timer(self, time: int, window: OpenWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
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

    def on_merge(self, window: OpenWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._next_time)
        time = self._next_time_of(ctx).get()
        if time is not None:
            self._register(time, ctx)

    def clear(self, window: OpenWindow, ctx: Trigger.TriggerContext) -> None:
        state = self._next_time_of(ctx)
        time = state.get()
        if time is not None:
            self._delete(time, ctx)
            state.clear()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(ContinuousTrigger[T, OpenWindow]):
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

    def on_element(self, element: T, timestamp: int, window: OpenWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return self._on_element_at(check_timestamp(timestamp, self), window, ctx)

    def on_event_time(self, time: int, window: OpenWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        last = window.max_timestamp()
        if time < last == MAX_LONG_VALUE == ctx.get_current_watermark():
            # The input has ended, the window never does: it fires once, not for all intervals until MAX_WATERMARK.
            self._next_time_of(ctx).clear()
            return TriggerResult.CONTINUE
        return self._on_timer(time, window, ctx)

    def clear(self, window: OpenWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
        super().clear(window, ctx)


class ContinuousProcessingTimeTrigger(ContinuousTrigger[T, OpenWindow]):
    """Fires whenever the wall clock of the task passes a multiple of the interval, and at the end of the window.

    >>> trigger = ContinuousProcessingTimeTrigger.of(Time.seconds(10))
    >>> trigger.interval
    10000
    """

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)

    def on_element(self, element: T, timestamp: int, window: OpenWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._on_element_at(ctx.get_current_processing_time(), window, ctx)

    def on_processing_time(self, time: int, window: OpenWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._on_timer(time, window, ctx)
