"""Drawings of graphs: boxes and arrows as SVG and as text for Mermaid; and a program's plan (JSON) as such a drawing.

Boxes are arranged in columns, so that arrows lead to the right and cross little. The SVG takes the colours of the page
that contains it, and loads nothing.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

# Boxes and arrows


@dataclass(frozen=True)
class Box:
    """A node.

    :ivar title: its first line.
    :ivar lines: the lines below the title.
    """

    id: str
    title: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Arrow:
    """A directed edge between two boxes."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True)
class Drawing:
    """A graph. Arrows whose ends are not among the boxes are errors of the caller.

    :raises ValueError: an arrow begins or ends nowhere, or two boxes have one id.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def __post_init__(self) -> None:
        known = {box.id for box in self.boxes}
        if len(known) < len(self.boxes):
            raise ValueError("two boxes have the same id")
        for arrow in self.arrows:
            if not {arrow.source, arrow.target} <= known:
                raise ValueError(f"an arrow from {arrow.source!r} to {arrow.target!r} has an end that is no box")


# Columns

_SWEEPS = 8


@dataclass(frozen=True)
class Layers:
    """Columns from left to right.

    :ivar columns: each column's ids of boxes, and bends of long arrows, from top to bottom.
    :ivar ways: for each arrow the items that it passes, its ends included.
    """

    columns: tuple[tuple[str, ...], ...]
    ways: Mapping[int, tuple[str, ...]]


def layers(drawing: Drawing) -> Layers:
    """Columns by the longest path from a source; within a column nodes are ordered by the positions of their
    neighbours."""
    onward = _without_circles(drawing)
    ranks = _ranks([box.id for box in drawing.boxes], onward)
    columns: list[list[str]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for box in drawing.boxes:
        columns[ranks[box.id]].append(box.id)
    ways = {}
    for index, arrow in enumerate(onward):
        bends = [f"\n{index} {rank}" for rank in range(ranks[arrow.source] + 1, ranks[arrow.target])]
        for bend, rank in zip(bends, range(ranks[arrow.source] + 1, ranks[arrow.target])):
            columns[rank].append(bend)
        way = (arrow.source, *bends, arrow.target)
        ways[index] = way if arrow is drawing.arrows[index] else way[::-1]
    _order(columns, ways.values(), ranks)
    return Layers(tuple(map(tuple, columns)), ways)


def _without_circles(drawing: Drawing) -> Sequence[Arrow]:
    """The arrows without cycles: those that would close one are reversed."""
    following: dict[str, list[str]] = defaultdict(list)
    for arrow in drawing.arrows:
        following[arrow.source].append(arrow.target)
    done: set[str] = set()
    back: set[tuple[str, str]] = set()
    for box in drawing.boxes:
        way: dict[str, None] = {}
        stack = [(box.id, iter(following[box.id]))] if box.id not in done else []
        if stack:
            way[box.id] = None
        while stack:
            here, targets = stack[-1]
            for target in targets:
                if target in way:
                    back.add((here, target))
                elif target not in done:
                    way[target] = None
                    stack.append((target, iter(following[target])))
                    break
            else:
                done.add(here)
                del way[here]
                stack.pop()
    return [
        Arrow(each.target, each.source, each.label) if (each.source, each.target) in back else each
        for each in drawing.arrows
    ]


def _ranks(ids: Sequence[str], arrows: Sequence[Arrow]) -> dict[str, int]:
    ranks = dict.fromkeys(ids, 0)
    for _ in ids:
        changed = False
        for arrow in arrows:
            if arrow.source != arrow.target and ranks[arrow.target] <= ranks[arrow.source]:
                ranks[arrow.target] = ranks[arrow.source] + 1
                changed = True
        if not changed:
            break
    return ranks


def _order(columns: list[list[str]], ways: Iterable[Sequence[str]], ranks: Mapping[str, int]) -> None:
    before: dict[str, list[str]] = defaultdict(list)
    after: dict[str, list[str]] = defaultdict(list)
    for way in ways:
        steps = way if ranks.get(way[0], 0) <= ranks.get(way[-1], 0) else way[::-1]
        for left, right in pairwise(steps):
            before[right].append(left)
            after[left].append(right)
    for sweep in range(_SWEEPS):
        neighbours = after if sweep % 2 else before
        for column in reversed(columns) if sweep % 2 else columns:
            places = {item: place for each in columns for place, item in enumerate(each)}
            column.sort(key=lambda item: _middle(item, neighbours[item], places))


def _middle(item: str, neighbours: Sequence[str], places: Mapping[str, int]) -> float:
    return sum(places[each] for each in neighbours) / len(neighbours) if neighbours else places[item]


# SVG

_CHARACTER = 6.7
"""width of a character in a box (pixels)"""
_LINE = 16
_PADDING = 10
_MOST = 44
"""longest line that is shown (characters)"""
_BETWEEN = 56
"""pixels between columns"""
_GAP = 18
"""pixels between the boxes of a column"""
_HEAD, _BODY = ' font-weight="bold"', ' opacity="0.75"'
_numbers = itertools.count()
"""Numbers for ids of arrowheads, which must be unique on a page."""


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


# Mermaid

_MEANT = {"&": "#38;", '"': "#34;", "<": "#60;", ">": "#62;", "`": "#96;", "#": "#35;", "|": "#124;"}


def mermaid(drawing: Drawing) -> str:
    """The text of a flow chart from left to right."""
    names = {box.id: f"n{index}" for index, box in enumerate(drawing.boxes)}
    lines = ["flowchart LR"]
    for box in drawing.boxes:
        text = "<br/>".join(map(_escaped, (box.title, *box.lines)))
        lines.append(f'    {names[box.id]}["{text}"]')
    for arrow in drawing.arrows:
        label = f'|"{_escaped(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {names[arrow.source]} -->{label} {names[arrow.target]}")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return "".join(_MEANT.get(each, each) for each in " ".join(text.split()))


# Plans of programs


def drawing_of_plan(text: str) -> Drawing:
    """The drawing of a plan that ``get_execution_plan`` returns: operators, and how records are exchanged between
    them."""
    nodes = json.loads(text)["nodes"]
    boxes = [Box(str(node["id"]), _short(node["contents"]), (f"parallelism {node['parallelism']}",)) for node in nodes]
    arrows = [
        Arrow(str(each["id"]), str(node["id"]), each["ship_strategy"].lower())
        for node in nodes
        for each in node.get("predecessors", ())
    ]
    loops = [node for node in nodes if "feeds_back_to" in node]
    arrows += [Arrow(str(node["id"]), str(node["feeds_back_to"]), "feedback") for node in loops]
    return Drawing(tuple(boxes), tuple(arrows))


def _short(contents: str) -> str:
    return contents.removeprefix("Source: ") or contents
