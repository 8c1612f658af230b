"""Prints what breaks a rule of the house, or its figures."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from scripts.house.circles import crowded_folders, in_circles, module_imports, one_circle, package_imports
from scripts.house.commits import badly_written
from scripts.house.layers import broken_layers
from scripts.house.map import stale_map
from scripts.house.pages import broken_names
from scripts.house.process_state import process_state
from scripts.house.sizes import figures, too_long, with_one_importer
from scripts.house.strictness import lax_core
from scripts.house.texts import damaged_texts
from scripts.house.tree import Module, read_tree

MODULES_IN_CIRCLES = 19
"""through imports inside functions: may only fall"""
ONE_IMPORTER = 156
"""modules with a single importer: may only fall (61 of them are state and tables of ``runtime``)"""


def broken_rules(modules: Mapping[str, Module]) -> Iterator[str]:
    """One line per break of a rule."""
    yield from broken_layers(modules)
    yield from too_long(modules)
    yield from damaged_texts(modules)
    yield from process_state(modules)
    yield from lax_core(modules)
    for folder, count in crowded_folders(modules).items():
        yield f"{folder} has {count} files: divide them by what they are about"
    for arrows in (package_imports(modules, in_functions=True), module_imports(modules, in_functions=False)):
        if circle := one_circle(arrows):
            yield "\n  ".join(["these imports make a circle:", *circle])
    around = in_circles(module_imports(modules, in_functions=True))
    if len(around) > MODULES_IN_CIRCLES:
        yield f"{len(around)} modules in circles, imports in functions counted (limit {MODULES_IN_CIRCLES}): {around}"
    if len(single := with_one_importer(modules)) > ONE_IMPORTER:
        yield f"{len(single)} modules have one importer (limit {ONE_IMPORTER}): join some with it"
    yield from broken_names(modules)
    yield from stale_map(modules)
    yield from badly_written()


def main() -> int:
    modules = read_tree()
    if "--figures" in sys.argv:
        for name, value in figures(modules).items():
            print(f"{value:>10,g}  {name}")
        return 0
    found = list(broken_rules(modules))
    print("\n".join(found) if found else f"{len(modules)} modules keep the rules of the house")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
