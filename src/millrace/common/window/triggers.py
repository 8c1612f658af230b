"""``Trigger`` (when a window is evaluated, and when its elements are dropped) and the triggers without state: the
default ones of time windows, which fire at the end of a window, one that never fires, and one that drops the
elements too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from millrace.common.window.windows import GlobalWindow, TimeWindow

if TYPE_CHECKING:
    from millrace.common.state import State, StateDescriptor
    from millrace.metrics import MetricGroup


T = TypeVar("T")
"""Type of the elements."""
W = TypeVar("W")
"""Type of the windows."""


class TriggerResult(Enum):
    """What a trigger wants to happen to the window. A window without elements is not evaluated, even if it fires.

    The value of a member is the pair of ``is_fire`` and ``is_purge``.

        >>> TriggerResult.FIRE_AND_PURGE.is_fire(), TriggerResult.FIRE.is_purge()
        (True, False)
    """

    CONTINUE = (False, False)
    """Nothing."""
    FIRE_AND_PURGE = (True, True)
    """Evaluate the window, then drop its elements."""
    FIRE = (True, False)
    """Evaluate the window and keep its elements."""
    PURGE = (False, True)
    """Drop the elements of the window without evaluating it."""

    def __init__(self, fire: bool, purge: bool) -> None:
        self._fire = fire
        self._purge = purge

    def is_fire(self) -> bool:
        """Whether the window is to be evaluated."""
        return self._fire

    def is_purge(self) -> bool:
        """Whether the elements are to be dropped."""
        return self._purge


class Trigger(ABC, Generic[T, W]):
    """Decides when a window of a key is evaluated.

    One object serves all keys and windows: what it has to remember belongs in the state that its context hands out,
    which is that of the key and window at hand. For windows that merge (sessions), ``can_merge`` must be True and
    ``on_merge`` must be there. Purging drops the elements of a window, not the state of the trigger.

        >>> class Each(Trigger):
        ...     def on_element(self, element, timestamp, window, ctx):
        ...         return TriggerResult.FIRE_AND_PURGE
        ...     def on_processing_time(self, time, window, ctx):
        ...         return TriggerResult.CONTINUE
        ...     def on_event_time(self, time, window, ctx):
        ...         return TriggerResult.CONTINUE
        ...     def clear(self, window, ctx):
        ...         pass
        >>> windows = env.from_collection([1, 2]).key_by(lambda n: "all").window(GlobalWindows.create()).trigger(Each())
        >>> list(windows.reduce(lambda x, y: x + y).execute_and_collect())
        [1, 2]
    """

    class TriggerContext(ABC):
        """Time, timers and state of the current key and window. Times are ms since the epoch."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The wall clock of the task."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """The metrics of the operator, as ``RuntimeContext.get_metrics_group()`` gives them to functions."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The event time that the operator has reached; the smallest long before the first watermark."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call ``on_processing_time`` when the wall clock reaches ``time``."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call ``on_event_time`` when the watermark reaches ``time``."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Forget this timer; nothing happens if it is not set."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Forget this timer; nothing happens if it is not set."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
            """The state of this descriptor for the current key and window."""

    class OnMergeContext(TriggerContext):
        """The context of ``on_merge``: it stands for the window that results."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the merged windows into that of the resulting one.

            Works for state that knows how: list, reducing and aggregating state.
            """

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """``element`` has been added to ``window``; called once for each window that it belongs to."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """A processing-time timer of ``window`` is due; also called at the time when the window is dropped."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """An event-time timer of ``window`` is due; also called at the time when the window is dropped."""

    def can_merge(self) -> bool:
        """Whether the trigger may be used with windows that merge."""
        return False

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Windows have been merged into ``window``: merge their state and set the timers of ``window``.

        Timers and state of the merged windows are removed by ``clear``, which is called for each of them afterwards.

            >>> class AtEnd(EventTimeTrigger):
            ...     def on_merge(self, window, ctx):
            ...         ctx.register_event_time_timer(window.max_timestamp())
            >>> AtEnd().can_merge()
            True
        """
        raise NotImplementedError(f"{self!r} can't be used with windows that merge: it has no on_merge()")

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """``window`` is about to be dropped: clear the trigger's state and delete its timers."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


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


class NeverTrigger(QuietTrigger[T, GlobalWindow]):
    """Never fires: the default of ``GlobalWindows``, which therefore need another trigger.

    >>> isinstance(GlobalWindows.create().get_default_trigger(env), NeverTrigger)
    True
    """

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        return None


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
