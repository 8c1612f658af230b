"""Finds objects by names: registries that fill themselves by importing the modules of a package, and configured
classes.

Classes are named ``package.module:Class`` or ``package.module.Class``. For a name that does not exist, the closest
known
name is suggested.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, TypeVar

# Registries

K = TypeVar("K")
F = TypeVar("F")


def entered(table: dict[K, Any], *keys: K) -> Callable[[F], F]:
    """A decorator that registers its function or class in a table, under these keys."""

    def enter(made: F) -> F:
        table.update(dict.fromkeys(keys, made))
        return made

    return enter


@cache
def import_modules(package: ModuleType) -> None:
    """Import all modules of a package and of those in it, in the order of their names, so that they register their
    content.

    A second call does nothing. Works in archives, too.
    """
    for found in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(found.name)


# Classes that a configuration names

T = TypeVar("T")
"""What the class has to be a subclass of."""

_NAME = re.compile(r"^(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)[.:](?P<cls>[A-Za-z_]\w*)$")


def is_class_name(text: str) -> bool:
    """Whether a text has the form of a class's name with its module."""
    return _NAME.match(text) is not None


def load_class(name: str, base: type[T], option: str) -> type[T]:
    """The class with this name, which must implement all abstract methods of ``base``.

    :param option: beginning of error messages: the setting that contains the name.
    :raises ValueError: there is no such module or class, or it can't be imported.
    :raises TypeError: it is no subclass of ``base``, or lacks methods.
    """
    match = _NAME.match(name)
    if match is None:
        raise ValueError(f"{option}: {name!r} names no class; write it as package.module:Class")
    module, cls = match["module"], match["cls"]
    try:
        found = getattr(importlib.import_module(module), cls, None)
    except Exception as error:  # whatever the user's module does while it is imported
        raise ValueError(
            f"{option}: module {module} of {name!r} can't be imported ({type(error).__name__}: {error}); is it on the "
            f"path of the driver and of the workers (add_python_file)?"
        ) from error
    if found is None:
        raise ValueError(f"{option}: module {module} has no class {cls}")
    return checked_class(found, base, option)


def checked_class(found: Any, base: type[T], option: str) -> type[T]:
    """``found``, if it is a class that implements ``base``.

    :raises TypeError: it is no subclass of ``base``, or lacks methods.
    """
    if not isinstance(found, type):
        raise TypeError(f"{option}: {found!r} is no class")
    if not issubclass(found, base):
        raise TypeError(f"{option}: {found.__qualname__} is no subclass of {base.__module__}.{base.__qualname__}")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise TypeError(f"{option}: {found.__qualname__} lacks {', '.join(f'{method}()' for method in missing)}")
    return found


# Similar names


def close_to(name: str, known: Iterable[str]) -> str | None:
    """The known name that is closest to this one, if one is close. Case does not matter."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``", did you mean 'x'?"`` if a known name is close to this one, else an empty text."""
    close = close_to(name, known)
    return "" if close is None else f", did you mean '{close}'?"
