"""A trigger that fires when elements move away. An addition to PyFlink."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

from millrace.common.state import ValueState, ValueStateDescriptor
from millrace.common.typeinfo import Types
from millrace.common.window.delta_function import AnyDeltaFunction, as_delta
from millrace.common.window.quiet_trigger import QuietTrigger
from millrace.common.window.trigger import Trigger, TriggerResult

__all__ = ["DeltaTrigger"]

T = TypeVar("T")
"""Type of the elements."""
W = TypeVar("W")
"""Type of the windows."""


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
