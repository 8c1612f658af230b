"""The pictures of the documentation are what their script draws, and can be read anywhere."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from scripts.draw_pictures import COMMAND, PICTURES, TARGET

PAGES = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", PICTURES)
def test_the_picture_is_up_to_date(name: str) -> None:
    assert (TARGET / name).read_text("utf-8") == PICTURES[name]() + "\n", f"run `{COMMAND}` and look at what changed"


@pytest.mark.parametrize("name", PICTURES)
def test_texts_lie_within_the_picture(name: str) -> None:
    root = ET.parse(TARGET / name).getroot()
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        wide = len(text.text or "") * float(text.get("font-size", 11)) * 0.61
        x, y = float(text.get("x", 0)), float(text.get("y", 0))
        left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor", "start")]
        assert left >= -1, text.text
        assert left + wide <= width + 1, text.text
        assert 0 < y <= height, text.text


def test_no_picture_is_left_over_and_each_is_shown() -> None:
    assert {path.name for path in TARGET.iterdir()} == set(PICTURES)
    pages = "".join(page.read_text("utf-8") for page in PAGES.glob("**/*.md"))
    assert {name for name in PICTURES if f"pictures/{name})" not in pages} == set()
