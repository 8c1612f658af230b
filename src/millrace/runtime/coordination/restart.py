"""Decides whether, when and how much of a job runs again after a failure.

Restart policies count the failures of one job and give the delay before each restart. They read no clock: the time is
an argument, in ms of any clock that does not go back. The policy comes from the job's own strategy, or from the keys
``restart-strategy.*`` of its configuration.

In streaming mode an epoch is the unit of failure: a failed epoch changes nothing, in any task. A job in batch mode is
one epoch, so a restart would repeat all of it. With ``jobmanager.execution.failover-strategy: region`` the failing task
fails its Spark task instead: Spark runs only this one again, with the output of earlier stages from its shuffle files.
"""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from millrace.common.configuration import ConfigOption, ConfigOptions, Configuration
from millrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millrace.common.time import Duration, to_millis
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.exchange.exchange import ACK, Packet
from millrace.runtime.failure import Failure
from millrace.runtime.storage import TaskId

# Policies

PREFIX = "restart-strategy"
TYPE = f"{PREFIX}.type"
UNLIMITED = 2**31 - 1
"""The number of consecutive restarts that means no limit."""

_N = TypeVar("_N", int, float)
"""Type of a parameter."""


class RestartPolicy(ABC):
    """Decides after each failure of one job whether and when it is restarted."""

    @abstractmethod
    def on_failure(self, now_ms: int) -> int | None:
        """Count a failure. Returns the delay before the restart (ms); None: no restart."""

    @property
    @abstractmethod
    def description(self) -> str:
        """One line for messages."""

    @property
    def most_restarts(self) -> int:
        """The most restarts before the job fails finally."""
        return UNLIMITED

    @property
    @abstractmethod
    def configuration(self) -> dict[str, str]:
        """The configuration keys that make the same policy, without the failures counted so far."""


class NoRestart(RestartPolicy):
    """Never restarts a failed job."""

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
    """Restarts at most ``attempts`` times, each after the same delay."""

    def __init__(self, attempts: int, delay_ms: int) -> None:
        self._attempts = _at_least(0, attempts, "attempts")
        self._delay = _at_least(0, delay_ms, "delay")
        self._failures = 0

    def on_failure(self, now_ms: int) -> int | None:
        self._failures += 1
        return self._delay if self._failures <= self._attempts else None

    @property
    def description(self) -> str:
        return f"{_times(self._attempts)} at most, each after {_span_text(self._delay)}"

    @property
    def most_restarts(self) -> int:
        return self._attempts

    @property
    def configuration(self) -> dict[str, str]:
        return _keys("fixed-delay", {"attempts": self._attempts, "delay": f"{self._delay} ms"})


class FailureRate(RestartPolicy):
    """Restarts unless an interval has seen more than a given number of failures."""

    def __init__(self, max_failures: int, interval_ms: int, delay_ms: int) -> None:
        self._max_failures = _at_least(1, max_failures, "max-failures-per-interval")
        self._interval = _at_least(1, interval_ms, "failure-rate-interval")
        self._delay = _at_least(0, delay_ms, "delay")
        self._latest: deque[int] = deque(maxlen=self._max_failures + 1)
        """times (ms) of the last failures, at most one more than an interval may see"""

    def on_failure(self, now_ms: int) -> int | None:
        self._latest.append(now_ms)
        too_many = len(self._latest) > self._max_failures and now_ms - self._latest[0] <= self._interval
        return None if too_many else self._delay

    @property
    def description(self) -> str:
        failures = "1 failure" if self._max_failures == 1 else f"{self._max_failures} failures"
        return f"restarts for {failures} in {_span_text(self._interval)} at most, each after {_span_text(self._delay)}"

    @property
    def configuration(self) -> dict[str, str]:
        values = {
            "max-failures-per-interval": self._max_failures,
            "failure-rate-interval": f"{self._interval} ms",
            "delay": f"{self._delay} ms",
        }
        return _keys("failure-rate", values)


