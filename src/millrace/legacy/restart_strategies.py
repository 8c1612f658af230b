"""``set_restart_strategy``: how often a failed job begins again, given as an object instead of as settings."""

from __future__ import annotations

from millrace.common.configuration import Configuration
from millrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millrace.datastream import StreamExecutionEnvironment
from millrace.legacy.warning import tell
from millrace.runtime.coordination.restart import restart_policy

_KEPT = "_older_restart_strategy"
_LEFT_TO_SETTINGS = RestartStrategies.FallbackRestartStrategyConfiguration


def set_restart_strategy(
    env: StreamExecutionEnvironment, restart_strategy_configuration: RestartStrategyConfiguration
) -> StreamExecutionEnvironment:
    """When a job of this program begins again after a failure: one of ``RestartStrategies``."""
    put_strategy("StreamExecutionEnvironment", env, env._configuration, restart_strategy_configuration)
    return env


def get_restart_strategy(env: StreamExecutionEnvironment) -> RestartStrategyConfiguration:
    """The one that was set; one that leaves it to the settings by default."""
    return get_strategy(env)


def put_strategy(
    owner: str, holder: object, configuration: Configuration, strategy: RestartStrategyConfiguration
) -> None:
    """Keep a strategy with what it was given to, and say it in settings."""
    if not isinstance(strategy, RestartStrategyConfiguration):
        raise TypeError(f"set_restart_strategy() takes what RestartStrategies gives, not {strategy!r}")
    tell(f"{owner}.set_restart_strategy()", "the settings restart-strategy.*")
    holder.__dict__[_KEPT] = strategy
    if not isinstance(strategy, _LEFT_TO_SETTINGS):
        for key, value in restart_policy({}, strategy).configuration.items():
            configuration.set_string(key, value)


def get_strategy(holder: object) -> RestartStrategyConfiguration:
    """The strategy that something was given, or one that leaves it to the settings."""
    return holder.__dict__.get(_KEPT) or _LEFT_TO_SETTINGS()
