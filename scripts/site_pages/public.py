"""The public names: what the packages that users import export, and the methods of these classes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

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
    "dbapi": "DB-API",
}
"""package -> title"""
_FOLDERS = ("datastream.connectors", "datastream.formats")
"""packages whose modules are asked for by name"""
_MODULES = {
    "datastream": ("functions", "state", "window", "utils"),
    "table": ("expressions", "expression", "window", "types", "udf", "catalog", "module"),
    "common": ("typeinfo", "watermark_strategy", "time", "source", "sink"),
    "metrics": ("reporters",),
}
"""modules of a package with names that the package itself has not"""


@dataclass(frozen=True)
class Public:
    """A class or function under its first public name.

    :ivar package: the module that exports it.
    :ivar home: the module that it is written in.
    """

    package: str
    name: str
    home: str
    found: Any

    def __str__(self) -> str:
        return f"{self.package}.{self.name}"

    @property
    def methods(self) -> dict[str, Any]:
        """Public methods, as functions, and properties: of the class itself, and of bases that are not public."""
        found: dict[str, Any] = {}
        for owner in self._owners():
            for name, member in vars(owner).items():
                if isinstance(member, (classmethod, staticmethod)):
                    member = member.__func__
                if not name.startswith("_") and isinstance(member, (FunctionType, property)):
                    found.setdefault(name, member)
        return found

    def _owners(self) -> Iterator[type]:
        if inspect.isclass(self.found):
            public = {id(each.found) for each in names()}
            for owner in self.found.__mro__:
                if owner is self.found or (owner.__module__.startswith("millrace.") and id(owner) not in public):
                    yield owner


@cache
def names() -> tuple[Public, ...]:
    """Every public class and function once, by package."""
    seen: dict[int, Public] = {}
    for package in PACKAGES:
        for module in modules(package):
            for name in getattr(module, "__all__", ()):
                found = getattr(module, name)
                home = getattr(found, "__module__", None) or ""
                if (inspect.isclass(found) or isinstance(found, FunctionType)) and home.startswith("millrace."):
                    seen.setdefault(id(found), Public(module.__name__, name, home, found))
    return tuple(seen.values())


def package_of(name: Public) -> str:
    """The key of ``PACKAGES`` under which a name is exported."""
    place = name.package.removeprefix("millrace.")
    return max((each for each in PACKAGES if f"{place}.".startswith(f"{each}.")), key=len)


def modules(package: str) -> Iterator[ModuleType]:
    """The modules that export a package's names."""
    module = importlib.import_module(f"millrace.{package}")
    if package not in _FOLDERS:
        yield module
    else:
        for each in pkgutil.iter_modules(module.__path__):
            yield importlib.import_module(f"{module.__name__}.{each.name}")
    for name in _MODULES.get(package, ()):
        yield importlib.import_module(f"{module.__name__}.{name}")
