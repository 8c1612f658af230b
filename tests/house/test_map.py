"""The generated parts of docs/architecture.md: as the source is now, and complete."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.house import map as house_map
from scripts.house.finder import nodes_without_words, specs_without_methods, streams
from scripts.house.layers import ALLOWED
from scripts.house.map import COMMAND, PAGE, PARTS, floors, folders, layers, with_parts
from scripts.house.tree import Module


def test_the_page_is_up_to_date(modules: dict[str, Module]) -> None:
    page = PAGE.read_text("utf-8")
    assert page == with_parts(page, modules), f"run `{COMMAND}` and look at what changed"


def test_a_stale_part_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modules: dict[str, Module]
) -> None:
    page = PAGE.read_text("utf-8")
    stale = tmp_path / "page.md"
    stale.write_text(page.replace("| `common` |", "| `older` |"), "utf-8")
    monkeypatch.setattr(house_map, "PAGE", stale)
    monkeypatch.setattr(house_map, "read_tree", lambda: modules)
    assert stale.read_text("utf-8") != page
    house_map.main()
    assert stale.read_text("utf-8") == page


def test_a_page_without_a_place_is_refused(modules: dict[str, Module]) -> None:
    page = PAGE.read_text("utf-8").replace("<!-- end of folders -->", "")
    with pytest.raises(ValueError, match="0 places for folders"):
        with_parts(page, modules)


def test_each_package_has_a_line_of_the_layers(modules: dict[str, Module]) -> None:
    found = layers(modules)
    assert [name for name in ALLOWED if name not in ("", "__main__") and f"| `{name}` |" not in found] == []
    assert set(PARTS) == {"layers", "folders", "streams", "clauses"}


def test_each_folder_has_a_line(modules: dict[str, Module]) -> None:
    found = folders(modules)
    parts = (module.folder.split(".")[1:] for module in modules.values())
    assert [each for each in parts if len(each) > 1 and f"    {'/'.join(each)}/ " not in found] == []


def test_each_operator_and_each_node_of_plans_is_in_a_table(modules: dict[str, Module]) -> None:
    assert specs_without_methods(modules) == set(), "name it in STREAMS of scripts/house/finder.py"
    assert nodes_without_words(modules) == set(), "name it in CLAUSES of scripts/house/finder.py"


def test_a_row_leads_from_the_method_to_the_test(modules: dict[str, Module]) -> None:
    (row,) = (line for line in streams(modules).splitlines() if line.startswith("| `interval_join` |"))
    for name in ("IntervalJoined.process", "joins.py", "IntervalJoinOperator", "test_interval_join.py"):
        assert name in row


def test_floors() -> None:
    arrows = {"a": {"b": "", "c": ""}, "b": {"d": ""}, "c": {"b": ""}, "d": {}, "e": {"f": ""}, "f": {"e": "", "d": ""}}
    assert floors(arrows) == {"a": 3, "c": 2, "b": 1, "d": 0, "e": 1, "f": 1}
