"""``set_restart_strategy``: the restart strategy as an object instead of options."""

from __future__ import annotations

from millrace.common.configuration import Configuration
from millrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millrace.datastream import StreamExecutionEnvironment
from millrace.legacy.warning import tell
from millrace.runtime.coordination.restart import restart_policy

_ATTRIBUTE = "_older_restart_strategy"
_LEFT_TO_SETTINGS = RestartStrategies.FallbackRestartStrategyConfiguration


def set_restart_strategy(
    env: StreamExecutionEnvironment, restart_strategy_configuration: RestartStrategyConfiguration
) -> StreamExecutionEnvironment:
    """Set the restart strategy of this program's jobs: one of ``RestartStrategies``."""
    put_strategy("StreamExecutionEnvironment", env, env._configuration, restart_strategy_configuration)
    return env


def get_restart_strategy(env: StreamExecutionEnvironment) -> RestartStrategyConfiguration:
    """The restart strategy that was set; by default the one that leaves the choice to the options."""
    return get_strategy(env)


def put_strategy(
    owner: str, holder: object, configuration: Configuration, strategy: RestartStrategyConfiguration
) -> None:
    """Store a strategy on an object, and set the options that it stands for."""
    if not isinstance(strategy, RestartStrategyConfiguration):
        raise TypeError(f"set_restart_strategy() takes what RestartStrategies gives, not {strategy!r}")
    tell(f"{owner}.set_restart_strategy()", "the settings restart-strategy.*")
    holder.__dict__[_ATTRIBUTE] = strategy
    if not isinstance(strategy, _LEFT_TO_SETTINGS):
        for key, value in restart_policy({}, strategy).configuration.items():
            configuration.set_string(key, value)


def get_strategy(holder: object) -> RestartStrategyConfiguration:
    """The strategy that is stored on an object, or the one that leaves the choice to the options."""
    return holder.__dict__.get(_ATTRIBUTE) or _LEFT_TO_SETTINGS()
