"""Restart strategies: whether a failed job is restarted, how often, and after which delay."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from dataclasses import dataclass

from millrace.common.time import Duration, Time, TimeSpan, to_millis

__all__ = ["RestartStrategies", "RestartStrategyConfiguration", "SuppressRestartsException"]


class SuppressRestartsException(Exception):
    """Raise it to fail a job without a restart, whatever its restart strategy is, because another attempt cannot
    succeed.

    >>> class Strict(MapFunction):
    ...     def map(self, value):
    ...         if value < 0:
    ...             raise SuppressRestartsException(ValueError("trying again would not help"))
    ...         return value
    >>> list(env.from_collection([1]).map(Strict()).execute_and_collect())
    [1]
    """


class RestartStrategyConfiguration(ABC):
    """Base class of the restart strategies.

    >>> RestartStrategies.fixed_delay_restart(3, 1000).get_description()
    'Restart with fixed delay (PT1S). #3 restart attempts.'
    """

    @abstractmethod
    def get_description(self) -> str:
        """One line for the dashboard."""


def _delay(span: int | TimeSpan, parameter: str) -> datetime.timedelta:
    """A parameter in ms, or any span of time, as a non-negative timedelta."""
    if isinstance(span, bool) or not isinstance(span, (int, Duration, Time, datetime.timedelta)):
        raise TypeError(f"{parameter} takes milliseconds (int) or a span of time, got {type(span).__name__} {span!r}")
    millis = span if isinstance(span, int) else to_millis(span)
    if millis < 0:
        raise ValueError(f"{parameter} must not be negative, got {millis} ms")
    return datetime.timedelta(milliseconds=millis)


def _text(delay: datetime.timedelta) -> str:
    return repr(Duration.of_millis(to_millis(delay)))


def _check_at_least(number: float, least: float, parameter: str) -> None:
    if number < least:
        raise ValueError(f"{parameter} must be at least {least}, got {number}")


class RestartStrategies:
    """Factory of restart strategies. Delays are ints in ms, or any span of time.

    >>> strategy = RestartStrategies.fixed_delay_restart(restart_attempts=3, delay_between_attempts=1000)
    >>> strategy.get_description()
    'Restart with fixed delay (PT1S). #3 restart attempts.'
    """

    @dataclass(frozen=True)
    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A failed job stays failed."""

        def get_description(self) -> str:
            return "Restart deactivated."

    @dataclass(frozen=True)
    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Whatever the configuration (``restart-strategy.*``) says."""

        def get_description(self) -> str:
            return "Cluster level default restart strategy"

    @dataclass(frozen=True)
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A number of restarts, the same delay before each."""

        restart_attempts: int
        delay_between_attempts_interval: datetime.timedelta

        def get_restart_attempts(self) -> int:
            return self.restart_attempts

        def get_delay_between_attempts_interval(self) -> datetime.timedelta:
            return self.delay_between_attempts_interval

        def get_description(self) -> str:
            return (
                f"Restart with fixed delay ({_text(self.delay_between_attempts_interval)}). "
                f"#{self.restart_attempts} restart attempts."
            )

    @dataclass(frozen=True)
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts as long as failures stay rarer than a rate."""

        max_failure_rate: int
        failure_interval: datetime.timedelta
        delay_between_attempts_interval: datetime.timedelta

        def get_max_failure_rate(self) -> int:
            return self.max_failure_rate

        def get_failure_interval(self) -> datetime.timedelta:
            return self.failure_interval

        def get_delay_between_attempts_interval(self) -> datetime.timedelta:
            return self.delay_between_attempts_interval

        def get_description(self) -> str:
            return (
                f"Failure rate restart with maximum of {self.max_failure_rate} failures within interval "
                f"{_text(self.failure_interval)} and fixed delay {_text(self.delay_between_attempts_interval)}."
            )

    @dataclass(frozen=True)
    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts without limit; the delay grows with each failure."""

        initial_backoff: datetime.timedelta
        max_backoff: datetime.timedelta
        backoff_multiplier: float
        reset_backoff_threshold: datetime.timedelta
        jitter_factor: float

        def get_description(self) -> str:
            return (
                f"Restart with exponential delay: starting at {_text(self.initial_backoff)}, "
                f"increasing by {self.backoff_multiplier}, with maximum {_text(self.max_backoff)}. "
                f"Delay resets after {_text(self.reset_backoff_threshold)} with jitter {self.jitter_factor}."
            )

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """A failure fails the job."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """Use the strategy that the configuration names."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int | TimeSpan
    ) -> FixedDelayRestartStrategyConfiguration:
        """Restart up to ``restart_attempts`` times, waiting ``delay_between_attempts`` (ms) before each."""
        _check_at_least(restart_attempts, 0, "restart_attempts")
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(
            restart_attempts, _delay(delay_between_attempts, "delay_between_attempts")
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int | TimeSpan, delay_interval: int | TimeSpan
    ) -> FailureRateRestartStrategyConfiguration:
        """Restart while there are at most ``failure_rate`` failures within ``failure_interval`` (ms)."""
        _check_at_least(failure_rate, 1, "failure_rate")
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, _delay(failure_interval, "failure_interval"), _delay(delay_interval, "delay_interval")
        )

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: int | TimeSpan,
        max_backoff: int | TimeSpan,
        backoff_multiplier: float,
        reset_backoff_threshold: int | TimeSpan,
        jitter_factor: float,
    ) -> ExponentialDelayRestartStrategyConfiguration:
        """Restart after ``initial_backoff`` (ms), then ``backoff_multiplier`` times longer each, up to ``max_backoff``.

        After ``reset_backoff_threshold`` (ms) without a failure the delay is the initial one again. Each delay is
        changed at random by up to ``jitter_factor`` (0 to 1) of itself.
        """
        first, longest = _delay(initial_backoff, "initial_backoff"), _delay(max_backoff, "max_backoff")
        if longest < first:
            raise ValueError(f"max_backoff ({longest}) must not be smaller than initial_backoff ({first})")
        _check_at_least(backoff_multiplier, 1.0, "backoff_multiplier")
        if not 0.0 <= jitter_factor <= 1.0:
            raise ValueError(f"jitter_factor must be between 0 and 1, got {jitter_factor}")
        return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            first,
            longest,
            backoff_multiplier,
            _delay(reset_backoff_threshold, "reset_backoff_threshold"),
            jitter_factor,
        )
