from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from millrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millrace.common.time import Duration, Time

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("delay", [1000, SECOND, Duration.of_seconds(1), Time.seconds(1)])
def test_delays_in_every_form(delay: Any) -> None:
    fixed = RestartStrategies.fixed_delay_restart(3, delay)
    assert (fixed.get_restart_attempts(), fixed.get_delay_between_attempts_interval()) == (3, SECOND)
    assert fixed == RestartStrategies.fixed_delay_restart(3, 1000)
    rate = RestartStrategies.failure_rate_restart(2, Duration.of_minutes(5), delay)
    assert rate.get_max_failure_rate() == 2
    assert rate.get_failure_interval() == timedelta(minutes=5)
    assert rate.get_delay_between_attempts_interval() == SECOND


def test_exponential_delay() -> None:
    strategy = RestartStrategies.exponential_delay_restart(SECOND, 60_000, 1.5, timedelta(hours=1), 0.1)
    assert (strategy.initial_backoff, strategy.max_backoff) == (SECOND, timedelta(minutes=1))
    assert strategy.reset_backoff_threshold == timedelta(hours=1)
    assert (strategy.backoff_multiplier, strategy.jitter_factor) == (1.5, 0.1)


@pytest.mark.parametrize(
    ("strategy", "description"),
    [
        (RestartStrategies.no_restart(), "Restart deactivated."),
        (RestartStrategies.fall_back_restart(), "Cluster level default restart strategy"),
        (RestartStrategies.fixed_delay_restart(3, 1000), "Restart with fixed delay (PT1S). #3 restart attempts."),
        (
            RestartStrategies.failure_rate_restart(2, 60_000, 500),
            "Failure rate restart with maximum of 2 failures within interval PT1M and fixed delay PT0.5S.",
        ),
        (
            RestartStrategies.exponential_delay_restart(1000, 60_000, 2.0, 3_600_000, 0.0),
            "Restart with exponential delay: starting at PT1S, increasing by 2.0, with maximum PT1M. "
            "Delay resets after PT1H with jitter 0.0.",
        ),
    ],
)
def test_descriptions_and_pickling(strategy: RestartStrategyConfiguration, description: str) -> None:
    assert strategy.get_description() == description
    assert pickle.loads(pickle.dumps(strategy)) == strategy
    assert hash(pickle.loads(pickle.dumps(strategy))) == hash(strategy)


def test_wrong_arguments() -> None:
    for wrong in ("a", 1.5, None, True):
        with pytest.raises(TypeError, match="delay_between_attempts takes milliseconds"):
            RestartStrategies.fixed_delay_restart(3, wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="negative"):
        RestartStrategies.fixed_delay_restart(3, -1)
    with pytest.raises(ValueError, match="restart_attempts must be at least 0"):
        RestartStrategies.fixed_delay_restart(-1, 1)
    with pytest.raises(ValueError, match="failure_rate must be at least 1"):
        RestartStrategies.failure_rate_restart(0, 1, 1)
    with pytest.raises(ValueError, match="max_backoff"):
        RestartStrategies.exponential_delay_restart(2, 1, 2.0, 1, 0.0)
    with pytest.raises(ValueError, match="backoff_multiplier"):
        RestartStrategies.exponential_delay_restart(1, 2, 0.5, 1, 0.0)
    with pytest.raises(ValueError, match="jitter_factor"):
        RestartStrategies.exponential_delay_restart(1, 2, 2.0, 1, 1.5)
