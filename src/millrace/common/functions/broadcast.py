"""Functions of a stream that is connected with a broadcast stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.functions.base import Function

if TYPE_CHECKING:
    from millrace.common.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState, StateDescriptor
    from millrace.common.time_domain import TimeDomain
    from millrace.common.timerservice import TimerService

__all__ = ["BaseBroadcastProcessFunction", "BroadcastProcessFunction", "KeyedBroadcastProcessFunction"]

KEY = TypeVar("KEY")
"""Type of the key."""
IN1 = TypeVar("IN1")
"""Type of the elements of the stream that is not broadcast."""
IN2 = TypeVar("IN2")
"""Type of the broadcast elements."""
OUT = TypeVar("OUT")
"""Type of the results."""


class BaseBroadcastProcessFunction(Function):
    """What both kinds of broadcast process functions have in common.

        >>> issubclass(BroadcastProcessFunction, BaseBroadcastProcessFunction)
        True
    """

    class BaseContext(ABC):
        """Time and the element's timestamp; valid only during the call."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The element's event timestamp (or the timer's time) in ms, None if there is none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock of the task, ms."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event time that the operator has reached, ms."""

    class Context(BaseContext):
        """The context of a broadcast element: broadcast state may be written.

        Every subtask sees the same broadcast elements and must change the state in the same way.
        """

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
            """The broadcast state of this descriptor."""

    class ReadOnlyContext(BaseContext):
        """The context of any other element: broadcast state may be read."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
            """The broadcast state of this descriptor, for reading."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Processes a stream that is not keyed together with a broadcast stream.

        >>> rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
        >>> class Known(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value, ctx.get_broadcast_state(rules).get(value)
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(rules).put(*value)
        >>> told = env.from_collection([("a", 1)]).broadcast(rules)
        >>> list(env.from_collection(["a", "b"]).connect(told).process(Known()).execute_and_collect())
        [('a', 1), ('b', None)]
    """

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of a broadcast element."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of an element of the other stream."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """The results for an element of the stream that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """The results for a broadcast element."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Processes a keyed stream together with a broadcast stream; the keyed side has keyed state and timers.

        >>> class Limit(KeyedBroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield ctx.get_current_key(), value
        ...     def process_broadcast_element(self, value, ctx):
        ...         pass
        >>> rules = env.from_collection([1]).broadcast(MapStateDescriptor("rules", Types.STRING(), Types.INT()))
        >>> words = env.from_collection(["a"]).key_by(lambda word: word)
        >>> list(words.connect(rules).process(Limit()).execute_and_collect())
        [('a', 'a')]
    """

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of a broadcast element. There is no current key."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
        ) -> None:
            """Call ``function(key, state)`` for every key of this subtask that has an entry in a keyed state.

            The keys come in no particular order. PyFlink lacks this; in Java it is ``applyToKeyedState``.
            """

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of an element of the keyed stream."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The current times, and timers for the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the element at hand."""

    class OnTimerContext(ReadOnlyContext, ABC):
        """A context in which a timer fires; its key is the timer's."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock that the timer ran on."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """The results for an element of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """The results for a broadcast element."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[OUT] | None:
        """The results for a timer that fires, set for ``timestamp`` (ms)."""
        return None
