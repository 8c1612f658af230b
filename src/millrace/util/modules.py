"""Modules that are found by where they are."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType


def import_modules(package: ModuleType) -> None:
    """Import all modules of a package and of the packages in it, in the order of their names: for those that say by
    being there what they have to say. Works in archives, too."""
    for found in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(found.name)
