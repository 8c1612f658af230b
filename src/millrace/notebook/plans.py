"""Plans of tables and streams as drawings."""

from __future__ import annotations

import json

from millrace.relational.nodes import Rel
from millrace.util.drawing.boxes import Arrow, Box, Drawing


def of_plan_json(text: str) -> Drawing:
    """What ``get_execution_plan`` gives: operators, with how elements travel between them."""
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
