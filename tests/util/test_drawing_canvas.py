"""Shapes by their places: well-formed SVG, the same for the same calls."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from millrace.util.charts import Canvas

SVG = "{http://www.w3.org/2000/svg}"


def drawn() -> Canvas:
    canvas = Canvas(100, 50, 'a "title" & more')
    canvas.rect(1, 2, 30, 10, tip="<a box>")
    canvas.line([(0, 0), (10, 0)], arrow=True)
    canvas.dot(5, 5)
    canvas.cross(6, 6, tip="late")
    canvas.diamond(7, 7, "#123456", full=False)
    canvas.texts(1, 40, ["a < b", "two\nlines"], anchor="middle")
    return canvas


def test_shapes_and_texts() -> None:
    root = ET.fromstring(drawn().svg())
    assert root.get("aria-label") == 'a "title" & more'
    assert [each.tag.removeprefix(SVG) for each in root] == [
        "rect", "polyline", "polygon", "circle", "path", "path", "text", "text",
    ]  # fmt: skip
    assert [title.text for title in root.iter(f"{SVG}title")] == ["<a box>", "late"]
    first, second = root.findall(f"{SVG}text")
    assert (first.text, second.text) == ("a < b", "two lines")
    assert float(second.get("y", 0)) - float(first.get("y", 0)) == 16


def test_an_arrow_points_where_its_line_ends() -> None:
    canvas = Canvas(20, 20, "arrow")
    canvas.line([(0, 5), (10, 5)], arrow=True)
    (head,) = ET.fromstring(canvas.svg()).findall(f"{SVG}polygon")
    corners = [tuple(map(float, corner.split(","))) for corner in head.get("points", "").split()]
    assert corners[0] == (10, 5)
    assert {x for x, _ in corners[1:]} == {3}


def test_the_same_calls_give_the_same_text() -> None:
    assert drawn().svg() == drawn().svg()
    assert drawn().svg(alone=True) != drawn().svg()
