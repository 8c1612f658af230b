"""Circles: no two packages, and no two modules, need each other; and no folder holds more files than a reader surveys.

A package here is a folder with the modules that lie right in it; its subfolders are packages of their own. Doors (thin
modules under paths that programs import from, and the ``__init__`` of packages) and the modules where commands begin
are packages of their own, above what they show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from scripts.house.tree import Module

MAX_FILES = 30
ENTRANCES = {"millrace.__main__", "millrace.cli.main", "millrace.spark.engine"}
"""modules where a command or an entry point begins: they import what is below them, whatever folder it is in"""

Arrows = Mapping[str, Mapping[str, str]]
"""who imports -> what is imported -> one of the imports, for the message"""


def crowded_folders(modules: Mapping[str, Module]) -> dict[str, int]:
    """Folder -> its files, where they are too many. Doors do not count, but each ``__init__`` does."""
    found = Counter(each.folder for each in modules.values() if each.is_package or not each.is_door)
    return {folder: count for folder, count in found.items() if count > MAX_FILES}


def package_of(module: Module) -> str:
    if module.name in ENTRANCES or module.is_door:
        return f"{module.name} (door)"
    return module.folder


def package_imports(modules: Mapping[str, Module], in_functions: bool) -> dict[str, dict[str, str]]:
    """The imports from one package into another; those inside functions count if ``in_functions``."""
    packages = {name: package_of(module) for name, module in modules.items()}
    found: dict[str, dict[str, str]] = {package: {} for package in packages.values()}
    for name, targets in module_imports(modules, in_functions).items():
        for target, text in targets.items():
            if packages[target] != packages[name]:
                found[packages[name]].setdefault(packages[target], text)
    return found


def module_imports(modules: Mapping[str, Module], in_functions: bool) -> dict[str, dict[str, str]]:
    """The imports from one module into another; those inside functions count if ``in_functions``."""
    found: dict[str, dict[str, str]] = {name: {} for name in modules}
    for name, module in modules.items():
        for each in module.imports:
            if each.target in modules and each.target != name and (in_functions or not each.in_function):
                found[name].setdefault(each.target, f"{name}:{each.line} imports {each.target}")
    return found


def one_circle(arrows: Arrows) -> list[str]:
    """The imports of one circle, as lines; empty if there is none."""
    around = in_circles(arrows)
    if not around:
        return []
    way = [min(around)]
    while way[-1] not in way[:-1]:
        # Each of them has an arrow to another one of a circle, but not each arrow leads back: depth first.
        way.append(next(lower for lower in sorted(arrows[way[-1]]) if reaches(arrows, lower, way[-1])))
    way = way[way.index(way[-1]) :]
    return [arrows[upper][lower] for upper, lower in pairwise(way)]


def in_circles(arrows: Arrows) -> set[str]:
    """Whatever can be reached from itself."""
    return {name for group in strongly_connected(arrows) if len(group) > 1 for name in group}


def reaches(arrows: Arrows, start: str, end: str) -> bool:
    """Is there a way along the arrows?"""
    seen, waiting = {start}, [start]
    while waiting:
        for lower in arrows[waiting.pop()]:
            if lower not in seen:
                seen.add(lower)
                waiting.append(lower)
    return end in seen


def strongly_connected(arrows: Arrows) -> list[list[str]]:
    """Groups of names that can all be reached from each other (Tarjan, with an explicit stack)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    groups: list[list[str]] = []
    for root in arrows:
        if root in index:
            continue
        work = [(root, iter(arrows[root]))]
        index[root] = low[root] = len(index)
        path.append(root)
        on_path.add(root)
        while work:
            name, below = work[-1]
            for lower in below:
                if lower not in index:
                    index[lower] = low[lower] = len(index)
                    path.append(lower)
                    on_path.add(lower)
                    work.append((lower, iter(arrows[lower])))
                    break
                if lower in on_path:
                    low[name] = min(low[name], index[lower])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    start = path.index(name)
                    groups.append(path[start:])
                    on_path.difference_update(path[start:])
                    del path[start:]
    return groups
