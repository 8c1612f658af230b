"""One window for all elements of a key."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.common.window.assigner import WindowAssigner
from millrace.common.window.never_trigger import NeverTrigger
from millrace.common.window.quiet_trigger import QuietTrigger
from millrace.common.window.serializers import GlobalWindowSerializer
from millrace.common.window.trigger import Trigger, TriggerResult
from millrace.common.window.windows import GlobalWindow

if TYPE_CHECKING:
    from millrace.common.serializer import TypeSerializer

__all__ = ["GlobalWindows", "EndOfStreamTrigger"]

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
