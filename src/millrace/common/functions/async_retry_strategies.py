"""How often and after which pause an async call is tried again.

Strategies have no state: one instance serves all elements that are under way at the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from millrace.common.functions.asynchronous import AsyncRetryPredicate, AsyncRetryStrategy

__all__ = [
    "RetryPredicate",
    "NoRetryStrategy",
    "FixedDelayRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "NO_RETRY_STRATEGY",
]

OUT = TypeVar("OUT")
"""Type of the results."""


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
