"""How Flink describes a restart strategy."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from millrace.runtime.coordination.restart_policies import PREFIX, TYPE, RestartPolicy


def describe_restarts(policy: RestartPolicy, configuration: Mapping[str, str]) -> str:
    """The text that Flink shows.

    :param configuration: what the user has set; without any strategy in it, Flink says only that.
    """
    if TYPE not in configuration and PREFIX not in configuration:
        return "Cluster level default restart strategy"
    values = policy.configuration
    kind = values[TYPE]

    def value(name: str) -> str:
        return values[f"{PREFIX}.{kind}.{name}"]

    if kind == "fixed-delay":
        return f"Restart with fixed delay ({_duration(value('delay'))}). #{value('attempts')} restart attempts."
    if kind == "failure-rate":
        return (
            f"Failure rate restart with maximum of {value('max-failures-per-interval')} failures within interval "
            f"{_duration(value('failure-rate-interval'))} and fixed delay {_duration(value('delay'))}."
        )
    if kind == "exponential-delay":
        return (
            f"Restart with exponential delay: starting at {_duration(value('initial-backoff'))}, increasing by "
            f"{float(value('backoff-multiplier')):f}, with maximum {_duration(value('max-backoff'))}. Delay resets "
            f"after {_duration(value('reset-backoff-threshold'))} with jitter {float(value('jitter-factor')):f}"
        )
    return "Restart deactivated."


def _duration(millis: str) -> str:
    """ISO 8601, as Java writes it: ``PT1M30S``."""
    left = Decimal(millis.removesuffix(" ms")) / 1000
    hours, left = divmod(left, 3600)
    minutes, seconds = divmod(left, 60)
    parts = [f"{int(hours)}H"] * bool(hours) + [f"{int(minutes)}M"] * bool(minutes)
    if seconds or not parts:
        parts.append(f"{seconds.normalize():f}S")
    return "PT" + "".join(parts)
