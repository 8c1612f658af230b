"""Clocks of a task: the time of day, a monotonic clock for durations, and the limit on jumps of event time.

The system's clock may be set while a job runs, so durations are measured with a monotonic clock. Event time may jump
ahead only by a limit, because one row from far in the future must not make all others late: a timestamp further ahead
of all earlier ones does not advance the watermark, though its element is processed as usual. When ``CONFIRMED``
consecutive elements are ahead, time itself has made the jump, for example after a night without data.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millrace.runtime.elements import MIN_TIMESTAMP

if TYPE_CHECKING:
    from millrace.runtime.bases.operator import OperatorContext

_BEGAN_MS = time.time_ns() // 1_000_000 - time.monotonic_ns() // 1_000_000


def now_millis() -> int:
    """Wall-clock time in ms since the epoch."""
    return time.time_ns() // 1_000_000


def steady_millis() -> int:
    """Monotonic time in ms, for measuring durations. It starts at the wall-clock time, but never jumps when the
    system's clock is set."""
    return _BEGAN_MS + time.monotonic_ns() // 1_000_000


def steady_of(clock: Callable[[], int]) -> Callable[[], int]:
    """The clock to measure durations with: the monotonic one for the system's clock, which may be set; any other clock
    (of a test) serves itself."""
    return steady_millis if clock is now_millis else clock


def is_over(now: int, until: int, span: int) -> bool:
    """Whether a time span is over.

    It also counts as over if the clock was set back to before the span's beginning: how much time has passed is not
    known then, and the span's end may be years away.

    :param now: the current time; all three values have the same unit.
    :param until: the end of the span.
    :param span: the length of the span.
    """
    return now >= until or now < until - span


# Jumps of event time

JUMPS_METRIC = "numTimeJumpsIgnored"
CONFIRMED = 100
"""the number of consecutive elements far in the future after which the watermark follows them"""
_SHOWN = 300
"""the most characters of an element in a log message"""
_logger = logging.getLogger(__name__)


class TimeJumps:
    """Limits how far the timestamps of one stream, or split, may move the watermark ahead.

    :param most: how far time may jump ahead (ms).
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._largest: int | None = None
        self._ahead: list[int] = []
        """the latest timestamps (ms), if all of them are ahead of the limit"""

    def capped(self, times: list[int]) -> tuple[list[int], list[int]]:
        """Cap timestamps (ms) that are too far ahead.

        :returns: the timestamps with the largest credible one in place of each that is ahead, and the indexes of those.
        """
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
    """Counts the elements that the watermark does not follow, and logs the 1st, 10th, 100th, ..."""

    def __init__(self, context: OperatorContext) -> None:
        self._name = context.name
        self._counter = context.runtime.get_metrics_group().counter(JUMPS_METRIC)
        self._next = 1

    def ignored(self, number: int, time: int, element: Any) -> None:
        """Count ignored elements.

        :param number: how many there are.
        :param time: the timestamp (ms) of one of them.
        :param element: this one, for the log.
        """
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
