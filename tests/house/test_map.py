"""The generated parts of docs/architecture.md. That they are as the source is now says `make lint`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from scripts.house import map as house_map
from scripts.house.layers import ALLOWED
from scripts.house.map import PAGE, PARTS, floors, stale_map, with_parts
from scripts.house.tree import SOURCE, Module

TEXT = PAGE.read_text("utf-8")
MODULES: Mapping[str, Module] = {}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with two parts, of which one is stale, and one that nothing is missing in."""
    monkeypatch.setattr(house_map, "PARTS", {"one": lambda _: "1\n", "two": lambda _: "2\n"})
    monkeypatch.setattr(house_map, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(house_map, "read_tree", lambda: MODULES)
    monkeypatch.setattr(house_map, "specs_without_methods", set)
    monkeypatch.setattr(house_map, "nodes_without_words", lambda _: set())
    text = "A\n<!-- one -->\n\n1\n\n<!-- end of one -->\nB\n<!-- two -->\n\n3\n\n<!-- end of two -->\n"
    (tmp_path / "page.md").write_text(text, "utf-8")
    return tmp_path / "page.md"


def test_a_stale_part_is_noticed_and_written_again(page: Path) -> None:
    (line,) = stale_map(MODULES)
    assert "run `make tables`" in line
    text = page.read_text("utf-8")
    house_map.main()
    assert page.read_text("utf-8") == text.replace("3", "2")
    assert list(stale_map(MODULES)) == []


def test_what_no_table_names_is_noticed(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house_map.main()
    monkeypatch.setattr(house_map, "specs_without_methods", lambda: {"Map", "Cache"})
    monkeypatch.setattr(house_map, "nodes_without_words", lambda _: {"Join"})
    assert [line.partition(":")[2].partition(":")[0] for line in stale_map(MODULES)] == [" Cache, Map", " Join"]


def test_a_page_without_a_place_is_refused(page: Path) -> None:
    text = page.read_text("utf-8").replace("<!-- end of two -->", "")
    with pytest.raises(ValueError, match="0 places for two"):
        with_parts(text, MODULES)


def test_each_package_has_a_line_of_the_layers() -> None:
    assert [name for name in ALLOWED if name not in ("", "__main__") and f"| `{name}` |" not in TEXT] == []
    assert set(PARTS) == {"layers", "folders", "streams", "clauses"}


def test_each_folder_has_a_line() -> None:
    folders = (file.parent.relative_to(SOURCE) for file in SOURCE.rglob("__init__.py"))
    assert [each for each in folders if len(each.parts) > 1 and f"    {each.as_posix()}/ " not in TEXT] == []


def test_a_row_leads_from_the_method_to_the_test() -> None:
    (row,) = (line for line in TEXT.splitlines() if line.startswith("| `interval_join` |"))
    for name in ("IntervalJoined.process", "joins.py", "IntervalJoinOperator", "test_interval_join.py"):
        assert name in row


def test_floors() -> None:
    arrows = {"a": {"b": "", "c": ""}, "b": {"d": ""}, "c": {"b": ""}, "d": {}, "e": {"f": ""}, "f": {"e": "", "d": ""}}
    assert floors(arrows) == {"a": 3, "c": 2, "b": 1, "d": 0, "e": 1, "f": 1}
