"""The plan of a program as a picture."""

from __future__ import annotations

import json

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
