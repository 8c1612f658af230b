"""How fast a generator source may emit."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RateLimiterStrategy"]


@dataclass(frozen=True)
class RateLimiterStrategy:
    """A limit over all subtasks together; make one with ``no_op``, ``per_second`` or ``per_checkpoint``."""

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
