"""The two clocks that a timer can run on."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Which clock made a timer fire.

        >>> TimeDomain.EVENT_TIME.name
        'EVENT_TIME'
    """

    EVENT_TIME = 0
    """The watermark passed the timer's timestamp."""

    PROCESSING_TIME = 1
    """The wall clock of the task passed it."""
