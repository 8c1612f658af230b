"""How full a task's inboxes and outboxes were: Flink's ``inPoolUsage`` and ``outPoolUsage``."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from millrace.runtime.exchange.flow_writer import FlowWriter

LOOK_NANOSECONDS = 20_000_000
"""How often they are looked at."""


class Filled(Protocol):
    """What has inboxes."""

    @property
    def fill(self) -> float:
        """How full they are, each 0 to 1, added up."""


class Pools:
    """Means over an epoch, 0 to 1 each.

    :param inboxes: how many inboxes the gates have.
    """

    def __init__(self, gates: Collection[Filled], inboxes: int, writers: Collection[FlowWriter]) -> None:
        self._gates = gates
        self._inboxes = inboxes
        self._writers = writers
        self._seen = (0.0, 0.0)
        self._at: int | None = None
        """when (ns)"""
        self._span = 0
        self._sums = (0.0, 0.0)

    def look(self, now: int) -> None:
        """See how full they are, if it is time for that."""
        at = self._at
        if at is not None and now < at + LOOK_NANOSECONDS:
            return
        if at is not None and now > at:
            self._span += now - at
            (came, went), (inward, outward) = self._sums, self._seen
            self._sums = came + inward * (now - at), went + outward * (now - at)
        self._at = now
        came = sum(gate.fill for gate in self._gates) / self._inboxes if self._inboxes else 0.0
        went = sum(writer.fill for writer in self._writers) / len(self._writers) if self._writers else 0.0
        self._seen = came, went

    def so_far(self) -> tuple[float, float]:
        """The means since they were taken, of what comes in and of what goes out."""
        span, sums = self._span, self._sums
        return (sums[0] / span, sums[1] / span) if span else self._seen

    def take(self) -> tuple[float, float]:
        """The same, for the last time: they begin again."""
        taken = self.so_far()
        self._span, self._sums = 0, (0.0, 0.0)
        return taken
