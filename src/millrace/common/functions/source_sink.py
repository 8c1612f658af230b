"""Sources and sinks as plain Python classes: the small contracts behind ``add_source`` and ``add_sink``.

PyFlink can only wrap Java classes here. For splits, checkpointed positions or transactions implement
``millrace.common.source.Source`` and ``millrace.common.sink.Sink`` instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from millrace.common.functions.base import Function

__all__ = ["ParallelSourceFunction", "SinkFunction", "SourceFunction"]

T = TypeVar("T")
"""Type of the elements."""
T2 = TypeVar("T2")
"""Type of the elements, within a context."""


def _java_error(name: str, method: str, args: tuple[Any, ...]) -> TypeError:
    return TypeError(
        f"{name} cannot wrap a Java class ({args[0]!r}): there is no Flink JVM. "
        f"Subclass {name} and implement {method} in Python, or use a connector."
    )


class SourceFunction(Function, Generic[T]):
    """A source that emits elements until it is cancelled, or has no more.

        >>> class Letters(SourceFunction):
        ...     def run(self, ctx):
        ...         for letter in "ab":
        ...             ctx.collect(letter)
        ...     def cancel(self):
        ...         pass
        >>> list(env.add_source(Letters()).execute_and_collect())
        ['a', 'b']

    :raises TypeError: called with an argument, which in PyFlink names a Java class.
    """

    class SourceContext(ABC, Generic[T2]):
        """Where a source puts its elements."""

        @abstractmethod
        def collect(self, element: T2) -> None:
            """Emit an element without a timestamp."""

        @abstractmethod
        def collect_with_timestamp(self, element: T2, timestamp: int) -> None:
            """Emit an element with its event timestamp, ms since the epoch."""

        @abstractmethod
        def emit_watermark(self, timestamp: int) -> None:
            """Declare that no element with this timestamp (ms) or an earlier one follows."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Declare that no element is expected for now, so that event time goes on without this source."""

        def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
            """For ``with``: no state is taken meanwhile. A CheckpointedFunction emits and moves on under it."""
            return nullcontext()

    def __new__(cls, *args: Any, **kwargs: Any) -> SourceFunction[T]:
        if cls is SourceFunction and (args or kwargs):
            raise _java_error("SourceFunction", "run(ctx)", (*args, *kwargs.values()))
        return super().__new__(cls)

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext[T]) -> None:
        """Emit elements through ``ctx``. Returning ends the source."""

    def cancel(self) -> None:
        """Make ``run`` return soon. Called from another thread."""


class ParallelSourceFunction(SourceFunction[T], Generic[T]):
    """A source function that runs in every subtask, each with an instance of its own (Java's name; also for what Java
    calls ``RichParallelSourceFunction``). ``open`` tells each which one it is.

        >>> class Numbers(ParallelSourceFunction):
        ...     def run(self, ctx):
        ...         for number in range(2):
        ...             ctx.collect(number)
        >>> list(env.add_source(Numbers()).execute_and_collect())
        [0, 1]
    """


class SinkFunction(Function, Generic[T]):
    """A sink that is handed one element at a time.

        >>> class Show(SinkFunction):
        ...     def invoke(self, value, context=None):
        ...         print("seen:", value)
        >>> sink = env.from_collection(["a"]).add_sink(Show())
        >>> result = env.execute()
        seen: a

    :raises TypeError: called with an argument, which in PyFlink names a Java class.
    """

    class Context(ABC):
        """Time and the element's timestamp; valid only during the call."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock of the task, ms."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event time that the sink has reached, ms."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The element's event timestamp in ms, None if it has none."""

    def __new__(cls, *args: Any, **kwargs: Any) -> SinkFunction[T]:
        if cls is SinkFunction and (args or kwargs):
            raise _java_error("SinkFunction", "invoke(value, context)", (*args, *kwargs.values()))
        return super().__new__(cls)

    @abstractmethod
    def invoke(self, value: T, context: SinkFunction.Context) -> None:
        """Write one element. After a recovery it may be handed in again."""

    def finish(self) -> None:
        """The input has ended: write out what is buffered. Not called when the job fails or is cancelled.

            >>> class Counted(SinkFunction):
            ...     seen = 0
            ...     def invoke(self, value, context=None):
            ...         self.seen += 1
            ...     def finish(self):
            ...         print(self.seen, "elements")
            >>> sink = env.from_collection(["a", "b"]).add_sink(Counted())
            >>> result = env.execute()
            2 elements
        """
