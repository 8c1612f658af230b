"""Pictures on the documentation site stand in their page."""

from __future__ import annotations

from pathlib import Path

from scripts.site_pages.pictures import inline


def test_a_picture_of_ours_stands_in_the_page(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/a-b.svg").write_text("<svg>\n<style>svg { color: red }</style>\n<rect/>\n</svg>\n")
    (tmp_path / "concepts").mkdir()
    page = "before\n\n![a drawing](../pictures/a-b.svg)\n\nafter ![other](https://example.com/x.svg)\n"
    assert inline(page, tmp_path / "concepts/time.md") == (
        "before\n\n<figure>\n<svg>\n<rect/>\n</svg>\n<figcaption>a drawing</figcaption>\n</figure>\n\n"
        "after ![other](https://example.com/x.svg)\n"
    )
