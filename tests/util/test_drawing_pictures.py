"""Drawings as SVG and as Mermaid."""

from __future__ import annotations

from xml.etree import ElementTree

from millrace.util.graph_drawing import Arrow, Box, Drawing, mermaid, svg

ODD = '<script>alert("1")</script> & `x` #1 a|b'
DRAWING = Drawing(
    (Box("1", "Source", (ODD,)), Box("2", "Map"), Box("3", "Sink", ("parallelism 2", "x" * 100))),
    (Arrow("1", "2", "forward"), Arrow("2", "3", "hash"), Arrow("3", "2", "feedback")),
)
_SVG = "{http://www.w3.org/2000/svg}"


def test_every_box_and_arrow_is_in_the_picture() -> None:
    picture = ElementTree.fromstring(svg(DRAWING, "a <plan>"))
    assert picture.get("aria-label") == "a <plan>"
    titles = [each.text or "" for each in picture.iter(f"{_SVG}title")]
    assert [title.split("\n")[0] for title in titles] == ["Source", "Map", "Sink"]
    assert ODD in titles[0] and "x" * 100 in titles[2]
    lines = [each for each in picture.iter(f"{_SVG}path") if each.get("marker-end")]
    assert len(lines) == 3
    sizes = ("x", "y", "width", "height")
    boxes = [{key: float(each.get(key, "")) for key in sizes} for each in picture.iter(f"{_SVG}rect")]
    width, height = (float(picture.get(key, "")) for key in ("width", "height"))
    assert all(box["x"] + box["width"] <= width and box["y"] + box["height"] <= height for box in boxes)
    assert boxes[0]["x"] + boxes[0]["width"] < boxes[1]["x"]


def test_nothing_of_a_name_is_taken_for_a_tag() -> None:
    assert "<script" not in svg(DRAWING)


def test_two_pictures_of_a_page_have_arrowheads_of_their_own() -> None:
    pictures = [ElementTree.fromstring(svg(DRAWING)) for _ in range(2)]
    heads = [each.get("id") for picture in pictures for each in picture.iter(f"{_SVG}marker")]
    assert len(set(heads)) == 2


def test_mermaid() -> None:
    assert mermaid(DRAWING).splitlines() == [
        "flowchart LR",
        '    n0["Source<br/>#60;script#62;alert(#34;1#34;)#60;/script#62; #38; #96;x#96; #35;1 a#124;b"]',
        '    n1["Map"]',
        f'    n2["Sink<br/>parallelism 2<br/>{"x" * 100}"]',
        '    n0 -->|"forward"| n1',
        '    n1 -->|"hash"| n2',
        '    n2 -->|"feedback"| n1',
    ]
