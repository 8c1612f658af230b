"""Dead code: functions, classes, methods and variables of the package that nothing uses.

    python -m scripts.house.dead_code   # exit code 1 and a line for each dead name; ``make lint`` runs it

vulture collects the definitions and the uses, in the folders that ``[tool.vulture]`` of pyproject.toml names. A name is
alive, too, if programs or libraries use it from outside:

- PyFlink has it (tests/data/pyflink-signatures.json), or a page of the documentation writes it as code;
- a string names it, as entry points of pyproject.toml do ("millrace.connectors.kafka.kafka_table:KafkaFactory"), or as
  the tests of builders' methods do ("set_client_id_prefix");
- a decorator hands it to a table of functions, of commands or of forms (``ignore_decorators`` of pyproject.toml);
- it stands in ``called_from_outside.txt``, with the reason.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from vulture import Vulture
from vulture.core import Item

try:
    import tomllib
except ImportError:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "millrace"
ALLOWED = Path(__file__).with_name("called_from_outside.txt")
SIGNATURES = ROOT / "tests" / "data" / "pyflink-signatures.json"
TABLES_OF_METHODS = (ROOT / "tests" / "connectors" / "test_builder_settings.py",)
"""tests that call methods by name"""
COMPATIBILITY = ROOT / "docs" / "pyflink-compatibility.md"

_WORD = re.compile(r"[A-Za-z_]\w*")
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_NAMING_STRING = re.compile(r"""["'](?:[\w.]+[.:])([A-Za-z_]\w*)["']""")
_NAME_ALONE = re.compile(r"""["']([A-Za-z_]\w*)["']""")


@dataclass(frozen=True)
class Allowed:
    """A line of the allow-list: names of a file that something outside of the repository uses."""

    files: str
    """a pattern of paths below src/millrace"""
    names: tuple[str, ...]
    """patterns of names, or of kind and name: ``variable:*``"""
    line: int

    def covers(self, path: str, item: Item) -> bool:
        forms = (item.name, f"{item.typ}:{item.name}")
        return fnmatch(path, self.files) and any(fnmatch(form, name) for form in forms for name in self.names)


def read_allowed(text: str) -> list[Allowed]:
    """The entries of the allow-list: ``file pattern: names`` below a comment that says why."""
    found: list[Allowed] = []
    reason = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            reason = True
        elif not line.strip():
            reason = False
        else:
            files, colon, names = line.partition(":")
            if not (colon and names.split() and reason):
                raise ValueError(f"{ALLOWED.name}:{number}: 'files: names' below a comment with the reason is wanted")
            found.append(Allowed(files.strip(), tuple(names.split()), number))
    return found


def names_used_outside() -> set[str]:
    """The names that PyFlink has, and those that the documentation writes as code."""
    found = set(_WORD.findall(json.dumps(json.loads(SIGNATURES.read_text("utf-8")))))
    for page in (ROOT / "docs").rglob("*.md"):
        if page != COMPATIBILITY:
            for code in _CODE.findall(page.read_text("utf-8")):
                found.update(_WORD.findall(code))
    return found


def names_in_strings() -> set[str]:
    """The names with which a string of the package or an entry point ends after a dot or a colon, and those of
    methods in tests."""
    found: set[str] = set()
    for file in TABLES_OF_METHODS:
        found.update(_NAME_ALONE.findall(file.read_text("utf-8")))
    for file in (ROOT / "pyproject.toml", *PACKAGE.rglob("*.py")):
        found.update(_NAMING_STRING.findall(file.read_text("utf-8")))
    return found


def unused() -> list[Item]:
    """The definitions of the package that vulture finds no use of."""
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["vulture"]
    vulture = Vulture(ignore_names=settings["ignore_names"], ignore_decorators=settings["ignore_decorators"])
    vulture.scavenge([ROOT / path for path in settings["paths"]])
    found = vulture.get_unused_code(min_confidence=settings["min_confidence"])
    return [item for item in found if item.filename.resolve().is_relative_to(PACKAGE)]


def dead(items: list[Item], alive: set[str], allowed: list[Allowed]) -> Iterator[str]:
    """One line per dead name, and per line of the allow-list that covers nothing."""
    needed: set[int] = set()
    for item in items:
        path = item.filename.resolve().relative_to(PACKAGE).as_posix()
        entry = next((entry for entry in allowed if entry.covers(path, item)), None)
        if item.typ != "unreachable_code" and item.name in alive:
            continue
        if entry is None:
            yield f"src/millrace/{path}:{item.first_lineno}: {item.message}"
        else:
            needed.add(entry.line)
    for entry in allowed:
        if entry.line not in needed:
            yield f"scripts/house/{ALLOWED.name}:{entry.line}: covers no dead name any more: delete it"


def main() -> int:
    allowed = read_allowed(ALLOWED.read_text("utf-8"))
    found = list(dead(unused(), names_used_outside() | names_in_strings(), allowed))
    print("\n".join(found) if found else "no dead code")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
