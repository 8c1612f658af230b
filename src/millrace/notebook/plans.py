"""Plans of tables as drawings."""

from __future__ import annotations

from millrace.relational.nodes import Rel
from millrace.util.drawing.boxes import Arrow, Box, Drawing


def of_relations(plan: Rel) -> Drawing:
    """The nodes of a query, from its tables to its result. One that is read twice is drawn once."""
    boxes: dict[int, Box] = {}
    arrows: dict[tuple[int, int], Arrow] = {}

    def add(node: Rel) -> None:
        if id(node) in boxes:
            return
        for each in node.inputs:
            add(each)
            arrows[id(each), id(node)] = Arrow(str(id(each)), str(id(node)))
        boxes[id(node)] = Box(str(id(node)), type(node).__name__, tuple(node.details()))

    add(plan)
    return Drawing(tuple(boxes.values()), tuple(arrows.values()))
