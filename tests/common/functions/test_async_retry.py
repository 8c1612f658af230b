"""Retry predicates and strategies."""

from __future__ import annotations

import pytest

from millrace.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from millrace.datastream.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
)
from millrace.datastream.functions import AsyncRetryStrategy


def test_predicates() -> None:
    assert empty_result_predicate([])
    assert empty_result_predicate(None)
    assert not empty_result_predicate([None])
    assert has_exception_predicate(OSError())
    assert not has_exception_predicate(None)
    assert exception_type_predicate(FileNotFoundError(), OSError)
    assert not exception_type_predicate(ValueError(), OSError)


def test_no_retry() -> None:
    strategy = AsyncRetryStrategy.no_restart()
    assert strategy is NO_RETRY_STRATEGY
    assert not strategy.can_retry(1)
    assert strategy.get_backoff_time_millis(1) == -1
    predicate = strategy.get_retry_predicate()
    assert (predicate.result_predicate(), predicate.exception_predicate()) == (None, None)


def test_fixed_delay() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 50, empty_result_predicate, has_exception_predicate)
    assert isinstance(strategy, FixedDelayRetryStrategy)
    assert [strategy.can_retry(attempts) for attempts in (1, 2, 3)] == [True, True, False]
    assert strategy.get_backoff_time_millis(2) == 50
    predicate = strategy.get_retry_predicate()
    assert predicate.result_predicate() is empty_result_predicate
    assert predicate.exception_predicate() is has_exception_predicate


def test_exponential_backoff() -> None:
    strategy: AsyncRetryStrategy[int] = AsyncRetryStrategy.exponential_backoff(4, 10, 65, 2.0, None, None)
    assert isinstance(strategy, ExponentialBackoffDelayRetryStrategy)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3, 4, 5)] == [10, 20, 40, 65, 65]
    assert [strategy.can_retry(attempts) for attempts in (4, 5)] == [True, False]


def test_backoff_depends_on_the_attempt_alone() -> None:
    strategy: AsyncRetryStrategy[int] = ExponentialBackoffDelayRetryStrategy(10, 10, 1000, 3.0)
    # Two elements under way at the same time, as in Flink's async operator.
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 1, 3, 2)] == [10, 30, 10, 90, 30]


def test_backoff_does_not_overflow() -> None:
    assert ExponentialBackoffDelayRetryStrategy(10**6, 10, 1000, 10.0).get_backoff_time_millis(100_000) == 1000


@pytest.mark.parametrize("numbers", [(0, 1, 1, 1.0), (1, 0, 1, 1.0), (1, 1, 0, 1.0), (1, 1, 1, 0.0)])
def test_numbers_are_positive(numbers: tuple[int, int, int, float]) -> None:
    with pytest.raises(ValueError, match="should be greater than zero"):
        ExponentialBackoffDelayRetryStrategy(*numbers)
    if min(numbers[:2]) == 0:
        with pytest.raises(ValueError, match="should be greater than zero"):
            FixedDelayRetryStrategy(*numbers[:2])
