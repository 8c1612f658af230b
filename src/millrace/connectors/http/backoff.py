"""How long to wait before a request is sent again."""

from __future__ import annotations

import email.utils
import time
from dataclasses import dataclass

from millrace.connectors.http.properties import Properties

FIXED, EXPONENTIAL = "fixed-delay", "exponential-delay"


@dataclass(frozen=True)
class Backoff:
    """Pauses in seconds.

    :ivar attempts: how often a request is sent again.
    :ivar most: no pause is longer, whatever the server asks for.
    """

    attempts: int = 3
    first: float = 1.0
    multiplier: float = 1.0
    most: float = 60.0

    @staticmethod
    def of(properties: Properties, prefix: str, attempts: int) -> Backoff:
        """:param prefix: of the options, as in ``http.sink.``.
        :raises ValueError: for what cannot be.
        """
        strategy = f"{prefix}retry-strategy."
        kind = properties.one_of(f"{strategy}type", FIXED, (FIXED, EXPONENTIAL))
        if kind == FIXED:
            delay = properties.seconds(f"{strategy}{FIXED}.delay", 1.0)
            return Backoff(attempts, delay, 1.0, max(delay, 60.0))
        name = f"{strategy}{EXPONENTIAL}."
        multiplier = properties.ratio(f"{name}backoff-multiplier", 1.5)
        if multiplier < 1:
            raise ValueError(f"'{name}backoff-multiplier' is 1 or more, not {multiplier:g}")
        first = properties.seconds(f"{name}initial-backoff", 1.0)
        return Backoff(attempts, first, multiplier, properties.seconds(f"{name}max-backoff", 60.0))

    def pause(self, attempt: int, retry_after: str | None = None) -> float:
        """:param attempt: 0 for the first request.
        :param retry_after: what the server's header says, if it has one.
        """
        asked = None if retry_after is None else asked_for(retry_after, time.time())
        return min(self.first * self.multiplier**attempt if asked is None else asked, self.most)


def asked_for(retry_after: str, now: float) -> float | None:
    """Seconds that the header Retry-After asks for, as a number or as a time; None: it says neither."""
    text = retry_after.strip()
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now)
    except (TypeError, ValueError):
        return None
