"""A drawing as SVG: in the colours of the page that it stands on, without anything from elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from millrace.util.drawing.boxes import Arrow, Box, Drawing
from millrace.util.drawing.layers import layers

_CHARACTER = 6.7
"""of a line, in pixels"""
_LINE = 16
_PADDING = 10
_MOST = 44
"""characters of a line that are shown"""
_BETWEEN = 56
"""pixels between columns"""
_GAP = 18
"""pixels between the boxes of a column"""
_HEAD, _BODY = ' font-weight="bold"', ' opacity="0.75"'
_numbers = itertools.count()
"""Pictures of one page must not share the id of their arrowheads."""


@dataclass(frozen=True)
class _Place:
    left: float
    top: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def svg(drawing: Drawing, title: str = "") -> str:
    """The picture as a text that stands in a page as it is.

    :param title: what screen readers say.
    """
    found = layers(drawing)
    boxes = {box.id: box for box in drawing.boxes}
    places = _places(found.columns, boxes)
    width = max((each.left + each.width for each in places.values()), default=0) + 2
    height = max((each.top + each.height for each in places.values()), default=0) + 2
    head = f"millrace-head-{next(_numbers)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title or "graph", quote=True)}" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="-1 -1 {width:.0f} {height:.0f}" '
        f'style="max-width:100%;height:auto" font-family="ui-monospace,monospace" font-size="11" fill="currentColor">',
        f'<defs><marker id="{head}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z"/></marker></defs>',
    ]
    for index, arrow in enumerate(drawing.arrows):
        parts.append(_arrow(arrow, [places[each] for each in found.ways[index]], head))
    parts += [_box(box, places[box.id]) for box in drawing.boxes]
    return "\n".join([*parts, "</svg>"])


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def _places(columns: tuple[tuple[str, ...], ...], boxes: Mapping[str, Box]) -> dict[str, _Place]:
    found: dict[str, _Place] = {}
    heights = [sum(_height(item, boxes) for item in column) + _GAP * (len(column) - 1) for column in columns]
    left, tallest = 0.0, max(heights, default=0.0)
    for column, height in zip(columns, heights):
        wide = max(_width(item, boxes) for item in column)
        top = (tallest - height) / 2
        for item in column:
            found[item] = _Place(left, top, wide, _height(item, boxes))
            top += _height(item, boxes) + _GAP
        left += wide + _BETWEEN
    return found


def _width(item: str, boxes: Mapping[str, Box]) -> float:
    box = boxes.get(item)
    if box is None:
        return 0.0
    return max(len(_shown(line)) for line in (box.title, *box.lines)) * _CHARACTER + 2 * _PADDING


def _height(item: str, boxes: Mapping[str, Box]) -> float:
    box = boxes.get(item)
    return 4.0 if box is None else (1 + len(box.lines)) * _LINE + _PADDING


def _box(box: Box, at: _Place) -> str:
    whole = "\n".join((box.title, *box.lines))
    lines = [
        f'<text x="{at.left + _PADDING:.1f}" y="{at.top + _LINE * (row + 1):.1f}"'
        f"{_HEAD if row == 0 else _BODY}>{escape(_shown(line))}</text>"
        for row, line in enumerate((box.title, *box.lines))
    ]
    rect = (
        f'<rect x="{at.left:.1f}" y="{at.top:.1f}" width="{at.width:.1f}" height="{at.height:.1f}" rx="5" '
        'fill="currentColor" fill-opacity="0.06" stroke="currentColor" stroke-opacity="0.5"/>'
    )
    return f"<g><title>{escape(whole)}</title>{rect}{''.join(lines)}</g>"


def _arrow(arrow: Arrow, way: list[_Place], head: str) -> str:
    forward = way[0].left <= way[-1].left
    points = []
    for index, at in enumerate(way):
        if index == 0:
            points.append((at.left + at.width if forward else at.left, at.middle))
        elif index == len(way) - 1:
            points.append((at.left if forward else at.left + at.width, at.middle))
        else:
            points += [(at.left, at.middle), (at.left + at.width, at.middle)][:: 1 if forward else -1]
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x, y), (to_x, to_y) in itertools.pairwise(points):
        half = (to_x - x) / 2
        path += f" C{x + half:.1f},{y:.1f} {to_x - half:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}"
    label = ""
    if arrow.label:
        (x, y), (to_x, to_y) = points[0], points[1]
        label = (
            f'<text x="{(x + to_x) / 2:.1f}" y="{(y + to_y) / 2 - 4:.1f}" text-anchor="middle" font-size="9" '
            f'opacity="0.75">{escape(arrow.label)}</text>'
        )
    line = f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.6" marker-end="url(#{head})"/>'
    return f"<g>{line}{label}</g>"
