"""Charts as SVG: values over time as lines, one chart below the other, on one axis of time.

``Canvas`` draws the shapes and texts of charts and diagrams.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape

CHARACTER = 6.7
"""width of a letter of size 11, in pixels"""
LINE = 16
"""height of a line of text, in pixels"""
COLOURS = ("#2f81d6", "#c2720c", "#1a9367", "#a35bd6", "#b7950b", "#0e95a8")
"""colours of different series; readable on white and on black"""
WRONG = "#d64545"
"""colour of late, lost or failed items"""

_DARK = "<style>@media (prefers-color-scheme: dark) { svg { color: #d5d8de } }</style>"


class Canvas:
    """A picture being drawn.

    Coordinates are pixels from the upper left corner. Lines and texts have the colour of the text around the picture,
    or one of :data:`COLOURS`. The same calls give the same text.
    """

    def __init__(self, width: float, height: float, title: str) -> None:
        """:param title: what screen readers say."""
        self.width = width
        self.height = height
        self.title = title
        self._parts: list[str] = []

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str = "currentColor",
        *,
        fill: float = 0.08,
        stroke: float = 0.6,
        dashed: bool = False,
        tip: str = "",
    ) -> None:
        """A box with round corners.

        :param fill: how opaque it is inside, ``stroke`` its border; from 0 to 1.
        :param tip: what is shown when the mouse is on it.
        """
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self._add(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" fill="{colour}" '
            f'fill-opacity="{fill:g}" stroke="{colour}" stroke-opacity="{stroke:g}"{dash}',
            "rect",
            tip,
        )

    def line(
        self,
        points: Sequence[tuple[float, float]],
        colour: str = "currentColor",
        *,
        width: float = 1,
        opacity: float = 1,
        dashed: bool = False,
        arrow: bool = False,
    ) -> None:
        """A line through points; with ``arrow`` its end has a head."""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
            f'stroke-opacity="{opacity:g}" stroke-linejoin="round"{dash}/>'
        )
        if arrow:
            self._head(points[-2], points[-1], colour, opacity)

    def _head(self, before: tuple[float, float], at: tuple[float, float], colour: str, opacity: float) -> None:
        dx, dy = at[0] - before[0], at[1] - before[1]
        length = (dx * dx + dy * dy) ** 0.5 or 1
        dx, dy = dx / length * 7, dy / length * 7
        sides = [at, (at[0] - dx - dy / 2, at[1] - dy + dx / 2), (at[0] - dx + dy / 2, at[1] - dy - dx / 2)]
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in sides)
        self._parts.append(f'<polygon points="{places}" fill="{colour}" fill-opacity="{opacity:g}"/>')

    def dot(self, x: float, y: float, colour: str = "currentColor", *, radius: float = 4.5, tip: str = "") -> None:
        """A full circle."""
        self._add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"', "circle", tip)

    def cross(self, x: float, y: float, colour: str = WRONG, *, radius: float = 4.5, tip: str = "") -> None:
        """An x: marks late or lost items."""
        r = radius
        path = f"M{x - r:.1f},{y - r:.1f} l{2 * r:g},{2 * r:g} M{x - r:.1f},{y + r:.1f} l{2 * r:g},{-2 * r:g}"
        self._add(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.2"', "path", tip)

    def diamond(self, x: float, y: float, colour: str, *, full: bool, radius: float = 5, tip: str = "") -> None:
        """A square on its corner: empty for a set timer, full for a fired one."""
        r = radius
        path = f"M{x:.1f},{y - r:.1f} l{r:g},{r:g} l{-r:g},{r:g} l{-r:g},{-r:g} z"
        inside = colour if full else "none"
        self._add(f'<path d="{path}" fill="{inside}" stroke="{colour}" stroke-width="1.4"', "path", tip)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: str = "currentColor",
        *,
        anchor: str = "start",
        size: float = 11,
        bold: bool = False,
        opacity: float = 1,
    ) -> None:
        """One line of text, whose base line is at ``y``.

        :param anchor: what of it is at ``x``: ``start``, ``middle`` or ``end``.
        """
        weight = ' font-weight="bold"' if bold else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" font-size="{size:g}" '
            f'fill-opacity="{opacity:g}"{weight}>{escape(" ".join(text.split()))}</text>'
        )

    def texts(self, x: float, y: float, lines: Iterable[str], **how: str | float) -> None:
        """Lines below each other."""
        for number, line in enumerate(lines):
            self.text(x, y + number * LINE, line, **how)  # type: ignore[arg-type]

    def _add(self, opened: str, element: str, tip: str) -> None:
        self._parts.append(
            f"{opened}><title>{escape(' '.join(tip.split()))}</title></{element}>" if tip else f"{opened}/>"
        )

    def svg(self, alone: bool = False) -> str:
        """The picture as a text that stands in a page as it is.

        :param alone: whether it is a file of its own, which has no page to take its colour from.
        """
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(self.title, quote=True)}" '
            f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            'style="max-width:100%;height:auto" font-family="ui-monospace,monospace" fill="currentColor">'
        )
        return "\n".join([head, *([_DARK] if alone else []), *self._parts, "</svg>"])


_LEFT, _WIDE, _RIGHT = 12, 560, 96
_HIGH = 84
"""height of the area of a line, in pixels"""
_TITLE, _GAP, _AXIS = 24, 14, 22
_ABOVE = 1.15
"""Height of the axis as a multiple of the highest value."""


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
