"""The lease of a connection: how long one end goes on without a word from the other."""

from __future__ import annotations

import time
from collections.abc import Callable

BEAT_SECONDS = 1.0
"""Seconds between two signs of life that each end sends."""


class Lease:
    """A lease is renewed by each message of the other end. Once it has ended it is never renewed: what a stopped
    process finds in its buffers when it goes on was sent long ago. Any thread may use it.

    :param seconds: how long it lasts; 0: it does not end.
    :param clock: gives seconds, and goes on while this process is stopped.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._until = clock() + seconds

    def renew(self) -> None:
        """Note a message of the other end."""
        now = self._clock()
        if now <= self._until:
            self._until = now + self._seconds

    @property
    def over(self) -> bool:
        """Whether the other end has been silent for too long."""
        return self._seconds > 0 and self._clock() > self._until


class LeaseError(RuntimeError):
    """The other end of a connection has been silent for longer than the lease."""
