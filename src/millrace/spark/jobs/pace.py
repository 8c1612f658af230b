"""When the next epoch begins."""

from __future__ import annotations

import time
from collections.abc import Callable

IDLE_SECONDS = 1.0
"""After so long without a record a job counts as idle."""


IDLE_INTERVALS = (0.1, 0.2)
"""Seconds between the epochs of an idle job whose tasks stay: at first, and at most."""
IDLE_INTERVALS_OF_SPARK = (0.6, 2.4)
"""The same where each epoch is a job of Spark, which takes some 150 ms of a processor."""
QUIET_PART = 0.2
"""The interval of an idle job as a part of the time for which nothing has come: what comes then waits no longer."""


class Pace:
    """The beginnings of two epochs lie an interval apart at least; if epochs take longer, one follows the other.

    :param interval: in seconds.
    :param idle: the interval of an idle job: whoever has epochs every few ms would use a processor for nothing.
    :param longest: to which that grows, the longer nothing comes.
    :param behind: the interval of a job that has more to do than one epoch takes; None: the same.
    :param clock: in seconds.
    """

    def __init__(
        self,
        interval: float,
        idle: float,
        longest: float = 0.0,
        behind: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval = interval
        self._idle = max(idle, interval)
        self._longest = max(longest, self._idle)
        self._clock = clock
        self._behind = interval if behind is None else behind
        self._due = self._busy = self._began = clock()

    def left(self) -> float:
        """Seconds until the next epoch is due."""
        return max(0.0, self._due - self._clock())

    def begun(self) -> None:
        """It begins now."""
        now = self._began = self._clock()
        quiet = now - self._busy
        idle = min(max(self._idle, quiet * QUIET_PART), self._longest)
        self._due = max(self._due + (self._interval if quiet < IDLE_SECONDS else idle), now)

    def ended(self, records: int, more: bool = False, due_in: float | None = None) -> None:
        """The epoch is complete; its sources have read so many records.

        :param more: whether there is more to do than it took.
        :param due_in: seconds until something is to be done by the clock; None: never.
        """
        if due_in is not None:
            self._due = min(self._due, self._clock() + max(due_in, self._interval))
        if records or more:
            now = self._busy = self._clock()
            self._due = max(now, self._began + self._behind) if more else min(self._due, now + self._interval)