class ExponentialDelay(RestartPolicy):
    """Restarts after a delay that grows with each failure; it is reset when the job has run long enough."""

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
        """``attempts``: the most consecutive restarts before the delay is reset."""
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
        """when the last restart was, or is, due (ms)"""

    def on_failure(self, now_ms: int) -> int | None:
        if self._restarted_at is None or now_ms >= self._restarted_at:
            if self._restarted_at is not None and now_ms - self._restarted_at >= self._reset:
                self._restarts = 0
            self._restarted_at = now_ms + self._delay()
            self._restarts += 1
        # else the job failed again before the restart, which does not count as another failure
        return self._restarted_at - now_ms if self._restarts <= self._attempts else None

    def _delay(self) -> int:
        try:
            grown = int(self._initial * self._multiplier**self._restarts)
        except OverflowError:
            return self._max
        spread = int(grown * self._jitter)
        # As in Flink, the jitter is applied before the limits: no delay is shorter than the first or longer than the
        # last.
        return max(self._initial, min(grown + self._random.randint(-spread, spread), self._max))

    @property
    def description(self) -> str:
        limit = "" if self._attempts == UNLIMITED else f", {_times(self._attempts)} in a row at most"
        return (
            f"restarts after {_span_text(self._initial)}, then {self._multiplier:g} times longer each, "
            f"{_span_text(self._max)} at most{limit}"
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


def _span_text(millis: int) -> str:
    return f"{millis / 1000:g} s"


# The policy of a configuration

T = TypeVar("T")
"""Type of an option's value."""

NAMES = {
    **dict.fromkeys(("none", "off", "disable"), "none"),
    **dict.fromkeys(("fixed-delay", "fixeddelay"), "fixed-delay"),
    **dict.fromkeys(("failure-rate", "failurerate"), "failure-rate"),
    **dict.fromkeys(("exponential-delay", "exponentialdelay"), "exponential-delay"),
}
"""Value in a configuration -> the name of the strategy."""


def _count(name: str, default: int) -> ConfigOption[int]:
    return ConfigOptions.key(f"{PREFIX}.{name}").int_type().default_value(default)


def _factor(name: str, default: float) -> ConfigOption[float]:
    return ConfigOptions.key(f"{PREFIX}.{name}").double_type().default_value(default)


def _span(name: str, seconds: int) -> ConfigOption[Duration]:
    return ConfigOptions.key(f"{PREFIX}.{name}").duration_type().default_value(Duration.of_seconds(seconds))


FIXED_ATTEMPTS = _count("fixed-delay.attempts", 1)
FIXED_DELAY = _span("fixed-delay.delay", 1)
RATE_FAILURES = _count("failure-rate.max-failures-per-interval", 1)
RATE_INTERVAL = _span("failure-rate.failure-rate-interval", 60)
RATE_DELAY = _span("failure-rate.delay", 1)
INITIAL_BACKOFF = _span("exponential-delay.initial-backoff", 1)
MAX_BACKOFF = _span("exponential-delay.max-backoff", 60)
MULTIPLIER = _factor("exponential-delay.backoff-multiplier", 1.5)
RESET_THRESHOLD = _span("exponential-delay.reset-backoff-threshold", 3_600)
JITTER = _factor("exponential-delay.jitter-factor", 0.1)
ATTEMPTS_BEFORE_RESET = _count("exponential-delay.attempts-before-reset-backoff", UNLIMITED)


def restart_policy(
    configuration: Mapping[str, str],
    strategy: RestartStrategyConfiguration | None = None,
    checkpointing: bool = False,
    seed: int | None = None,
) -> RestartPolicy:
    """The policy of a job: its own strategy, else what ``restart-strategy.*`` says, else Flink's default.

    Flink's default is no restart without checkpointing, and exponential delays with it. ``seed`` fixes the jitter.

    :raises ValueError: an unknown strategy, or a value that is wrong; the message names it.
    """
    if strategy is None or isinstance(strategy, RestartStrategies.FallbackRestartStrategyConfiguration):
        return _configured(configuration, checkpointing, seed)
    return _of_strategy(strategy, seed)


def _configured(configuration: Mapping[str, str], checkpointing: bool, seed: int | None) -> RestartPolicy:
    key = TYPE if TYPE in configuration else PREFIX  # the older name of the option
    text = configuration.get(key, "exponential-delay" if checkpointing else "none")
    name = NAMES.get(text.strip().lower())
    if name is None:
        raise ValueError(
            f"{key} is {text!r}, which is no restart strategy: use none, fixed-delay, failure-rate or exponential-delay"
        )
    values = _Values(configuration)
    try:
        if name == "fixed-delay":
            return FixedDelay(values.number(FIXED_ATTEMPTS), values.millis(FIXED_DELAY))
        if name == "failure-rate":
            return FailureRate(values.number(RATE_FAILURES), values.millis(RATE_INTERVAL), values.millis(RATE_DELAY))
        if name == "exponential-delay":
            return ExponentialDelay(
                values.millis(INITIAL_BACKOFF),
                values.millis(MAX_BACKOFF),
                values.number(MULTIPLIER),
                values.millis(RESET_THRESHOLD),
                values.number(JITTER),
                values.number(ATTEMPTS_BEFORE_RESET),
                seed,
            )
    except ValueError as error:
        raise ValueError(f"restart strategy {name}: {error}") from None
    return NoRestart()


def _of_strategy(strategy: RestartStrategyConfiguration, seed: int | None) -> RestartPolicy:
    if isinstance(strategy, RestartStrategies.NoRestartStrategyConfiguration):
        return NoRestart()
    if isinstance(strategy, RestartStrategies.FixedDelayRestartStrategyConfiguration):
        return FixedDelay(strategy.restart_attempts, to_millis(strategy.delay_between_attempts_interval))
    if isinstance(strategy, RestartStrategies.FailureRateRestartStrategyConfiguration):
        return FailureRate(
            strategy.max_failure_rate,
            to_millis(strategy.failure_interval),
            to_millis(strategy.delay_between_attempts_interval),
        )
    if isinstance(strategy, RestartStrategies.ExponentialDelayRestartStrategyConfiguration):
        return ExponentialDelay(
            to_millis(strategy.initial_backoff),
            to_millis(strategy.max_backoff),
            strategy.backoff_multiplier,
            to_millis(strategy.reset_backoff_threshold),
            strategy.jitter_factor,
            seed=seed,
        )
    raise TypeError(f"{strategy!r} is no restart strategy: make one with RestartStrategies")


class _Values:
    """Typed values of a configuration; all options here have defaults."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._configuration = Configuration.from_dict(dict(configuration))

    def number(self, option: ConfigOption[T]) -> T:
        value: Any = self._configuration.get(option)
        return value  # type: ignore[no-any-return]

    def millis(self, option: ConfigOption[Duration]) -> int:
        return self.number(option).to_millis()


# What runs again

FAILOVER_STRATEGY = "jobmanager.execution.failover-strategy"
_LOCAL = re.compile(r"^local(?:\[[^,\]]*(?:,\s*(?P<attempts>\d+))?\])?$")


class TaskFailedError(Exception):
    """Fails a Spark task, so that Spark runs it again."""


def is_regional(configuration: Mapping[str, str]) -> bool:
    """Whether only the failed tasks run again. Raises ``ValueError`` for an unknown failover strategy."""
    strategy = configuration.get(FAILOVER_STRATEGY, "region").strip().lower()
    if strategy not in ("region", "full"):
        raise ValueError(f"{FAILOVER_STRATEGY} must be region or full, not {strategy!r}")
    return strategy == "region"


def spark_attempts(master: str, max_failures: str | None) -> int:
    """The most times that Spark runs a task.

    :param max_failures: ``spark.task.maxFailures``, which has no effect for a local master.
    """
    local = _LOCAL.match(master)
    if local is not None:
        return int(local["attempts"] or 1)
    return int(max_failures or 4)


def task_retries(policy: RestartPolicy, regional: bool, batch: bool, attempts: int) -> int:
    """How often a failing task may run again before the job fails."""
    return min(policy.most_restarts, attempts - 1) if regional and batch else 0


def failing_alone(packets: Iterable[Packet], task: TaskId) -> Iterator[Packet]:
    """The packets of a task; a failure is raised instead of sent as an acknowledgement.

    :raises TaskFailedError: the task has failed.
    """
    stage, partition = task
    for packet in packets:
        if packet.edge == ACK and (packet.number, packet.channel) == (stage, partition):
            failure = TaskAck.decode(packet.payload).failure
            if failure is not None:
                raise TaskFailedError(_failure_text(failure))
        yield packet


def _failure_text(failure: Failure) -> str:
    return f"{failure.operator} at {failure.origin}: {failure.cause}; it will run again"
