"""How full a task's inboxes and outboxes were: Flink's ``inPoolUsage`` and ``outPoolUsage``."""

from __future__ import annotations

from collections.abc import Collection

from millrace.runtime.exchange.flow_writer import FlowWriter
from millrace.runtime.tasks.inbox import Inbox

LOOK_NANOSECONDS = 20_000_000
"""How often they are looked at,"""
LOOK_EACH_NANOSECONDS = 1_000_000
"""or after so long for each of them, if they are many."""


class Pools:
    """Means over an epoch, 0 to 1 each."""

    def __init__(self, inboxes: Collection[Inbox], writers: Collection[FlowWriter]) -> None:
        self._inboxes = inboxes
        self._writers = writers
        self._pause = max(LOOK_NANOSECONDS, LOOK_EACH_NANOSECONDS * len(inboxes))
        self._seen = (0.0, 0.0)
        self._at: int | None = None
        """when (ns)"""
        self._span = 0
        self._sums = (0.0, 0.0)

    def look(self, now: int) -> None:
        """See how full they are, if it is time for that."""
        at = self._at
        if at is not None and now < at + self._pause:
            return
        if at is not None and now > at:
            self._span += now - at
            (came, went), (inward, outward) = self._sums, self._seen
            self._sums = came + inward * (now - at), went + outward * (now - at)
        self._at = now
        self._seen = _mean([each.fill for each in self._inboxes]), _mean([each.fill for each in self._writers])

    def so_far(self) -> tuple[float, float]:
        """The means since they were taken, of what comes in and of what goes out."""
        span, sums = self._span, self._sums
        return (sums[0] / span, sums[1] / span) if span else self._seen

    def take(self) -> tuple[float, float]:
        """The same, for the last time: they begin again."""
        taken = self.so_far()
        self._span, self._sums = 0, (0.0, 0.0)
        return taken


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
