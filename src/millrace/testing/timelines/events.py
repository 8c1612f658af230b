"""What an operator with windows or timers has gone through, as data. All times are ms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Arrival:
    """An element has come.

    :ivar time: its event time, None for an element without.
    :ivar late: whether it was in no window any more, and so was dropped or went to the side output for late elements.
    """

    key: Any
    value: Any
    time: int | None
    late: bool


@dataclass(frozen=True)
class WatermarkMoved:
    """The operator's watermark has come to ``time``; ``MAX_WATERMARK`` at the end of the input."""

    time: int


@dataclass(frozen=True)
class WindowFired:
    """The window function was called.

    :ivar start: when the window begins, None for one that is not of time (global windows, windows of a count).
    :ivar end: when it ends; that moment is not part of it.
    :ivar elements: what was in it. Of a window that keeps only what its elements are folded to (``reduce``,
        ``aggregate``) those of its key that fit by their times; of a window of a count nothing then.
    :ivar results: what the function gave.
    """

    key: Any
    start: int | None
    end: int | None
    elements: tuple[Any, ...]
    results: tuple[Any, ...]


@dataclass(frozen=True)
class TimerSet:
    """A timer was set, or deleted, for a key.

    :ivar by_clock: whether it is one of processing time.
    """

    key: Any
    time: int
    by_clock: bool
    deleted: bool = False


@dataclass(frozen=True)
class TimerFired:
    """``on_timer`` was called."""

    key: Any
    time: int
    by_clock: bool


Event = Arrival | WatermarkMoved | WindowFired | TimerSet | TimerFired


@dataclass(frozen=True)
class OperatorTimeline:
    """One subtask of an operator.

    :ivar name: the operator's, with its subtask if there are several: ``"windows (1/2)"``.
    :ivar events: in their order.
    """

    name: str
    events: tuple[Event, ...]

    @property
    def late(self) -> tuple[Arrival, ...]:
        """The elements that came too late."""
        return tuple(event for event in self.events if isinstance(event, Arrival) and event.late)

    @property
    def fired(self) -> tuple[WindowFired, ...]:
        """The windows, in the order in which they fired."""
        return tuple(event for event in self.events if isinstance(event, WindowFired))
