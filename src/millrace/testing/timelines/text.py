"""A timeline for terminals."""

from __future__ import annotations

from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.testing.timelines.events import Arrival, OperatorTimeline, TimerFired, TimerSet, WindowFired
from millrace.testing.timelines.rows import Axis, Row, axis_of, row_text, rows_of, time_text

LEGEND = "o element   x late   | watermark   [==) window that fires   t timer set or deleted   T timer fires"
_LEAST = 60
_SHARE = 0.42
"""of a line that is the chart"""


def text_of(operator: OperatorTimeline, width: int) -> str:
    """A line for each element, window and timer, each at its place in event time."""
    width = max(width, _LEAST)
    axis, places = axis_of(operator.events), int(width * _SHARE)
    lines = [operator.name, LEGEND, "", *(line.rstrip() for line in _head(axis, places))]
    for row in rows_of(operator.events):
        line = f"{_chart(row, axis, places)}  {row_text(row)}"
        lines.append(line if len(line) <= width else line[: width - 1] + "…")
    return "\n".join(lines)


def _place(axis: Axis, places: int, time: int) -> int:
    return round(axis.part(time) * (places - 1))


def _head(axis: Axis, places: int) -> list[str]:
    labels, ticks = [" "] * (places + 12), [" "] * places
    free = 0
    for mark in axis.marks:
        at, label = _place(axis, places, mark), time_text(mark)
        ticks[at] = "'"
        if at >= free:
            labels[at : at + len(label)] = label
            free = at + len(label) + 1
    return ["".join(labels), "".join(ticks)]


def _chart(row: Row, axis: Axis, places: int) -> str:
    cells = [" "] * places
    event = row.event
    if row.watermark != MIN_TIMESTAMP and row.watermark >= axis.low:
        cells[_place(axis, places, row.watermark)] = "|"
    if isinstance(event, WindowFired):
        start = 0 if event.start is None else _place(axis, places, event.start)
        end = places - 1 if event.end is None else _place(axis, places, event.end)
        cells[start : end + 1] = "[" + "=" * (end - start - 1) + ")"
    if isinstance(event, Arrival) and event.time is not None:
        cells[_place(axis, places, event.time)] = "x" if event.late else "o"
    elif isinstance(event, (TimerSet, TimerFired)) and not event.by_clock:
        cells[_place(axis, places, event.time)] = "T" if isinstance(event, TimerFired) else "t"
    return "".join(cells)
