"""Gateways with the limits that options set."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millrace.cluster.gateway.gateway import Gateway
    from millrace.cluster.gateway.home import Home

_OWN = ("sql-gateway.", "security.", "rest.")
_OF_SESSIONS = ("rest.address", "rest.port")
"""where the cluster is that takes their jobs"""


@contextlib.contextmanager
def ending_quietly() -> Iterator[None]:
    """A server sends itself the signal that ended it once more when it has ended: that is to end nothing else."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def make_gateway(configuration: Mapping[str, str], home: Home | None = None) -> Gateway:
    """:raises ValueError: an option that can't have its value."""
    from millrace.cluster.gateway.gateway import IDLE_SECONDS, LOOK_SECONDS, MOST_SESSIONS, Gateway
    from millrace.common.config_values import to_duration

    def seconds(key: str, default: float) -> float:
        text = configuration.get(key)
        return default if text is None else to_duration(text).to_millis() / 1000

    most = configuration.get("sql-gateway.session.max-num", str(MOST_SESSIONS)).strip()
    if not most.isdecimal():
        raise ValueError(f"sql-gateway.session.max-num is a whole number, not {most!r}")
    return Gateway(
        {key: value for key, value in configuration.items() if key in _OF_SESSIONS or not key.startswith(_OWN)},
        seconds("sql-gateway.session.idle-timeout", IDLE_SECONDS),
        int(most),
        seconds("sql-gateway.session.check-interval", LOOK_SECONDS),
        home,
    )
