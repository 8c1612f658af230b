"""Clocks of a task: the time of day, how long something took, and the cap on jumps of event time.

The system's clock may be set while a job runs, so durations are read from another one. Event time has a cap on jumps:
one row from far in the future must not make all others late. Time that is further ahead of all before than the cap does
not count for the watermark; the element itself goes on. Only where ``CONFIRMED`` elements one behind the other are
ahead has time itself made the jump, as after a night without data.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from millrace.runtime.elements import MIN_TIMESTAMP

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


def is_over(now: int, until: int, span: int) -> bool:
    """Whether a span is over that ends at a time. It is, too, where the clock was set back to before its beginning: how
    much has passed is not known then, and its end may be years away.
    """
    return now >= until or now < until - span


# Jumps of event time

JUMPS_METRIC = "numTimeJumpsIgnored"
CONFIRMED = 100
"""so many elements in a row are believed, whatever they say"""
_SHOWN = 300
"""characters of an element in the log"""
_logger = logging.getLogger(__name__)


class TimeJumps:
    """What the times of one stream, or split, say about the watermark.

    :param most: how far time may jump ahead (ms).
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._largest: int | None = None
        self._ahead: list[int] = []
        """the last times, as far as they are all ahead"""

    def capped(self, times: list[int]) -> tuple[list[int], list[int]]:
        """The times with the largest credible one in place of those that are ahead, and the places of these."""
        known = [time for time in times if time != MIN_TIMESTAMP]
        if not known:
            return times, []
        if self._largest is None:
            self._largest = min(known)
        if max(known) <= self._largest + self._most:
            self._largest, self._ahead = max(self._largest, *known), []
            return times, []
        found, ignored = [], []
        for place, each in enumerate(times):
            if self._is_ahead(each):
                ignored.append(place)
                each = self._largest
            found.append(each)
        return found, ignored

    def _is_ahead(self, time: int) -> bool:
        assert self._largest is not None
        if time <= self._largest + self._most:
            if time != MIN_TIMESTAMP:
                self._largest, self._ahead = max(self._largest, time), []
            return False
        self._ahead.append(time)
        if len(self._ahead) < CONFIRMED:
            return True
        self._largest, self._ahead = min(self._ahead), []
        return time > self._largest + self._most

    def snapshot(self) -> Any:
        return self._largest, list(self._ahead)

    def restore(self, snapshot: Any) -> None:
        self._largest, self._ahead = snapshot


class JumpsIgnored:
    """Counts them, and shows some in the log: the 1st, 10th, 100th, ..."""

    def __init__(self, context: Any) -> None:
        self._name = context.name
        self._counter = context.runtime.get_metrics_group().counter(JUMPS_METRIC)
        self._next = 1

    def ignored(self, number: int, time: int, element: Any) -> None:
        """So many more; one of them, with its time (ms)."""
        self._counter.inc(number)
        if self._counter.get_count() < self._next:
            return
        while self._next <= self._counter.get_count():
            self._next *= 10
        _logger.warning(
            "operator %r: %d elements were so far in the future that the watermark does not follow them; one has the "
            "time %d: %s",
            self._name,
            self._counter.get_count(),
            time,
            repr(element)[:_SHOWN],
        )
