"""The rooms of the package: no folder holds more files than a reader can survey, and no two packages need each other.

A package here is a folder with the modules that lie right in it; its subfolders are packages of their own. What a
module imports inside functions does not count: it runs when both packages are there.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from tests.test_layering import SOURCE, Imports, module_name, write

MAX_FILES = 25
MAX_DOOR_LINES = 20
ENTRANCES = {"millrace.__main__", "millrace.cli.main"}
"""modules where commands begin: they import what is below them, whatever folder it is in"""


def is_thin(tree: ast.Module) -> bool:
    """Does a module do nothing but give names of other modules (and start one of them as a command)?"""
    return all(
        isinstance(each, ast.Import | ast.ImportFrom)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        or (isinstance(each, ast.Assign | ast.AugAssign | ast.AnnAssign) and "__all__" in ast.unparse(each))
        or (isinstance(each, ast.If) and "__main__" in ast.unparse(each.test))
        for each in tree.body
    )


def is_door(file: Path, text: str) -> bool:
    """Is a file the ``__init__`` of a package, or a thin re-export under a path that programs import from?"""
    if file.name == "__init__.py":
        return True
    return len(text.splitlines()) <= MAX_DOOR_LINES and is_thin(ast.parse(text, str(file)))


def is_counted(file: Path) -> bool:
    return file.name == "__init__.py" or not is_door(file, file.read_text("utf-8"))


def crowded(source: Path) -> dict[str, int]:
    """Folder -> its files, where they are too many."""
    files = (file for file in source.rglob("*.py") if is_counted(file))
    found = Counter(file.parent.relative_to(source).as_posix() for file in files)
    return {folder: count for folder, count in found.items() if count > MAX_FILES}


def package_of(module: str, file: Path) -> str:
    """The package that a module belongs to; doors and entrances are packages of their own, above what they show."""
    if module in ENTRANCES or is_door(file, file.read_text("utf-8")):
        return f"{module} (door)"
    return module.rpartition(".")[0]


def package_imports(source: Path) -> dict[str, dict[str, str]]:
    """Package -> the packages that it imports -> one of the imports, for the message."""
    modules = {module_name(file, source): file for file in sorted(source.rglob("*.py"))}
    packages = {module: package_of(module, file) for module, file in modules.items()}
    found: dict[str, dict[str, str]] = {package: {} for package in packages.values()}
    for module, file in modules.items():
        imports = Imports(module, file.name == "__init__.py", set(modules))
        imports.visit(ast.parse(file.read_text("utf-8"), str(file)))
        for each in imports.found:
            target = packages.get(each.target)
            if target is not None and target != packages[module] and not each.in_function:
                found[packages[module]].setdefault(target, f"{module}:{each.line} imports {each.target}")
    return found


def cycle(imports: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The imports of one cycle, as lines; empty if there is none."""
    done: set[str] = set()

    def search(package: str, way: list[str]) -> list[str]:
        if package in way:
            around = [*way[way.index(package) :], package]
            return [imports[upper][lower] for upper, lower in pairwise(around)]
        if package in done:
            return []
        for lower in imports[package]:
            if found := search(lower, [*way, package]):
                return found
        done.add(package)
        return []

    return next((found for package in imports if (found := search(package, []))), [])


def test_no_folder_is_crowded() -> None:
    found = crowded(SOURCE)
    assert not found, f"divide these by what their modules are about (limit {MAX_FILES} files): {found}"


def test_no_packages_import_each_other() -> None:
    found = cycle(package_imports(SOURCE))
    assert not found, "\n".join(["these imports make a cycle of packages:", *found])


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
def test_a_cycle_is_found(tmp_path: Path, changed: dict[str, str]) -> None:
    write(tmp_path, modules(changed))
    assert len(cycle(package_imports(tmp_path))) >= 2


@pytest.mark.parametrize("changed", STRAIGHT)
def test_packages_above_each_other_are_none(tmp_path: Path, changed: dict[str, str]) -> None:
    write(tmp_path, modules(changed))
    assert cycle(package_imports(tmp_path)) == []


def test_thin_modules_do_not_crowd_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {f"full/m{number}.py": "X = 1" for number in range(MAX_FILES)})
    write(tmp_path, {"full/thin.py": "from millrace.other import f"})
    assert crowded(tmp_path) == {}
    write(tmp_path, {"full/one_more.py": "def f(): ..."})
    assert crowded(tmp_path) == {"full": MAX_FILES + 1}
