"""Functions that wait for something outside, and when they try again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.functions.base import Function

if TYPE_CHECKING:
    from millrace.common.time import TimeSpan

__all__ = ["AsyncFunction", "AsyncFunctionDescriptor", "AsyncRetryPredicate", "AsyncRetryStrategy"]

IN = TypeVar("IN")
"""Type of the elements."""
OUT = TypeVar("OUT")
"""Type of the results."""


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Which outcomes of an attempt call for another one.

        >>> class IfEmpty(AsyncRetryPredicate):
        ...     def result_predicate(self):
        ...         return lambda results: not results
        ...     def exception_predicate(self):
        ...         return lambda error: isinstance(error, OSError)
    """

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """True for a result to try again after; None to accept every result."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """True for an exception to try again after; None to let every exception fail the job."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Whether and when to try again.

        >>> strategy = AsyncRetryStrategy.fixed_delay(3, 100, lambda results: not results, lambda error: True)
        >>> strategy.can_retry(2), strategy.can_retry(4)
        (True, False)
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether another attempt may follow, after ``current_attempts`` of them."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait before the next attempt, ms; -1 to not try again."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Which outcomes call for another attempt."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Never try again."""
        from millrace.common.functions.async_retry_strategies import NO_RETRY_STRATEGY

        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Try up to ``max_attempts`` times more, always after the same pause (ms)."""
        from millrace.common.functions.async_retry_strategies import FixedDelayRetryStrategy

        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Try up to ``max_attempts`` times more, after pauses (ms) that grow by ``multiplier`` up to a limit."""
        from millrace.common.functions.async_retry_strategies import ExponentialBackoffDelayRetryStrategy

        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class AsyncFunction(Function, Generic[IN, OUT]):
    """Turns elements into results by a coroutine, many at a time: lookups in a database, calls of a service.

    ``open`` and ``close`` may be coroutines, too (an addition): they are awaited in the event loop that runs
    ``async_invoke``, so that is where to make and close a client that belongs to its loop. As plain methods they run
    in the thread of the task, as in PyFlink.

        >>> class Ask(AsyncFunction):
        ...     async def async_invoke(self, value):
        ...         return [value + 1]
        ...     def timeout(self, value):
        ...         return [-1]
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """The results for one element. An exception is retried or fails the job, as the retry strategy says."""

    def timeout(self, value: IN) -> list[OUT]:
        """The results for an element whose time ran out.

            >>> import asyncio
            >>> class Slow(AsyncFunction):
            ...     async def async_invoke(self, value):
            ...         await asyncio.sleep(60)
            ...     def timeout(self, value):
            ...         return [f"{value} took too long"]
            >>> Slow().timeout(1)
            ['1 took too long']

        :raises TimeoutError: unless overridden, which fails the job.
        """
        raise TimeoutError(f"Async function call has timed out for input: {value}")


@dataclass(eq=False)
class AsyncFunctionDescriptor:
    """An async function and how to run it: ``capacity`` elements at a time, each for at most ``timeout``.

        >>> class Ask(AsyncFunction):
        ...     async def async_invoke(self, value):
        ...         return [value]
        >>> mode = AsyncFunctionDescriptor.OutputMode.UNORDERED
        >>> AsyncFunctionDescriptor(Ask(), Time.seconds(5), 10, AsyncRetryStrategy.no_restart(), mode).capacity
        10
    """

    class OutputMode(Enum):
        """Whether results keep the order of the elements."""

        ORDERED = 0
        UNORDERED = 1

    async_function: AsyncFunction[Any, Any]
    timeout: TimeSpan
    capacity: int
    async_retry_strategy: AsyncRetryStrategy[Any]
    output_mode: OutputMode
