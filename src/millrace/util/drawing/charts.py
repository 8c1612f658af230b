"""Values over time as lines: a chart for each, one below the other, on one axis of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from millrace.util.drawing.canvas import COLOURS, LINE, Canvas

_LEFT, _WIDE, _RIGHT = 12, 560, 96
_HIGH = 84
"""height of the area of a line, in pixels"""
_TITLE, _GAP, _AXIS = 24, 14, 22
_ABOVE = 1.15
"""the highest value has so much room"""


@dataclass(frozen=True)
class Course:
    """A value over time.

    :ivar unit: what stands behind a number: ``"ms"``.
    :ivar points: (moment in ms since the epoch, value), in the order of time; values are 0 or more.
    """

    title: str
    unit: str
    points: tuple[tuple[int, float], ...]


def charts(courses: Sequence[Course], title: str) -> Canvas:
    """The courses that have points, from the first moment of all to the last, in UTC.

    :raises ValueError: none has two points.
    """
    shown = [course for course in courses if course.points]
    moments = [moment for course in shown for moment, _ in course.points]
    if len(set(moments)) < 2:
        raise ValueError("there are no two moments to draw a line between")
    first, last = min(moments), max(moments)
    height = len(shown) * (_TITLE + _HIGH + _GAP) + _AXIS
    canvas = Canvas(_LEFT + _WIDE + _RIGHT, height, title)
    for number, course in enumerate(shown):
        top = number * (_TITLE + _HIGH + _GAP) + _TITLE
        _chart(canvas, course, top, first, last, COLOURS[number % len(COLOURS)])
    for moment, anchor, x in ((first, "start", _LEFT), (last, "end", _LEFT + _WIDE)):
        canvas.text(x, height - 6, f"{datetime.fromtimestamp(moment / 1000, timezone.utc):%H:%M:%S}", anchor=anchor)
    return canvas


def _chart(canvas: Canvas, course: Course, top: float, first: int, last: int, colour: str) -> None:
    most = max(value for _, value in course.points)
    canvas.text(_LEFT, top - 8, course.title, bold=True)
    canvas.rect(_LEFT, top, _WIDE, _HIGH, fill=0.02, stroke=0.25)
    scale = _HIGH / (most * _ABOVE or 1)
    points = [
        (_LEFT + (moment - first) / (last - first) * _WIDE, top + _HIGH - value * scale)
        for moment, value in course.points
    ]
    canvas.line(points, colour, width=1.6)
    canvas.dot(*points[-1], colour, radius=2.5)
    newest = course.points[-1][1]
    canvas.text(_LEFT + _WIDE + 8, top + _HIGH, f"now {_number(newest)} {course.unit}", size=10)
    canvas.text(_LEFT + _WIDE + 8, top + _HIGH - LINE, f"max {_number(most)} {course.unit}", size=10, opacity=0.75)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
