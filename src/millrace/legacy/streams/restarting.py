"""``set_restart_strategy``: how often a failed job begins again, said by an object instead of by settings."""

from __future__ import annotations

from millrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millrace.datastream import StreamExecutionEnvironment
from millrace.legacy.telling import tell
from millrace.runtime.coordination.restart import restart_policy

_LEFT_TO_SETTINGS = RestartStrategies.FallbackRestartStrategyConfiguration


def set_restart_strategy(
    env: StreamExecutionEnvironment, restart_strategy_configuration: RestartStrategyConfiguration
) -> StreamExecutionEnvironment:
    """When a job of this program begins again after a failure: one of ``RestartStrategies``."""
    strategy = restart_strategy_configuration
    if not isinstance(strategy, RestartStrategyConfiguration):
        raise TypeError(f"set_restart_strategy() takes what RestartStrategies gives, not {strategy!r}")
    tell("StreamExecutionEnvironment.set_restart_strategy()", "the settings restart-strategy.*")
    env.__dict__["_older_restart_strategy"] = strategy
    if not isinstance(strategy, _LEFT_TO_SETTINGS):
        for key, value in restart_policy({}, strategy).configuration.items():
            env._configuration.set_string(key, value)
    return env


def get_restart_strategy(env: StreamExecutionEnvironment) -> RestartStrategyConfiguration:
    """The one that was set; one that leaves it to the settings by default."""
    return env.__dict__.get("_older_restart_strategy") or _LEFT_TO_SETTINGS()
