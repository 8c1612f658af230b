"""Restart policies: they count the failures of one job and say after what delay it is started again, if at all.

They read no clock: the time comes as an argument, in ms of any clock that does not go back.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import TypeVar

__all__ = ["ExponentialDelay", "FailureRate", "FixedDelay", "NoRestart", "RestartPolicy"]

PREFIX = "restart-strategy"
TYPE = f"{PREFIX}.type"
UNLIMITED = 2**31 - 1
"""Restarts in a row that amount to any number of them."""

_N = TypeVar("_N", int, float)
"""Type of a parameter."""


class RestartPolicy(ABC):
    """Decides after each failure of one job."""

    @abstractmethod
    def on_failure(self, now_ms: int) -> int | None:
        """Count a failure: the delay before the restart (ms), None if there is to be none."""

    @property
    @abstractmethod
    def description(self) -> str:
        """One line for messages."""

    @property
    def most_restarts(self) -> int:
        """How many restarts there may be before the job has failed for good."""
        return UNLIMITED

    @property
    @abstractmethod
    def configuration(self) -> dict[str, str]:
        """The configuration keys that make the same policy again, without what it has counted."""


class NoRestart(RestartPolicy):
    """A failed job stays failed."""

    def on_failure(self, now_ms: int) -> int | None:
        return None

    @property
    def description(self) -> str:
        return "no restarts"

    @property
    def most_restarts(self) -> int:
        return 0

    @property
    def configuration(self) -> dict[str, str]:
        return {TYPE: "none"}


class FixedDelay(RestartPolicy):
    """So many restarts in all, the same delay before each."""

    def __init__(self, attempts: int, delay_ms: int) -> None:
        self._attempts = _at_least(0, attempts, "attempts")
        self._delay = _at_least(0, delay_ms, "delay")
        self._failures = 0

    def on_failure(self, now_ms: int) -> int | None:
        self._failures += 1
        return self._delay if self._failures <= self._attempts else None

    @property
    def description(self) -> str:
        return f"{_times(self._attempts)} at most, each after {_text(self._delay)}"

    @property
    def most_restarts(self) -> int:
        return self._attempts

    @property
    def configuration(self) -> dict[str, str]:
        return _keys("fixed-delay", {"attempts": self._attempts, "delay": f"{self._delay} ms"})


class FailureRate(RestartPolicy):
    """Restarts while no interval has seen more than so many failures."""

    def __init__(self, max_failures: int, interval_ms: int, delay_ms: int) -> None:
        self._max_failures = _at_least(1, max_failures, "max-failures-per-interval")
        self._interval = _at_least(1, interval_ms, "failure-rate-interval")
        self._delay = _at_least(0, delay_ms, "delay")
        self._latest: deque[int] = deque(maxlen=self._max_failures + 1)
        """times of the last failures, one more than an interval may see"""

    def on_failure(self, now_ms: int) -> int | None:
        self._latest.append(now_ms)
        too_many = len(self._latest) > self._max_failures and now_ms - self._latest[0] <= self._interval
        return None if too_many else self._delay

    @property
    def description(self) -> str:
        failures = "1 failure" if self._max_failures == 1 else f"{self._max_failures} failures"
        return f"restarts for {failures} in {_text(self._interval)} at most, each after {_text(self._delay)}"

    @property
    def configuration(self) -> dict[str, str]:
        values = {
            "max-failures-per-interval": self._max_failures,
            "failure-rate-interval": f"{self._interval} ms",
            "delay": f"{self._delay} ms",
        }
        return _keys("failure-rate", values)


class ExponentialDelay(RestartPolicy):
    """A delay that grows with each failure, and is the first one again when the job has run long enough."""

    def __init__(
        self,
        initial_ms: int = 1_000,
        max_ms: int = 60_000,
        multiplier: float = 1.5,
        reset_ms: int = 3_600_000,
        jitter: float = 0.1,
        attempts: int = UNLIMITED,
        seed: int | None = None,
    ) -> None:
        """``attempts``: restarts in a row that are allowed before the delay is reset."""
        self._initial = _at_least(1, initial_ms, "initial-backoff")
        self._max = _at_least(self._initial, max_ms, "max-backoff")
        self._multiplier = _at_least(1.0, multiplier, "backoff-multiplier")
        self._reset = _at_least(1, reset_ms, "reset-backoff-threshold")
        if not 0.0 <= jitter <= 1.0:
            raise ValueError(f"jitter-factor must be between 0 and 1, got {jitter}")
        self._jitter = jitter
        self._attempts = _at_least(1, attempts, "attempts-before-reset-backoff")
        self._random = random.Random(seed)
        self._restarts = 0
        self._restarted_at: int | None = None
        """when the last restart was, or is, due"""

    def on_failure(self, now_ms: int) -> int | None:
        if self._restarted_at is None or now_ms >= self._restarted_at:
            if self._restarted_at is not None and now_ms - self._restarted_at >= self._reset:
                self._restarts = 0
            self._restarted_at = now_ms + self._delay()
            self._restarts += 1
        # else it failed once more before the restart: that is no failure of its own
        return self._restarted_at - now_ms if self._restarts <= self._attempts else None

    def _delay(self) -> int:
        try:
            grown = int(self._initial * self._multiplier**self._restarts)
        except OverflowError:
            return self._max
        spread = int(grown * self._jitter)
        # The jitter comes before the limits, as in Flink: no delay is shorter than the first or longer than the last.
        return max(self._initial, min(grown + self._random.randint(-spread, spread), self._max))

    @property
    def description(self) -> str:
        limit = "" if self._attempts == UNLIMITED else f", {_times(self._attempts)} in a row at most"
        return (
            f"restarts after {_text(self._initial)}, then {self._multiplier:g} times longer each, "
            f"{_text(self._max)} at most{limit}"
        )

    @property
    def configuration(self) -> dict[str, str]:
        values = {
            "initial-backoff": f"{self._initial} ms",
            "max-backoff": f"{self._max} ms",
            "backoff-multiplier": self._multiplier,
            "reset-backoff-threshold": f"{self._reset} ms",
            "jitter-factor": self._jitter,
            "attempts-before-reset-backoff": self._attempts,
        }
        return _keys("exponential-delay", values)


def _at_least(least: _N, number: _N, name: str) -> _N:
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def _keys(name: str, values: Mapping[str, object]) -> dict[str, str]:
    return {TYPE: name, **{f"{PREFIX}.{name}.{key}": str(value) for key, value in values.items()}}


def _times(count: int) -> str:
    if count == UNLIMITED:
        return "any number of restarts"
    return "1 restart" if count == 1 else f"{count} restarts"


def _text(millis: int) -> str:
    return f"{millis / 1000:g} s"
