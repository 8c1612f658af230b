"""Process functions: elements, time, timers and state in the user's own hands, on one stream, on two, and on a stream
that is connected with a broadcast stream; the timer service and its two clocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.functions.function_base import Function

if TYPE_CHECKING:
    from millrace.common.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState, StateDescriptor


# Time and timers


class TimeDomain(Enum):
    """Which clock made a timer fire.

    >>> TimeDomain.EVENT_TIME.name
    'EVENT_TIME'
    """

    EVENT_TIME = 0
    """The watermark passed the timer's timestamp."""

    PROCESSING_TIME = 1
    """The wall clock of the task passed it."""


class TimerService(ABC):
    """Clock and timers of the current key. All times are ms since the epoch.

    A timer is identified by key, time and clock: registering it twice makes it fire once. Timers can only be
    registered and deleted on a keyed stream.

        >>> class Later(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         ctx.timer_service().register_event_time_timer(5000)
        ...         ctx.timer_service().delete_event_time_timer(5000)
        ...         ctx.timer_service().register_event_time_timer(6000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield timestamp
        >>> list(env.from_collection(["a"]).key_by(lambda word: word).process(Later()).execute_and_collect())
        [6000]
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """The wall clock of the task.

        >>> class Clock(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield ctx.timer_service().current_processing_time() > 0
        >>> list(env.from_collection(["a"]).process(Clock()).execute_and_collect())
        [True]
        """

    @abstractmethod
    def current_watermark(self) -> int:
        """The event time that the operator has reached; the smallest long before the first watermark.

        >>> class Marks(ProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield ctx.timer_service().current_watermark() < 0
        >>> list(env.from_collection(["a"]).process(Marks()).execute_and_collect())
        [True]
        """

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the wall clock reaches ``timestamp``; at once if it is past."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the watermark reaches ``timestamp``; with the next watermark if it is past."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget this timer; nothing happens if it is not set."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget this timer; nothing happens if it is not set."""


# Process functions


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


# Broadcast

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
        def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
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
