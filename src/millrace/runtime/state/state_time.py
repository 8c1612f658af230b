"""What time it is for state with time to live: the two clocks of a keyed operator."""

from __future__ import annotations

from collections.abc import Callable


class StateTime:
    """The time of an access to state (ms), by processing time and by event time.

    Processing time is the operator's clock. The event time of an access is the timestamp of the element, or of the
    event-time timer, that the function is called for; it is never behind the watermark. An access stamps what it writes
    with that time, and sees what was stamped less than the time to live before it. So what an element sees follows from
    timestamps: it does not depend on how many elements share a chunk, though watermarks come once per chunk, nor on a
    replay. A late element still sees what it has just written. Only what the watermark itself has left behind is
    removed, since an element that is out of order may see more than the one before it.

    :param processing: the clock.
    :param watermark: the operator's watermark.
    :param timestamp: the event time of what the operator is handling, None without; the watermark counts then.
    """

    __slots__ = ("_timestamp", "_watermark", "firing_since", "processing")

    def __init__(
        self, processing: Callable[[], int], watermark: Callable[[], int], timestamp: Callable[[], int | None]
    ) -> None:
        self.processing = processing
        self._watermark = watermark
        self._timestamp = timestamp
        self.firing_since: int | None = None
        """the watermark before the one whose timers are firing, None while none fire: a watermark may come late and
        pass many timers at once, but each sees what was there at its own time"""

    def event(self) -> int:
        """The event time of an access."""
        timestamp = self._timestamp()
        if timestamp is None:
            return self._watermark()
        horizon = self.horizon()
        return timestamp if timestamp > horizon else horizon

    def horizon(self) -> int:
        """No access will ever be at an earlier event time."""
        return self._watermark() if self.firing_since is None else self.firing_since


def _no_clock() -> int:
    raise RuntimeError("this keyed state was made without clocks, so it can't expire")


NO_TIME = StateTime(_no_clock, _no_clock, _no_clock)
"""for keyed state whose user needs no time to live"""
