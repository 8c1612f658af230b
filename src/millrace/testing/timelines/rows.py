"""A timeline as rows, one below the other, on an axis of event time: what text and picture have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP
from millrace.runtime.failure import shorten
from millrace.testing.timelines.events import Arrival, Event, TimerFired, TimerSet, WatermarkMoved, WindowFired

_STEPS = tuple(
    base * unit
    for unit, bases in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1000, (1, 2, 5, 10, 20, 30)),
        (60_000, (1, 2, 5, 10, 20, 30)),
        (3_600_000, (1, 2, 3, 6, 12)),
        (86_400_000, (1, 2, 5, 10, 30, 100, 365, 3650)),
    )
    for base in bases
)
"""distances of marks on the axis, in ms"""
_MARKS = 6
"""the most of them"""
_DATES_FROM = 100_000_000_000
"""times from here on (ms; the year 1973) are shown as dates, those before as a number of seconds"""


@dataclass(frozen=True)
class Row:
    """One line.

    :ivar event: None for the end of the input.
    :ivar watermark: before it (ms).
    :ivar then: the watermark after it.
    """

    event: Event | None
    watermark: int
    then: int


@dataclass(frozen=True)
class Axis:
    """The stretch of event time that is shown (ms), and its marks."""

    low: int
    high: int
    step: int

    @property
    def marks(self) -> list[int]:
        return list(range(self.low, self.high + 1, self.step))

    def part(self, time: int) -> float:
        """Where a time is: from 0 to 1; times beyond the ends are at the ends."""
        return (min(max(time, self.low), self.high) - self.low) / (self.high - self.low)


def axis_of(events: Sequence[Event]) -> Axis:
    """One that shows all elements, windows and timers of event time."""
    times = [time for event in events for time in _times(event)] or [0]
    low, high = min(times), max(times)
    step = next((step for step in _STEPS if (high - low) / step <= _MARKS), _STEPS[-1])
    low -= low % step
    return Axis(low, max(high + -high % step, low + step), step)


def _times(event: Event) -> Iterator[int]:
    if isinstance(event, Arrival) and event.time is not None:
        yield event.time
    elif isinstance(event, WindowFired) and event.start is not None and event.end is not None:
        yield from (event.start, event.end)
    elif isinstance(event, (TimerSet, TimerFired)) and not event.by_clock and abs(event.time) < MAX_WATERMARK // 2:
        yield event.time


def rows_of(events: Sequence[Event]) -> list[Row]:
    """A row for everything but the watermarks, which move between them."""
    rows: list[Row] = []
    watermark = MIN_TIMESTAMP
    for event in events:
        if not isinstance(event, WatermarkMoved):
            rows.append(Row(event, watermark, watermark))
        elif event.time == MAX_WATERMARK or not rows:
            rows.append(Row(None, watermark, event.time))
        else:
            rows[-1] = Row(rows[-1].event, rows[-1].watermark, event.time)
        watermark = rows[-1].then
    return rows


def time_text(time: int) -> str:
    """A time as people read it."""
    if time >= _DATES_FROM:
        moment = datetime.fromtimestamp(time / 1000, timezone.utc)
        return f"{moment:%H:%M:%S}" + (f".{time % 1000:03}" if time % 1000 else "")
    for millis, unit in ((3_600_000, "h"), (60_000, "min"), (1000, "s")):
        if time and time % millis == 0:
            return f"{time // millis} {unit}"
    return f"{time / 1000:g} s" if time else "0"


def row_text(row: Row) -> str:
    """What a row tells."""
    event = row.event
    if event is None:
        return "end of input" if row.then == MAX_WATERMARK else f"watermark {time_text(row.then)}"
    if isinstance(event, Arrival):
        return shorten(event.value) + (", LATE" if event.late else "")
    if isinstance(event, WindowFired):
        results = ", ".join(map(shorten, event.results)) or "nothing"
        return f"window{_of(event.key)} fires: {results}"
    assert isinstance(event, (TimerSet, TimerFired))
    what = "fires" if isinstance(event, TimerFired) else "is deleted" if event.deleted else "is set"
    return f"timer{_of(event.key)} {'of the clock' if event.by_clock else 'for ' + time_text(event.time)} {what}"


def _of(key: object) -> str:
    return "" if key is None else f" of {shorten(key)}"
