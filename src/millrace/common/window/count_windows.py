"""Windows that no time limits: one for all elements of a key, and windows of a number of elements."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final, TypeVar

from millrace.common.state import ValueStateDescriptor
from millrace.common.typeinfo import Types
from millrace.common.window.stateful_triggers import CountTrigger
from millrace.common.window.time_windows import WindowAssigner
from millrace.common.window.triggers import NeverTrigger, PurgingTrigger, QuietTrigger, Trigger, TriggerResult
from millrace.common.window.windows import CountWindow, CountWindowSerializer, GlobalWindow, GlobalWindowSerializer

if TYPE_CHECKING:
    from millrace.common.serializer import TypeSerializer

__all__ = ["CountSlidingWindowAssigner", "CountTumblingWindowAssigner"]


T = TypeVar("T")
"""Type of the elements."""


class EndOfStreamTrigger(QuietTrigger[T, GlobalWindow]):
    """Fires once, when the input ends (with the watermark after which there is none). Unbounded input never does.

    >>> windows = GlobalWindows.create_with_end_of_stream_trigger()
    >>> isinstance(windows.get_default_trigger(env), EndOfStreamTrigger)
    True
    """

    def on_element(
        self, element: T, timestamp: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        return None


class GlobalWindows(WindowAssigner[T, GlobalWindow]):
    """Assigns all elements of a key to one window. It has no end, so it needs a trigger: by default it never fires.

    >>> words = env.from_collection(["a", "a"]).key_by(lambda word: word)
    >>> windows = words.window(GlobalWindows.create()).trigger(CountTrigger.of(2))
    >>> list(windows.reduce(lambda x, y: x + y).execute_and_collect())
    ['aa']
    """

    def __init__(self) -> None:
        self._default_trigger: Trigger[T, GlobalWindow] = NeverTrigger()

    @staticmethod
    def create() -> GlobalWindows[Any]:
        """One window, which by default never fires."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows[Any]:
        """One window, which by default fires when the input ends.

        >>> words = env.from_collection(["a", "b", "a"]).key_by(lambda word: word)
        >>> windows = words.window(GlobalWindows.create_with_end_of_stream_trigger())
        >>> sorted(windows.reduce(lambda x, y: x + y).execute_and_collect())
        ['aa', 'b']
        """
        assigner: GlobalWindows[Any] = GlobalWindows()
        assigner._default_trigger = EndOfStreamTrigger()
        return assigner

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[T, GlobalWindow]:
        return self._default_trigger

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class CountAssigner(WindowAssigner[T, CountWindow]):
    """Counts the elements of each key; the count is keyed state.

    :raises ValueError: a size is not positive.
    """

    def __init__(self, size: int, state_name: str) -> None:
        self.size: Final = _positive(size, "window size", self)
        self._seen = ValueStateDescriptor(state_name, Types.LONG())

    @abstractmethod
    def _windows_of(self, position: int) -> list[CountWindow]:
        """The windows of the element of a key before which ``position`` others came."""

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        seen = context.get_runtime_context().get_state(self._seen)
        position: int = seen.value() or 0
        seen.update(position + 1)
        return self._windows_of(position)

    def get_default_trigger(self, env: Any) -> Trigger[T, CountWindow]:
        # No window gets more elements than its size: what has fired need not be kept.
        return PurgingTrigger.of(CountTrigger.of(self.size))

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(CountAssigner[T]):
    """Every ``window_size`` elements of a key are a window.

    >>> numbers = env.from_collection([1, 2, 3, 4]).window_all(CountTumblingWindowAssigner.of(2))
    >>> list(numbers.reduce(lambda x, y: x + y).execute_and_collect())
    [3, 7]
    """

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size, "tumble-count-assigner")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner[Any]:
        """Windows of ``window_size`` elements."""
        return CountTumblingWindowAssigner(window_size)

    def _windows_of(self, position: int) -> list[CountWindow]:
        return [CountWindow(position // self.size)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.size})"


class CountSlidingWindowAssigner(CountAssigner[T]):
    """With every ``window_slide``-th element of a key begins a window of ``window_size`` elements.

    >>> numbers = env.from_collection([1, 2, 3]).window_all(CountSlidingWindowAssigner.of(2, 1))
    >>> list(numbers.reduce(lambda x, y: x + y).execute_and_collect())
    [3, 5]
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size, "slide-count-assigner")
        self.slide: Final = _positive(window_slide, "window slide", self)

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner[Any]:
        """Windows of ``window_size`` elements, one every ``window_slide`` elements."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def _windows_of(self, position: int) -> list[CountWindow]:
        last = position // self.slide
        # The first window that reaches up to here: id * slide + size > position.
        first = max(0, (position - self.size) // self.slide + 1)
        return [CountWindow(id) for id in range(last, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.size}, {self.slide})"


def _positive(number: int, what: str, assigner: object) -> int:
    if number <= 0:
        raise ValueError(f"{type(assigner).__name__} needs a {what} > 0, not {number}")
    return number
