"""Modules that are found by where they are, and the tables in which they enter what they have."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules, walk_packages
from types import ModuleType
from typing import Any, TypeVar

K = TypeVar("K")
F = TypeVar("F")


def entered(table: dict[K, Any], *keys: K) -> Callable[[F], F]:
    """A decorator that puts what it decorates into a table, under these keys."""

    def enter(made: F) -> F:
        table.update(dict.fromkeys(keys, made))
        return made

    return enter


@cache
def import_modules(package: ModuleType, deep: bool = True) -> None:
    """Import all modules of a package, in the order of their names: those that register what they have. The second time
    there is nothing to do. Works in archives, too.

    :param deep: whether those of the packages in it are meant as well.
    """
    prefix = f"{package.__name__}."
    for found in walk_packages(package.__path__, prefix) if deep else iter_modules(package.__path__, prefix):
        if deep or not found.ispkg:
            import_module(found.name)
