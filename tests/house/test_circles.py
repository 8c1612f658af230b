"""Circles of packages and of modules are found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from scripts.house.circles import MAX_FILES, crowded_folders, in_circles, module_imports, one_circle, package_imports
from scripts.house.tree import read_tree
from tests.house.test_layers import write

APART = {"low/a.py": "", "high/b.py": "from millrace.low import a", "high/__init__.py": "from millrace.high import b"}
ROUND = [
    {"low/a.py": "from millrace.high.b import f"},
    {"low/a.py": "import millrace.high"},
    {"low/a.py": "from millrace.between import c", "between/c.py": "from millrace.high import b"},
    {"low/inner/d.py": "from millrace.low import a", "low/a.py": "from millrace.low.inner import d"},
]
STRAIGHT = [
    {},
    {"low/a.py": "def f():\n    from millrace.high import b"},
    {"low/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from millrace.high import b"},
    {"low/old.py": "from millrace.high.b import f\n__all__ = ['f']", "high/b.py": "from millrace.low import a"},
    {"__main__.py": "from millrace.high import b", "high/b.py": "from millrace import shared", "shared.py": ""},
]  # fmt: skip


def modules(changed: Mapping[str, str]) -> dict[str, str]:
    """The modules of a test, with content in all but the doors among them."""
    return {
        name: text if name.endswith(("__init__.py", "old.py")) else f"{text}\n\nX = 1"
        for name, text in {**APART, **changed}.items()
    }


@pytest.mark.parametrize("changed", ROUND)
def test_a_circle_of_packages_is_found(tmp_path: Path, changed: dict[str, str]) -> None:
    write(tmp_path, modules(changed))
    assert len(one_circle(package_imports(read_tree(tmp_path), in_functions=False))) >= 2


@pytest.mark.parametrize("changed", STRAIGHT)
def test_packages_above_each_other_are_none(tmp_path: Path, changed: dict[str, str]) -> None:
    write(tmp_path, modules(changed))
    assert one_circle(package_imports(read_tree(tmp_path), in_functions=False)) == []


def test_an_import_inside_a_function_closes_a_circle_where_it_counts(tmp_path: Path) -> None:
    write(tmp_path, modules({"low/a.py": "def f():\n    from millrace.high import b"}))
    tree = read_tree(tmp_path)
    assert in_circles(package_imports(tree, in_functions=True)) == {"millrace.high", "millrace.low"}
    assert in_circles(module_imports(tree, in_functions=True)) == {"millrace.high.b", "millrace.low.a"}
    assert in_circles(module_imports(tree, in_functions=False)) == set()


def test_a_chain_below_a_circle_is_not_in_it(tmp_path: Path) -> None:
    chain = {"low/a.py": "from millrace.high import b", "lowest/d.py": "", "low/c.py": "from millrace.lowest import d"}
    write(tmp_path, modules(chain))
    assert in_circles(package_imports(read_tree(tmp_path), in_functions=False)) == {"millrace.high", "millrace.low"}


def test_thin_modules_do_not_crowd_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {f"full/m{number}.py": "X = 1" for number in range(MAX_FILES)})
    write(tmp_path, {"full/thin.py": "from millrace.other import f"})
    assert crowded_folders(read_tree(tmp_path)) == {}
    write(tmp_path, {"full/one_more.py": "def f(): ..."})
    assert crowded_folders(read_tree(tmp_path)) == {"millrace.full": MAX_FILES + 1}
