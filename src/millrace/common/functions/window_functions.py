"""Functions that evaluate a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from millrace.common.functions.function_base import Function, KeyedStateStore

__all__ = [
    "AllWindowFunction",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
]


IN = TypeVar("IN")
"""Type of the elements in the window."""
OUT = TypeVar("OUT")
"""Type of the results."""
KEY = TypeVar("KEY")
"""Type of the key."""
W = TypeVar("W")
"""Type of the window."""
W2 = TypeVar("W2")
"""Type of the window, within a context."""


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates the windows of a keyed stream.

    >>> class All(WindowFunction):
    ...     def apply(self, key, window, inputs):
    ...         yield key, list(inputs)
    >>> words = env.from_collection(["a", "a"]).key_by(lambda word: word)
    >>> list(words.count_window(2).apply(All()).execute_and_collect())
    [('a', ['a', 'a'])]
    """

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The results of one window, from its key and the elements in it."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates the windows of a stream that is not keyed.

    >>> class Total(AllWindowFunction):
    ...     def apply(self, window, inputs):
    ...         yield sum(inputs)
    >>> windows = env.from_collection([1, 2]).window_all(CountTumblingWindowAssigner(2))
    >>> list(windows.apply(Total()).execute_and_collect())
    [3]
    """

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The results of one window, from the elements in it."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates the windows of a keyed stream, with access to time and state.

    >>> class Last(ProcessWindowFunction):
    ...     def process(self, key, context, elements):
    ...         yield key, list(elements)[-1]
    >>> numbers = env.from_collection([1, 3, 5]).key_by(lambda n: "odd")
    >>> list(numbers.count_window(3).process(Last()).execute_and_collect())
    [('odd', 5)]
    """

    class Context(ABC, Generic[W2]):
        """The window and what belongs to it; valid only during the call."""

        @abstractmethod
        def window(self) -> W2:
            """The window at hand."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock of the task, ms."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event time that the operator has reached, ms."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this key in this window; ``clear`` must clear what was put there."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of this key that all its windows share."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """The results of one firing of a window."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """The window is about to be dropped: clear its ``window_state``.

        >>> class Seen(ProcessWindowFunction):
        ...     def process(self, key, context, elements):
        ...         seen = context.window_state().get_state(ValueStateDescriptor("seen", Types.INT()))
        ...         seen.update((seen.value() or 0) + 1)
        ...         yield key, seen.value()
        ...     def clear(self, context):
        ...         context.window_state().get_state(ValueStateDescriptor("seen", Types.INT())).clear()
        >>> words = env.from_collection(["a", "a"]).key_by(lambda word: word)
        >>> list(words.count_window(2).process(Seen()).execute_and_collect())
        [('a', 1)]
        """


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates the windows of a stream that is not keyed, with access to state.

    >>> class Size(ProcessAllWindowFunction):
    ...     def process(self, context, elements):
    ...         yield context.window(), len(list(elements))
    >>> numbers = env.from_collection([1, 2])
    >>> list(numbers.window_all(CountTumblingWindowAssigner(2)).process(Size()).execute_and_collect())
    [(CountWindow(id=0), 2)]
    """

    class Context(ABC, Generic[W2]):
        """The window and what belongs to it; valid only during the call."""

        @abstractmethod
        def window(self) -> W2:
            """The window at hand."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this window; ``clear`` must clear what was put there."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State that all windows share."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """The results of one firing of a window."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """The window is about to be dropped: clear its ``window_state``."""


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Emits the elements of a window as they are.

    >>> list(PassThroughWindowFunction().apply("key", TimeWindow(0, 1), [1, 2]))
    [1, 2]
    """

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        yield from inputs


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W], Generic[IN, W]):
    """Emits the elements of a window as they are.

    >>> list(PassThroughAllWindowFunction().apply(TimeWindow(0, 1), [1, 2]))
    [1, 2]
    """

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        yield from inputs
