"""A timeline as a picture: event time to the right, the order of arrival downwards, the watermark as a stepped line."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.testing.timelines.events import Arrival, OperatorTimeline, TimerFired, TimerSet, WindowFired
from millrace.testing.timelines.rows import Axis, Row, axis_of, row_text, rows_of, time_text
from millrace.util.drawing.canvas import CHARACTER, COLOURS, LINE, WRONG, Canvas

_LEFT, _CHART, _GAP = 16, 460, 18
"""margins, width of the chart, distance of the texts from it, in pixels"""
_ROW = 22
_HEAD = 64
"""height of name, key and axis"""
_FOOT = 16
_MOST = 64
"""characters of a text that are shown"""


def picture_of(operators: Sequence[OperatorTimeline]) -> Canvas:
    """One chart below the other."""
    rows = [rows_of(operator.events) for operator in operators]
    longest = max((len(_shown(row)) for each in rows for row in each), default=0)
    width = _LEFT + _CHART + _GAP + max(longest, 20) * CHARACTER + _LEFT
    height = sum(_HEAD + len(each) * _ROW + _FOOT for each in rows)
    canvas = Canvas(width, height, "windows, watermark and timers of " + ", ".join(each.name for each in operators))
    top = 0.0
    for operator, its_rows in zip(operators, rows):
        _chart(canvas, operator, its_rows, top)
        top += _HEAD + len(its_rows) * _ROW + _FOOT
    return canvas


def _shown(row: Row) -> str:
    text = row_text(row)
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def _x(axis: Axis, time: int) -> float:
    return _LEFT + axis.part(time) * _CHART


def _chart(canvas: Canvas, operator: OperatorTimeline, rows: Sequence[Row], top: float) -> None:
    axis = axis_of(operator.events)
    canvas.text(_LEFT, top + LINE, operator.name, bold=True, size=12)
    canvas.text(_LEFT + _CHART, top + LINE, "event time →", anchor="end", opacity=0.75)
    bottom = top + _HEAD + len(rows) * _ROW
    for mark in axis.marks:
        canvas.line([(_x(axis, mark), top + _HEAD - 8), (_x(axis, mark), bottom)], opacity=0.18)
        canvas.text(_x(axis, mark), top + _HEAD - 14, time_text(mark), anchor="middle", size=10, opacity=0.75)
    colours = _colours(rows)
    for number, row in enumerate(rows):
        _draw(canvas, row, axis, top + _HEAD + number * _ROW, colours)
    _watermark(canvas, rows, axis, top + _HEAD)


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    """Of each key, by its text: keys need not be hashable in a picture."""
    keys = dict.fromkeys(repr(row.event.key) for row in rows if isinstance(row.event, (Arrival, WindowFired, TimerSet)))
    return {key: COLOURS[number % len(COLOURS)] for number, key in enumerate(keys)}


def _draw(canvas: Canvas, row: Row, axis: Axis, top: float, colours: dict[str, str]) -> None:
    event, middle, text = row.event, top + _ROW / 2, _shown(row)
    late = isinstance(event, Arrival) and event.late
    key = getattr(event, "key", None)
    colour = WRONG if late else colours.get(repr(key), "currentColor") if event is not None else "currentColor"
    canvas.text(_LEFT + _CHART + _GAP, middle + 4, text, colour if late else "currentColor")
    if isinstance(event, WindowFired):
        start = _LEFT if event.start is None else _x(axis, event.start)
        end = _LEFT + _CHART if event.end is None else _x(axis, event.end)
        held = f"{text}; in it: {', '.join(map(repr, event.elements))}"
        canvas.rect(start, top + 3, max(end - start, 3), _ROW - 6, colour, fill=0.3, stroke=0.9, tip=held)
    elif isinstance(event, Arrival) and event.time is not None:
        mark = canvas.cross if late else canvas.dot
        mark(_x(axis, event.time), middle, colour, tip=f"{text} at {time_text(event.time)}")
    elif isinstance(event, (TimerSet, TimerFired)) and not event.by_clock:
        canvas.diamond(_x(axis, event.time), middle, colour, full=isinstance(event, TimerFired), tip=text)


def _watermark(canvas: Canvas, rows: Sequence[Row], axis: Axis, top: float) -> None:
    points: list[tuple[float, float]] = []
    for number, row in enumerate(rows):
        for time, y in ((row.watermark, top + number * _ROW), (row.watermark, top + (number + 1) * _ROW - 2)):
            if time != MIN_TIMESTAMP and time >= axis.low:
                points.append((_x(axis, time), y))
        if row.then != row.watermark and row.then >= axis.low:
            if not points:
                points.append((_LEFT, top + (number + 1) * _ROW - 2))
            points.append((_x(axis, row.then), top + (number + 1) * _ROW - 2))
    if points:
        canvas.line(points, WRONG, width=1.6, opacity=0.9)
        canvas.text(points[0][0] + 5, top - 2 if points[0][1] <= top else points[0][1] - 4, "watermark", WRONG, size=9)
