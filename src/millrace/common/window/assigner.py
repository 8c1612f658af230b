"""``WindowAssigner``: to which windows an element belongs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from millrace.common.window import windows as _windows

if TYPE_CHECKING:
    from millrace.common.functions import RuntimeContext
    from millrace.common.serializer import TypeSerializer
    from millrace.common.window.trigger import Trigger
    from millrace.common.window.windows import MergeCallback

__all__ = ["WindowAssigner", "MergingWindowAssigner"]

T = TypeVar("T")
"""Type of the elements."""
W = TypeVar("W")
"""Type of the windows."""


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns each element to any number of windows.

        >>> assigner = TumblingEventTimeWindows.of(Time.minutes(1))
        >>> isinstance(assigner, WindowAssigner), assigner.is_event_time()
        (True, True)
    """

    class WindowAssignerContext(ABC):
        """What an assigner can ask for."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The wall clock of the task, ms."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """The runtime context of the window operator; its state is that of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows that ``element`` belongs to.

        :param timestamp: its event time, ms; None if it has none.
        """

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """The trigger of windows for which the user names none.

        :param env: the ``StreamExecutionEnvironment``.
        """

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Writes and reads the windows of this assigner."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows end in event time, not in processing time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """Assigns windows that may become one later, as sessions do when an element comes between them.

        >>> isinstance(EventTimeSessionWindows.with_gap(Time.minutes(5)), MergingWindowAssigner)
        True
    """

    MergeCallback: TypeAlias = _windows.MergeCallback

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergeCallback[W]) -> None:
        """Tell ``callback`` which of ``windows`` become one."""
