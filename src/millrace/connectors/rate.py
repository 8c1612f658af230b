"""How fast a generator source may emit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Pace", "RateLimiterStrategy"]

_MOST_SECONDS = 1.0
"""What was not taken in this time is not made up for."""


@dataclass(frozen=True)
class RateLimiterStrategy:
    """A limit over all subtasks together; make one with ``no_op``, ``per_second`` or ``per_checkpoint``.

        >>> source = DataGeneratorSource(lambda index: index, 10, RateLimiterStrategy.per_second(100), Types.LONG())
    """

    events_per_second: float | None = None
    events_per_checkpoint: int | None = None

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """As fast as possible."""
        return RateLimiterStrategy()

    @staticmethod
    def per_second(events: float) -> RateLimiterStrategy:
        """At most ``events`` elements a second (may be below 1).

        :raises ValueError: if ``events`` is not positive.
        """
        if events <= 0:
            raise ValueError(f"per_second needs a positive number of events, got {events}")
        return RateLimiterStrategy(events_per_second=float(events))

    @staticmethod
    def per_checkpoint(events: int) -> RateLimiterStrategy:
        """At most ``events`` elements between two checkpoints (epochs).

        :raises ValueError: if ``events`` is not positive.
        """
        if events <= 0:
            raise ValueError(f"per_checkpoint needs a positive number of events, got {events}")
        return RateLimiterStrategy(events_per_checkpoint=int(events))


class Pace:
    """How many records a reader may take now, at an even rate.

    :param per_second: of this reader alone.
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = per_second, clock
        self._last, self._allowed = clock(), 0.0

    def allowed(self, most: int) -> int:
        """At most ``most``; 0: it is too early for one."""
        now = self._clock()
        most_kept = max(self._rate * _MOST_SECONDS, 1.0)
        self._allowed = min(self._allowed + (now - self._last) * self._rate, most_kept)
        self._last = now
        return min(int(self._allowed), most)

    def take(self, count: int) -> None:
        """So many were taken."""
        self._allowed -= count
