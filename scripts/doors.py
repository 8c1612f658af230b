"""Writes the doors: the modules under PyFlink's paths whose names are all in other modules of Millrace.

    python -m scripts.doors   # ``make tables`` runs it

The table that they are written from is ``millrace.pyflink_names``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scripts.house.tree import DOOR, SOURCE

from millrace.pyflink_names import NAMES
from millrace.pyflink_names.public_module import NameLists, PublicModule, each

MAX_WIDTH = 120


def doors() -> dict[Path, str]:
    """File -> the text that it must have."""
    return {_file(name): door(module) for name, module in NAMES.items() if module.is_door(name)}


def abandoned() -> list[Path]:
    """Files that say that they are doors, of which the table has no names."""
    wanted = doors()
    return [
        file
        for file in sorted(SOURCE.rglob("*.py"))
        if file not in wanted and file.read_text("utf-8")[:200].startswith(DOOR)
    ]


def door(module: PublicModule) -> str:
    """The text of a door. Its statements stand as ``ruff format`` and isort's rules put them."""
    eager: list[NameLists] = [] if module.lazy else [module.here, module.unlisted]
    late = [module.here, module.unlisted, module.late] if module.lazy else [module.late]
    now, later = _imported(module, eager), _imported(module, late)
    refused = {name: nearest for nearest, name, _ in each(module.not_yet)}
    if later or refused:
        now["millrace.util.not_yet", False] = ["lazy_names"]
    blocks = [f'{DOOR}\n"""{module.about}{_last_line(module)}"""', "from __future__ import annotations"]
    if later:
        blocks.append("from typing import TYPE_CHECKING")
    blocks.append("\n".join(_import_lines(now, "")))
    if later:
        blocks.append("\n".join(["if TYPE_CHECKING:", *_import_lines(later, "    ")]))
    if listed := [name for _, name, _ in each(module.here)]:
        blocks.append("\n".join(["__all__ = [", *(f'    "{name}",' for name in listed), "]"]))
    if later or refused:
        homes = {name: home for names in late for name, home in _homes(names)}
        blocks.append("\n".join([*_dict("_HOMES", homes), *_dict("_REFUSED", refused)]))
        given = "_HOMES, _REFUSED" if homes and refused else "_HOMES" if homes else "{}, _REFUSED"
        blocks.append(f"__getattr__ = lazy_names(__name__, {given})")
    return "\n\n".join(blocks) + "\n"


def _file(name: str) -> Path:
    package = SOURCE.joinpath(*name.split("."))
    return package / "__init__.py" if package.is_dir() else package.with_suffix(".py")


def _last_line(module: PublicModule) -> str:
    return "\n" if "\n" in module.about else ""


def _homes(names: NameLists) -> Iterator[tuple[str, str]]:
    for place, name, there in each(names):
        yield name, place if name == there else f"{place}:{there}"


def _imported(module: PublicModule, parts: list[NameLists]) -> dict[tuple[str, bool], list[str]]:
    """(module, with ``as``) -> what is imported. Names that are not in ``__all__`` are handed on with ``as``."""
    found: dict[tuple[str, bool], list[str]] = {}
    for names in parts:
        for place, name, there in each(names):
            renamed = names is not module.here or name != there
            found.setdefault((f"millrace.{place}", renamed), []).append(f"{there} as {name}" if renamed else name)
    return found


def _import_lines(imported: dict[tuple[str, bool], list[str]], indent: str) -> Iterator[str]:
    statements: list[tuple[str, list[str]]] = []
    for (module, renamed), names in imported.items():
        ordered = sorted(names, key=_order)
        statements += [(module, [name]) for name in ordered] if renamed else [(module, ordered)]
    for module, names in sorted(statements, key=lambda each: (each[0], _order(each[1][0]))):
        line = f"{indent}from {module} import {', '.join(names)}"
        if any(_looks_unused(name) for name in names):
            yield f"{line}  # noqa: F401"
        elif len(line) <= MAX_WIDTH:
            yield line
        else:
            yield from (f"{indent}from {module} import (", *(f"{indent}    {name}," for name in names), f"{indent})")


def _looks_unused(name: str) -> bool:
    """``row as _row``: private in PyFlink, too."""
    there, _, given = name.partition(" as ")
    return given.startswith("_") and given != there


def _order(name: str) -> tuple[int, str]:
    """Constants, classes, the rest: isort's order."""
    word = name.partition(" ")[0]
    return (0 if word.isupper() and len(word) > 1 else 1 if word[0].isupper() else 2), word.lower()


def _dict(variable: str, entries: dict[str, str]) -> Iterator[str]:
    if entries:
        yield from (f"{variable} = {{", *(f'    "{name}": "{text}",' for name, text in entries.items()), "}")


def main() -> None:
    for file, text in doors().items():
        file.write_text(text, "utf-8")
    for file in abandoned():
        file.unlink()


if __name__ == "__main__":
    main()
