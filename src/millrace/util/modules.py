"""Modules that are found by where they are."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules, walk_packages
from types import ModuleType


def import_modules(package: ModuleType, deep: bool = True) -> None:
    """Import all modules of a package, in the order of their names: those that register what they have. Works in
    archives, too.

    :param deep: whether those of the packages in it are meant as well.
    """
    prefix = f"{package.__name__}."
    for found in walk_packages(package.__path__, prefix) if deep else iter_modules(package.__path__, prefix):
        if deep or not found.ispkg:
            import_module(found.name)
