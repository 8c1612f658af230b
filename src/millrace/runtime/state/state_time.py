"""The time for state with time to live: the two clocks of a keyed operator."""

from __future__ import annotations

from collections.abc import Callable


class StateTime:
    """The time of an access to state (ms), by processing time and by event time.

    Processing time is the operator's clock. The event time of an access is the timestamp of the element, or of the
    event-time timer, that the function is called for; it is never behind the watermark. An access stamps what it writes
    with that time, and sees what was stamped less than the time to live before it. So what an element sees depends on
    timestamps only: not on how many elements share a chunk, though watermarks come once per chunk, nor on a replay. A
    late element still sees what it has just written. Only entries older than the time to live before the watermark are
    removed, since an element that is out of order may see more than the one before it.

    :param processing: the clock.
    :param watermark: the operator's watermark.
    :param timestamp: gives the event time of the current element or timer; None: the watermark is used.
    """

    __slots__ = ("_timestamp", "_watermark", "firing_since", "processing")

    def __init__(
        self, processing: Callable[[], int], watermark: Callable[[], int], timestamp: Callable[[], int | None]
    ) -> None:
        self.processing = processing
        self._watermark = watermark
        self._timestamp = timestamp
        self.firing_since: int | None = None
        """the watermark (ms) before the one whose timers are firing; None while none fire. A watermark may come late
        and pass many timers at once, but each timer sees the state of its own time"""

    def event(self) -> int:
        """The event time of the current access (ms)."""
        timestamp = self._timestamp()
        if timestamp is None:
            return self._watermark()
        horizon = self.horizon()
        return timestamp if timestamp > horizon else horizon

    def horizon(self) -> int:
        """A lower limit of the event time of all later accesses (ms)."""
        return self._watermark() if self.firing_since is None else self.firing_since


def _no_clock() -> int:
    raise RuntimeError("this keyed state was made without clocks, so it can't expire")


NO_TIME = StateTime(_no_clock, _no_clock, _no_clock)
"""the clocks for keyed state that is used without time to live"""
