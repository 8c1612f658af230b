"""Functions that wait for something outside, and when and after which pause an async call is tried again.

Strategies have no state: one instance serves all elements that are under way at the same time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.functions.function_base import Function

if TYPE_CHECKING:
    from millrace.common.time import TimeSpan


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

        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Try up to ``max_attempts`` times more, always after the same pause (ms)."""

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


# Retries


class RetryPredicate(AsyncRetryPredicate[OUT], Generic[OUT]):
    """Two plain functions as a predicate."""

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """One attempt only."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """Up to ``max_attempts`` further attempts, each after ``backoff_time_millis``.

    :raises ValueError: a number that is not positive.
    """

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None = None,
        exception_predicate: Callable[[Exception], bool] | None = None,
    ) -> None:
        self._max_attempts = int(_positive("max_attempts", max_attempts))
        self._backoff_time_millis = int(_positive("backoff_time_millis", backoff_time_millis))
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """Up to ``max_attempts`` further attempts; the pause starts at ``initial_delay`` ms and is multiplied each time.

    :param max_retry_delay: the longest pause, ms.
    :raises ValueError: a number that is not positive.
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None = None,
        exception_predicate: Callable[[Exception], bool] | None = None,
    ) -> None:
        self._max_attempts = int(_positive("max_attempts", max_attempts))
        self._initial_delay = int(_positive("initial_delay", initial_delay))
        self._max_retry_delay = int(_positive("max_retry_delay", max_retry_delay))
        self._multiplier = _positive("multiplier", multiplier)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        if current_attempts <= 1:
            return self._initial_delay
        try:
            delay = self._initial_delay * self._multiplier ** (current_attempts - 1)
        except OverflowError:
            return self._max_retry_delay
        return int(min(delay, self._max_retry_delay))

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate


def _positive(name: str, value: float) -> float:
    if value <= 0:
        raise ValueError(f"{name} should be greater than zero.")
    return value


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()


# Conditions of retries


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Try again after no result or an empty one."""
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Try again after any exception."""
    return error is not None


def exception_type_predicate(error: BaseException | None, expected_error_type: type[BaseException]) -> bool:
    """Try again after an exception of this type. Bind the type first, by a lambda or ``functools.partial``."""
    return isinstance(error, expected_error_type)
