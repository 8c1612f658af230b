"""Restart policies, compared with models that look at the whole history of failures each time."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millrace.common.time import Duration
from millrace.runtime.coordination.restart import (
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestart,
    RestartPolicy,
    restart_policy,
)

GAPS = st.lists(st.integers(0, 50), min_size=1, max_size=40)
"""ms from one failure to the next"""


def answers(policy: RestartPolicy, times: list[int]) -> list[int | None]:
    """What the policy says at each failure, up to the one after which the job is not started again."""
    found = []
    for now in times:
        found.append(policy.on_failure(now))
        if found[-1] is None:
            break
    return found


def until_none(expected: list[int | None]) -> list[int | None]:
    return expected[: expected.index(None) + 1] if None in expected else expected


@given(GAPS, st.integers(0, 10), st.integers(0, 1000))
def test_a_fixed_delay_allows_so_many_restarts(gaps: list[int], attempts: int, delay: int) -> None:
    expected = [delay if number < attempts else None for number in range(len(gaps))]
    assert answers(FixedDelay(attempts, delay), list(accumulate(gaps))) == until_none(expected)


@given(GAPS, st.integers(1, 5), st.integers(1, 120))
def test_a_failure_rate_counts_the_failures_of_the_last_interval(gaps: list[int], most: int, interval: int) -> None:
    times = list(accumulate(gaps))
    expected: list[int | None] = []
    for position, now in enumerate(times):
        recent = [time for time in times[: position + 1] if now - time <= interval]
        expected.append(7 if len(recent) <= most else None)
    assert answers(FailureRate(most, interval, 7), times) == until_none(expected)


def model_of_exponential_delays(times: list[int], first: int, longest: int, factor: int, reset: int) -> list[int]:
    """Delays without jitter; factors are whole, so that no rounding plays a part."""
    delays: list[int] = []
    failures: list[int] = []
    due: list[int] = []
    for now in times:
        if due and now < due[-1]:
            delays.append(due[-1] - now)
            continue
        failures.append(now)
        in_a_row = 0
        for number in range(len(due) - 1, -1, -1):
            if failures[number + 1] - due[number] >= reset:
                break
            in_a_row += 1
        delays.append(min(first * factor**in_a_row, longest))
        due.append(now + delays[-1])
    return delays


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=40),
    st.integers(1, 20),
    st.integers(0, 200),
    st.integers(1, 4),
    st.integers(1, 300),
)
def test_an_exponential_delay_grows_until_a_run_was_long(
    gaps: list[int], first: int, more: int, factor: int, reset: int
) -> None:
    times = list(accumulate(gaps))
    policy = ExponentialDelay(first, first + more, factor, reset, jitter=0.0)
    assert answers(policy, times) == model_of_exponential_delays(times, first, first + more, factor, reset)


@given(st.integers(1, 10))
def test_an_exponential_delay_may_be_limited_to_some_restarts_in_a_row(attempts: int) -> None:
    policy = ExponentialDelay(1, 1, 1.0, 1000, 0.0, attempts)
    in_a_row = [policy.on_failure(now) for now in range(0, 2 * attempts, 2)]
    assert in_a_row == [1] * attempts
    later = 2 * attempts + 5000
    assert policy.on_failure(later) == 1  # it ran for long enough
    rest = answers(policy, list(range(later + 2, later + 100, 2)))
    assert rest == [*[1] * (attempts - 1), None]
    assert policy.on_failure(later + 2 * attempts) is None  # what is over stays over


@given(st.integers(), st.floats(0.0, 1.0))
def test_jitter_stays_within_its_share_and_comes_from_the_seed(seed: int, jitter: float) -> None:
    first, second = (ExponentialDelay(100, 10_000, 2.0, 10**9, jitter, seed=seed) for _ in range(2))
    now = 0
    for number in range(12):
        delay = first.on_failure(now)
        assert delay is not None
        assert delay == second.on_failure(now)
        plain = 100 * 2**number
        spread = int(plain * jitter)
        assert min(max(100, plain - spread), 10_000) <= delay <= min(plain + spread, 10_000)
        now += delay + 1


def test_jitter_differs() -> None:
    delays = {ExponentialDelay(initial_ms=10_000, seed=seed).on_failure(0) for seed in range(50)}
    assert len(delays) > 10


def test_delays_do_not_overflow() -> None:
    policy = ExponentialDelay(1, 60_000, 10.0, 10**9, 0.1)
    delays, now = [], 0
    for _ in range(1_000):
        delay = policy.on_failure(now)
        assert delay is not None
        delays.append(delay)
        now += delay + 1
    assert set(delays[10:]) == {60_000}


EXPONENTIAL = "restart-strategy.exponential-delay"


@pytest.mark.parametrize(
    ("configuration", "checkpointing", "expected"),
    [
        ({}, False, NoRestart()),
        ({}, True, ExponentialDelay(1_000, 60_000, 1.5, 3_600_000, 0.1)),
        ({f"{EXPONENTIAL}.max-backoff": "5 s"}, True, ExponentialDelay(max_ms=5_000)),
        ({"restart-strategy.type": "off"}, True, NoRestart()),
        ({"restart-strategy.type": "disable"}, True, NoRestart()),
        ({"restart-strategy": "none"}, True, NoRestart()),
        ({"restart-strategy.type": "fixed-delay"}, False, FixedDelay(1, 1_000)),
        ({"restart-strategy": "fixeddelay"}, True, FixedDelay(1, 1_000)),
        ({"restart-strategy": "none", "restart-strategy.type": "Fixed-Delay"}, True, FixedDelay(1, 1_000)),
        (
            {
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "7",
                "restart-strategy.fixed-delay.delay": "2 min",
            },
            False,
            FixedDelay(7, 120_000),
        ),
        ({"restart-strategy.type": "failurerate"}, False, FailureRate(1, 60_000, 1_000)),
        (
            {
                "restart-strategy.type": "failure-rate",
                "restart-strategy.failure-rate.max-failures-per-interval": "3",
                "restart-strategy.failure-rate.failure-rate-interval": "5 min",
                "restart-strategy.failure-rate.delay": "PT10S",
            },
            False,
            FailureRate(3, 300_000, 10_000),
        ),
        (
            {
                "restart-strategy.type": "exponential-delay",
                f"{EXPONENTIAL}.initial-backoff": "10 ms",
                f"{EXPONENTIAL}.max-backoff": "1 h",
                f"{EXPONENTIAL}.backoff-multiplier": "2",
                f"{EXPONENTIAL}.reset-backoff-threshold": "1 d",
                f"{EXPONENTIAL}.jitter-factor": "0",
                f"{EXPONENTIAL}.attempts-before-reset-backoff": "10",
            },
            False,
            ExponentialDelay(10, 3_600_000, 2.0, 86_400_000, 0.0, 10),
        ),
    ],
)
def test_the_configuration_makes_a_policy_and_a_policy_its_configuration(
    configuration: dict[str, str], checkpointing: bool, expected: RestartPolicy
) -> None:
    policy = restart_policy(configuration, None, checkpointing)
    assert type(policy) is type(expected)
    assert policy.configuration == expected.configuration
    assert restart_policy(policy.configuration, None, True).configuration == expected.configuration


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (RestartStrategies.no_restart(), NoRestart()),
        (RestartStrategies.fixed_delay_restart(3, 500), FixedDelay(3, 500)),
        (RestartStrategies.failure_rate_restart(2, 60_000, Duration.of_seconds(3)), FailureRate(2, 60_000, 3_000)),
        (RestartStrategies.exponential_delay_restart(5, 50, 1.2, 70, 0.5), ExponentialDelay(5, 50, 1.2, 70, 0.5)),
        (RestartStrategies.fall_back_restart(), FixedDelay(9, 1_000)),
    ],
)
def test_a_strategy_of_the_job_beats_the_configuration(
    strategy: RestartStrategyConfiguration, expected: RestartPolicy
) -> None:
    configuration = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "9"}
    policy = restart_policy(configuration, strategy, True)
    assert type(policy) is type(expected)
    assert policy.configuration == expected.configuration


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        (
            {"restart-strategy": "sometimes"},
            "restart-strategy is 'sometimes', which is no restart strategy: "
            "use none, fixed-delay, failure-rate or exponential-delay",
        ),
        (
            {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "many"},
            "restart strategy fixed-delay: could not parse value 'many' for key "
            "'restart-strategy.fixed-delay.attempts': not a whole number: 'many'",
        ),
        (
            {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "-1"},
            "restart strategy fixed-delay: attempts must be at least 0, got -1",
        ),
        (
            {"restart-strategy.type": "failure-rate", "restart-strategy.failure-rate.failure-rate-interval": "0 s"},
            "restart strategy failure-rate: failure-rate-interval must be at least 1, got 0",
        ),
        (
            {"restart-strategy.type": "exponential-delay", f"{EXPONENTIAL}.initial-backoff": "2 min"},
            "restart strategy exponential-delay: max-backoff must be at least 120000, got 60000",
        ),
        (
            {"restart-strategy.type": "exponential-delay", f"{EXPONENTIAL}.jitter-factor": "1.5"},
            "restart strategy exponential-delay: jitter-factor must be between 0 and 1, got 1.5",
        ),
    ],
)
def test_a_wrong_configuration_is_explained(configuration: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match="restart") as raised:
        restart_policy(configuration)
    assert str(raised.value) == message


def test_something_else_is_no_strategy() -> None:
    with pytest.raises(TypeError, match="make one with RestartStrategies"):
        restart_policy({}, "fixed-delay")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (NoRestart(), "no restarts"),
        (FixedDelay(1, 500), "1 restart at most, each after 0.5 s"),
        (FailureRate(3, 60_000, 1_000), "restarts for 3 failures in 60 s at most, each after 1 s"),
        (ExponentialDelay(), "restarts after 1 s, then 1.5 times longer each, 60 s at most"),
        (
            ExponentialDelay(attempts=5),
            "restarts after 1 s, then 1.5 times longer each, 60 s at most, 5 restarts in a row at most",
        ),
    ],
)
def test_policies_describe_themselves(policy: RestartPolicy, text: str) -> None:
    assert policy.description == text
