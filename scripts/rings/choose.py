"""Chooses test files for a change: those that changed, and those that import changed modules, the nearest first."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.house.circles import module_imports
from scripts.house.commits import git
from scripts.house.tree import Module, imports_of

FAR = 3
"""imports between a changed module and what a test imports, at most"""


@dataclass(frozen=True)
class Choice:
    """Test files to run, and those that there is no time for."""

    taken: tuple[str, ...]
    left: tuple[str, ...]
    seconds: float
    """of the files taken, by their recorded durations"""


def changed_files(root: Path, since: str | None) -> list[str]:
    """Files that differ from a revision; without one those that differ from HEAD, else those of the last commit."""
    found = git(root, "diff", "--name-only", since or "HEAD") + git(root, "ls-files", "-o", "--exclude-standard")
    return (found or git(root, "diff", "--name-only", "HEAD~1")).split()


def imports_of_tests(root: Path, modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """Test file -> modules of the package that it imports."""
    return {
        file.relative_to(root).as_posix(): {
            each.target for each in imports_of(ast.parse(file.read_text("utf-8")), "tests", set(modules))
        }
        for file in sorted((root / "tests").rglob("test_*.py"))
    }


def distances(changed: Iterable[str], modules: Mapping[str, Module]) -> dict[str, int]:
    """Module -> how many imports lie between it and a changed one, up to ``FAR``."""
    importers: dict[str, set[str]] = {name: set() for name in modules}
    for name, targets in module_imports(modules, in_functions=True).items():
        for target in targets:
            importers[target].add(name)
    found = dict.fromkeys(changed, 0)
    edge = set(found)
    for distance in range(1, FAR + 1):
        edge = {upper for name in edge for upper in importers.get(name, ())} - found.keys()
        found |= dict.fromkeys(edge, distance)
    return found


def choose(
    changed: Iterable[str],
    modules: Mapping[str, Module],
    tests: Mapping[str, set[str]],
    durations: Mapping[str, float],
    budget: float,
) -> Choice:
    """The test files for changed files: changed ones always, then by distance and duration while the budget lasts.

    :param changed: paths from the root.
    :param budget: seconds that all tests taken may need together.
    """
    own = [name for name in changed if name in tests]
    names = {_module(name) for name in changed if name.startswith("src/")}
    near = distances(names & modules.keys(), modules)
    far = {
        file: min(near[name] for name in imported if name in near)
        for file, imported in tests.items()
        if file not in own and not near.keys().isdisjoint(imported)
    }
    taken, left, seconds = list(own), [], sum(durations.get(name, 0.2) for name in own)
    for file in sorted(far, key=lambda name: (far[name], durations.get(name, 0.2), name)):
        needed = durations.get(file, 0.2)
        if seconds + needed <= budget:
            taken.append(file)
            seconds += needed
        else:
            left.append(file)
    return Choice(tuple(taken), tuple(left), seconds)


def _module(path: str) -> str:
    name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")
