"""What time it is, and how long something took: the system's clock may be set while a job runs."""

from __future__ import annotations

import time
from collections.abc import Callable

_BEGAN_MS = time.time_ns() // 1_000_000 - time.monotonic_ns() // 1_000_000


def now_millis() -> int:
    """The time in ms since the epoch."""
    return time.time_ns() // 1_000_000


def steady_millis() -> int:
    """The same, of a clock that is never set: for measuring how long something takes. After the system's clock was set
    it says another time."""
    return _BEGAN_MS + time.monotonic_ns() // 1_000_000


def steady_of(clock: Callable[[], int]) -> Callable[[], int]:
    """The clock to measure with where this one says the time: that of the system may be set, others go on as they do
    (a test's)."""
    return steady_millis if clock is now_millis else clock
