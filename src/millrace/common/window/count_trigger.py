"""A trigger that counts elements."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

from millrace.common.state import ReducingState, ReducingStateDescriptor
from millrace.common.typeinfo import Types
from millrace.common.window.quiet_trigger import QuietTrigger
from millrace.common.window.trigger import Trigger, TriggerResult

__all__ = ["CountTrigger"]

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
