"""Scripts taken apart: windows don't know of each other, so each has its own elements, and all share the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st
from tests.runtime.windows.window_oracle import MIN
from tests.runtime.windows.windowing import MAX, watermarks_of

from millrace.datastream.window import GlobalWindow
from millrace.testing import Element, EndInput, ProcessingTime, Record, Step, WatermarkStep


class Event(NamedTuple):
    """What a window sees of one step."""

    place: int
    value: Any
    """the element; None if time moved on"""
    timestamp: int
    watermark: int
    clock: int


class Fired(NamedTuple):
    place: int
    time: int
    """the timer, in its domain; firings of one step are in this order"""
    contents: list[Any]
    timestamp: int | None
    """that of the cause"""


Naive = Callable[[list[Event], int], Iterator[Fired]]
"""(what a window sees, its last timestamp) -> its firings"""


@st.composite
def with_clock(draw: st.DrawFn) -> list[Step]:
    """Elements out of order, watermarks, and a clock that both move on now and then."""
    script: list[Step] = []
    now = clock = 0
    for number in range(draw(st.integers(1, 16))):
        what = draw(st.integers(0, 6))
        if what == 0:
            now += draw(st.integers(0, 15))
            script.append(WatermarkStep(now))
        elif what == 1:
            clock += draw(st.integers(1, 15))
            script.append(ProcessingTime(clock))
        else:
            value = (draw(st.integers(0, 1)), draw(st.integers(0, 9)), number)
            script.append(Element(value, now + draw(st.integers(-12, 12))))
    return [*script, EndInput()]


def taken_apart(script: Sequence[Step], windows_of: Any, lateness: int) -> dict[tuple[Any, Any], list[Event]]:
    """key and window -> what the window sees, until it is dropped."""
    clock, watermark, seen = 0, MIN, dict[tuple[Any, Any], list[Event]]()
    for place, step in enumerate(script):
        if isinstance(step, Element):
            for span in [GlobalWindow()] if windows_of is None else windows_of(step.timestamp):
                if windows_of is None or watermark < span[1] - 1 + lateness:
                    at = (step.value[0], span)
                    seen.setdefault(at, []).append(Event(place, step.value, step.timestamp or 0, watermark, clock))
            continue
        if isinstance(step, ProcessingTime):
            clock = step.now
        else:
            watermark = max(watermark, step.timestamp if isinstance(step, WatermarkStep) else MAX)
        for events in seen.values():
            events.append(Event(place, None, watermark, watermark, clock))
    return seen


def expected_of(script: Sequence[Step], windows_of: Any, naive: Naive, lateness: int = 0) -> list[list[Record]]:
    """Per step what ``Show`` gives; ``windows_of`` is None for one window that holds all."""
    fired: list[list[tuple[int, Record]]] = [[] for _ in script]
    marks = watermarks_of(script)
    for (key, span), events in taken_apart(script, windows_of, lateness).items():
        last = MAX if windows_of is None else span[1] - 1
        for place, time, contents, timestamp in naive(events, last):
            value = (key, span, tuple(contents), marks[place])
            fired[place].append((time, Record(value, timestamp if last == MAX else last)))
    return [[record for _, record in sorted(records, key=lambda pair: pair[0])] for records in fired]


def by_window(records: Sequence[Record]) -> dict[Any, list[Record]]:
    """The order counts within a key and window."""
    found: dict[Any, list[Record]] = {}
    for record in records:
        found.setdefault(record.value[:2], []).append(record)
    return found
