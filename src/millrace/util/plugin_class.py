"""From a name in a configuration to a user's class: ``package.module:Class`` or ``package.module.Class``."""

from __future__ import annotations

import importlib
import re
from typing import Any, TypeVar

__all__ = ["checked_class", "is_class_name", "load_class"]

T = TypeVar("T")
"""What the class has to be a subclass of."""

_NAME = re.compile(r"^(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)[.:](?P<cls>[A-Za-z_]\w*)$")


def is_class_name(text: str) -> bool:
    """Whether a text has the form of a class's name with its module."""
    return _NAME.match(text) is not None


def load_class(name: str, base: type[T], option: str) -> type[T]:
    """The class of that name, with all methods that ``base`` asks for.

    :param option: what the errors begin with: the setting that has the name.
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
    """``found``, if it is a class that can stand for ``base``.

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
