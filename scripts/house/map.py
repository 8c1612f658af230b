"""Writes the generated parts of docs/architecture.md: the layers, the folders, and where to find what.

    make tables

The layers come from ``ALLOWED`` in ``layers.py``, the folders and their order from the source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from textwrap import wrap

from scripts.house.circles import module_imports, reaches, strongly_connected
from scripts.house.finder import clauses, nodes_without_words, specs_without_methods, streams
from scripts.house.layers import ALLOWED, EVERYTHING
from scripts.house.tree import PACKAGE, Module, read_tree

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
COMMAND = "make tables"
_WIDTH, _LEFT = 140, 38
"""of a picture, and of its left column"""

Floors = Mapping[str, int]


def layers(modules: Mapping[str, Module]) -> str:
    """The packages, each line above those that it may import, and which of them each may import."""
    of_package = floors(_arrows())
    top = max(of_package.values())
    lines = []
    for floor in range(top, -1, -1):
        lines.append("    " + ", ".join(sorted(name for name, at in of_package.items() if at == floor)))
        lines.append("       |")
    table = ["", "| package | what it is | may import |", "|---|---|---|"]
    for name in sorted(of_package, key=lambda name: (-of_package[name], name)):
        table.append(f"| `{name}` | {_sentence(modules[f'{PACKAGE}.{name}'])} | {_may_import(name, of_package)} |")
    note = (
        "\nEngines, clusters, notebooks, connectors, formats, catalogs, operators and kinds of state are entry points\n"
        "of `pyproject.toml`, so that each is found by its name and imported when it is needed (`util/plugins.py`)."
    )
    return "\n".join([*lines[:-1], *table, note]) + "\n"


def _arrows() -> dict[str, dict[str, str]]:
    """Package -> those that it may import as a whole or, where that closes no circle, in part."""
    names = [name for name in ALLOWED if name not in ("", "__main__")]
    arrows = {name: dict.fromkeys(_packages(name), "") for name in names}
    for name in names:
        for each in ALLOWED[name]:
            package, dot, _ = each.partition(".")
            if dot and not reaches(arrows, package, name):
                arrows[name][package] = ""
    return arrows


def _packages(name: str) -> set[str]:
    """The packages that one may import as a whole."""
    return {each for each in ALLOWED[name] if each in ALLOWED and each not in ("", "__main__", name)}


def _may_import(name: str, floor_of: Floors) -> str:
    packages = _packages(name)
    below = {each for each, at in floor_of.items() if at < floor_of[name]}
    single = sorted(each for each in ALLOWED[name] if each not in EVERYTHING | {*ALLOWED})
    beside = sorted(packages - below)
    left_out = sorted(below - packages)
    if below and len(left_out) <= len(packages) / 2:
        said = "all below" + (f" but {_named(left_out)}" if left_out else "")
    else:
        said = _named(sorted(packages & below))
    parts = [each for each in (said, _named(beside) and f"beside it {_named(beside)}") if each]
    parts += [f"of others only {_named(single)}"] if single else []
    return "; ".join(parts) or "nothing of ours"


def _named(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def folders(modules: Mapping[str, Module]) -> str:
    """The folders of each package, each line above those that its modules import."""
    inside: dict[str, list[str]] = {}
    for module in modules.values():
        parts = module.folder.split(".")
        if len(parts) > 2:
            inside.setdefault(parts[1], []).append(module.folder)
    lines = []
    for package, found in sorted(inside.items()):
        names = sorted({*found, f"{PACKAGE}.{package}"})
        floor_of = _floors_of_folders(names, modules)
        for name in sorted(names, key=lambda name: (-floor_of[name], name)):
            shown = name.removeprefix(f"{PACKAGE}.").replace(".", "/") + "/"
            right = "right in it" if name == f"{PACKAGE}.{package}" else ""
            text = _right_in(name, modules) if right else _sentence(modules[name])
            lines += wrap(f"{shown:<{_LEFT}}{text}", _WIDTH, initial_indent="    ", subsequent_indent=" " * (_LEFT + 4))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _right_in(folder: str, modules: Mapping[str, Module]) -> str:
    names = sorted(
        name.rpartition(".")[2] for name, each in modules.items() if each.folder == folder and not each.is_door
    )
    return f"({', '.join(names)})" if names else "(only doors)"


def _floors_of_folders(names: list[str], modules: Mapping[str, Module]) -> dict[str, int]:
    """By the imports between modules of these folders; doors hand on what they import."""
    imports = module_imports(modules, in_functions=False)

    def homes(name: str, seen: frozenset[str]) -> set[str]:
        """The folders that an import of a module leads to."""
        if not modules[name].is_door:
            return {modules[name].folder}
        return {home for each in imports[name] if each not in seen for home in homes(each, seen | {name})}

    arrows: dict[str, dict[str, str]] = {name: {} for name in names}
    for name, targets in imports.items():
        folder = modules[name].folder
        if folder in arrows and not modules[name].is_door:
            for home in (home for each in targets for home in homes(each, frozenset())):
                if home in arrows and home != folder:
                    arrows[folder][home] = ""
    return floors(arrows)


def floors(arrows: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    """Name -> floor: one more than the highest of those that it imports. Those of one circle are on one floor."""
    group_of = {name: number for number, group in enumerate(strongly_connected(arrows)) for name in group}
    below: dict[int, set[int]] = {number: set() for number in group_of.values()}
    for name, targets in arrows.items():
        below[group_of[name]] |= {group_of[each] for each in targets} - {group_of[name]}

    @cache
    def floor(group: int) -> int:
        return max((floor(each) + 1 for each in below[group]), default=0)

    return {name: floor(group) for name, group in group_of.items()}


def _sentence(module: Module) -> str:
    """The first sentence of a docstring, in Markdown."""
    text = " ".join((ast.get_docstring(module.tree) or "").split("\n\n")[0].split())
    found = re.match(r"(.+?)(?<![.])[.](?:\s|\Z)", text)
    return (found[1] if found else text).replace("``", "`").replace("|", "\\|")


PARTS: Mapping[str, Callable[[Mapping[str, Module]], str]] = {
    "layers": layers,
    "folders": folders,
    "streams": streams,
    "clauses": clauses,
}


def with_parts(page: str, modules: Mapping[str, Module]) -> str:
    """The page with its generated parts as they are now.

    :raises ValueError: it has no place for one, or several.
    """
    for name, part in PARTS.items():
        place = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- end of {name} -->)", re.DOTALL)
        text = f"\n{part(modules)}\n"  # Markdown wants an empty line between a comment and what follows
        page, number = place.subn(lambda _, text=text: text, page)
        if number != 1:
            raise ValueError(f"{PAGE.name} has {number} places for {name}")
    return page


def stale_map(modules: Mapping[str, Module]) -> Iterator[str]:
    """One line per part of the page that is not as the source is, or lacks something."""
    page = PAGE.read_text("utf-8")
    if page != with_parts(page, modules):
        yield f"docs/{PAGE.name} is not as the source is: run `{COMMAND}` and look at what changed"
    for kind, missing, table in (
        ("descriptions without a method", specs_without_methods(), "STREAMS"),
        ("plan nodes without words", nodes_without_words(modules), "CLAUSES"),
    ):
        if missing:
            yield f"{kind}: {', '.join(sorted(missing))}: name them in {table} of scripts/house/finder.py"


def main() -> None:
    PAGE.write_text(with_parts(PAGE.read_text("utf-8"), read_tree()), "utf-8")


if __name__ == "__main__":
    main()
