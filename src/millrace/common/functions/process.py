"""Process functions: elements, time, timers and state in the user's own hands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from millrace.common.functions.base import Function

if TYPE_CHECKING:
    from millrace.common.time_domain import TimeDomain
    from millrace.common.timerservice import TimerService

__all__ = ["ProcessFunction", "KeyedProcessFunction", "CoProcessFunction", "KeyedCoProcessFunction"]


class _Context(ABC):
    """What all contexts have."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """The current times, and timers for the current key; without a key timers cannot be registered."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The event timestamp of the element (or the time of the timer) in ms, None if there is none."""


class _KeyedContext(_Context):
    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the element (or timer) at hand."""


class ProcessFunction(Function):
    """Sees one element at a time of a stream that is not keyed, with the time.

    Results are what the methods ``yield``; ``yield tag, value`` with an ``OutputTag`` goes to a side output. A
    context is valid only until the method that was given it returns.

        >>> class Timed(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value, ctx.timestamp()
        >>> list(env.from_collection(["a"]).process(Timed()).execute_and_collect())
        [('a', None)]
    """

    class Context(_Context, ABC):
        """Time and the element's timestamp."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """The results for one element."""


class KeyedProcessFunction(Function):
    """Sees one element at a time of a keyed stream, with keyed state and timers.

        >>> class Remind(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(1000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield ctx.get_current_key(), timestamp
        >>> list(env.from_collection(["a", "b"]).key_by(lambda word: word).process(Remind()).execute_and_collect())
        [('a', 1000), ('b', 1000)]
    """

    class Context(_KeyedContext, ABC):
        """Time, timers, the element's timestamp and key."""

    class OnTimerContext(Context):
        """A context in which a timer fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock that the timer ran on."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """The results for one element."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """The results for a timer that fires, set for ``timestamp`` (ms)."""
        return None


class CoProcessFunction(Function):
    """A ``ProcessFunction`` of two connected streams; one instance sees both.

        >>> class Both(CoProcessFunction):
        ...     def process_element1(self, value, ctx):
        ...         yield value
        ...     def process_element2(self, value, ctx):
        ...         yield -value
        >>> sorted(env.from_collection([1]).connect(env.from_collection([2])).process(Both()).execute_and_collect())
        [-2, 1]
    """

    class Context(_Context, ABC):
        """Time and the element's timestamp."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """The results for an element of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """The results for an element of the second stream."""


class KeyedCoProcessFunction(Function):
    """A ``KeyedProcessFunction`` of two connected keyed streams, which share state and timers key by key.

        >>> class Both(KeyedCoProcessFunction):
        ...     def process_element1(self, value, ctx):
        ...         yield ctx.get_current_key(), "left"
        ...     def process_element2(self, value, ctx):
        ...         yield ctx.get_current_key(), "right"
        >>> both = env.from_collection(["a"]).connect(env.from_collection(["a"]))
        >>> keyed = both.key_by(lambda word: word, lambda word: word)
        >>> sorted(keyed.process(Both()).execute_and_collect())
        [('a', 'left'), ('a', 'right')]
    """

    class Context(_KeyedContext, ABC):
        """Time, timers, the element's timestamp and key."""

    class OnTimerContext(Context):
        """A context in which a timer fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock that the timer ran on."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """The results for an element of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """The results for an element of the second stream."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """The results for a timer that fires, set for ``timestamp`` (ms)."""
        return None
