"""``AsyncDataStream``: applies async functions to a stream, for many elements at a time."""

from __future__ import annotations

import inspect
from typing import Any

from millrace.common.functions import AsyncFunction, AsyncFunctionDescriptor, AsyncRetryStrategy
from millrace.common.functions.async_functions import NO_RETRY_STRATEGY
from millrace.common.time import TimeSpan, to_millis
from millrace.common.typeinfo import TypeInformation
from millrace.datastream.data_stream import DataStream
from millrace.datastream.handles import expect
from millrace.graph.program import GraphError
from millrace.runtime.operators import specs
from millrace.util.tracebacks import user_origin

__all__ = ["AsyncDataStream"]

OutputMode = AsyncFunctionDescriptor.OutputMode


class AsyncDataStream:
    """Applies an ``AsyncFunction`` to a stream.

    Each subtask has up to ``capacity`` elements in flight, each for ``timeout`` at most, further attempts included; 0
    or less, which only goes without retries, is no limit. Results have the timestamp of their element. Nothing stays in
    flight from one epoch to the next.

        >>> class Ask(AsyncFunction):
        ...     async def async_invoke(self, value):
        ...         return [value * 2]
        >>> numbers = env.from_collection([1, 2])
        >>> asked = AsyncDataStream.unordered_wait(numbers, Ask(), Time.seconds(5), 10, Types.INT())
        >>> sorted(asked.execute_and_collect())
        [2, 4]
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: TimeSpan,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Results as they come; they overtake each other, but never a watermark."""
        return AsyncDataStream.unordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: TimeSpan,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """``unordered_wait`` that tries again as the strategy says."""
        spec = _described(async_function, timeout, async_retry_strategy, capacity, OutputMode.UNORDERED)
        return _wait(data_stream, spec, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: TimeSpan,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Results in the order of their elements."""
        return AsyncDataStream.ordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: TimeSpan,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """``ordered_wait`` that tries again as the strategy says."""
        spec = _described(async_function, timeout, async_retry_strategy, capacity, OutputMode.ORDERED)
        return _wait(data_stream, spec, output_type)


def _wait(data_stream: DataStream, spec: specs.AsyncWait, output_type: TypeInformation | None) -> DataStream:
    expect(data_stream, DataStream, "AsyncDataStream")
    return data_stream._add("async wait operator", spec, output_type)


def _described(
    function: AsyncFunction[Any, Any],
    timeout: TimeSpan,
    strategy: AsyncRetryStrategy[Any],
    capacity: int,
    output_mode: OutputMode,
) -> specs.AsyncWait:
    expect(function, AsyncFunction, "AsyncDataStream")
    expect(strategy, AsyncRetryStrategy, "AsyncDataStream")
    where, name = f"AsyncDataStream at {user_origin()}", type(function).__name__
    if inspect.isasyncgenfunction(function.async_invoke):
        raise TypeError(f"{where}: async_invoke() of {name} must be a coroutine that returns a list: it yields")
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise TypeError(f"{where}: async_invoke() of {name} must be a coroutine: declare it with 'async def'")
    try:
        millis = to_millis(timeout)
    except TypeError as error:
        raise TypeError(f"{where}: the timeout: {error}") from None
    if strategy is not NO_RETRY_STRATEGY and millis <= 0:
        raise GraphError(f"{where}: retries need a timeout greater than 0, not {timeout}")
    if strategy.get_retry_predicate() is None:
        raise TypeError(f"{where}: get_retry_predicate() of {type(strategy).__name__} must give a predicate, not None")
    if not isinstance(capacity, int) or capacity <= 0:
        raise GraphError(f"{where}: the capacity must be a whole number greater than 0, not {capacity!r}")
    return specs.AsyncWait(function, millis, capacity, strategy, output_mode)
