"""Where the boxes of a drawing stand: in columns, so that arrows lead to the right and cross little."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from millrace.util.drawing.boxes import Arrow, Drawing

_SWEEPS = 8


@dataclass(frozen=True)
class Layers:
    """Columns from left to right.

    :ivar columns: in each the ids of boxes and the bends of long arrows, from top to bottom.
    :ivar ways: for each arrow the items that it goes through, its ends included.
    """

    columns: tuple[tuple[str, ...], ...]
    ways: Mapping[int, tuple[str, ...]]


def layers(drawing: Drawing) -> Layers:
    """Columns by the longest way from a beginning; the order in them by where neighbours stand."""
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
    """The arrows, those turned round that would close a circle."""
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
