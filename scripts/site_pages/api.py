"""Pages of the API: every public name, by the module that it is of, from its docstring."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType

PACKAGES = {
    "datastream": "DataStream API",
    "datastream.connectors": "Connectors",
    "datastream.formats": "Formats",
    "table": "Table API",
    "cep": "Patterns of events",
    "common": "Common",
    "metrics": "Metrics",
    "state": "State as data",
    "testing": "Testing",
}
"""package -> title"""
_FOLDERS = ("datastream.connectors", "datastream.formats")
"""packages whose modules are asked for by name"""


@cache
def pages() -> dict[str, dict[str, str]]:
    """Title of a package -> page -> its text."""
    found: dict[str, dict[str, str]] = {}
    for package, title in PACKAGES.items():
        by_home = _by_home(package)
        found[title] = {
            f"api/{package}/{home.removeprefix('millrace.')}.md": _page(home, names)
            for home, names in sorted(by_home.items())
        }
    return found


def _by_home(package: str) -> Mapping[str, list[str]]:
    homes: dict[str, set[str]] = defaultdict(set)
    for module in _modules(package):
        for name in getattr(module, "__all__", ()):
            home = getattr(getattr(module, name), "__module__", None)
            if isinstance(home, str) and home.startswith("millrace."):
                homes[home].add(getattr(getattr(module, name), "__qualname__", name))
    return {home: sorted(names) for home, names in homes.items()}


def _modules(package: str) -> Iterator[ModuleType]:
    module = importlib.import_module(f"millrace.{package}")
    if package not in _FOLDERS:
        yield module
        return
    for each in pkgutil.iter_modules(module.__path__):
        yield importlib.import_module(f"{module.__name__}.{each.name}")


def _page(home: str, names: list[str]) -> str:
    first = (inspect.getdoc(importlib.import_module(home)) or "").split("\n\n")[0]
    sections = [f"::: {home}.{name}" for name in names if "." not in name]
    return "\n\n".join([f"# {', '.join(names)}", first, *sections, ""])
