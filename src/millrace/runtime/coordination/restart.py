"""The restart policy of a job: from its own strategy, or from the keys ``restart-strategy.*`` of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from millrace.common.config_options import ConfigOption, ConfigOptions
from millrace.common.configuration import Configuration
from millrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millrace.common.time import Duration, to_millis
from millrace.runtime.coordination.restart_policies import (
    PREFIX,
    TYPE,
    UNLIMITED,
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestart,
    RestartPolicy,
)

__all__ = ["RestartPolicy", "restart_policy"]

T = TypeVar("T")
"""Type of an option's value."""

NAMES = {
    **dict.fromkeys(("none", "off", "disable"), "none"),
    **dict.fromkeys(("fixed-delay", "fixeddelay"), "fixed-delay"),
    **dict.fromkeys(("failure-rate", "failurerate"), "failure-rate"),
    **dict.fromkeys(("exponential-delay", "exponentialdelay"), "exponential-delay"),
}
"""What a configuration may say -> the name of the strategy."""


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

    That is no restart without checkpointing, and growing delays with it. ``seed`` fixes the jitter.

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
