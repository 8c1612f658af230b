"""Names that are imported when they are first used, and names of PyFlink that Millrace does not implement.

A name that is not implemented can be imported all the same, since programs import more than they use; calling such a
class or asking it for anything raises a ``NotImplementedError`` that says what is nearest to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NoReturn

__all__ = ["Missing", "lazy_names", "not_yet"]


def not_yet(name: str, nearest: str) -> NotImplementedError:
    """The exception to raise for ``name`` (as a PyFlink program would write it), naming the ``nearest`` thing."""
    return NotImplementedError(f"{name} is not in Millrace yet; nearest: {nearest}")


class Missing(type):
    """The metaclass of classes that can be imported but not used."""

    _refusal: tuple[str, str]

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise not_yet(*cls._refusal)

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):  # which Python asks for by itself
            raise AttributeError(name)
        raise not_yet(*cls._refusal)


def lazy_names(
    module_name: str, homes: Mapping[str, str], refused: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The ``__getattr__`` of the module ``module_name``, which begins with ``millrace.``.

    :param homes: name -> where it is, ``module`` or ``module:name there``, without ``millrace.``.
    :param refused: name -> what is nearest to it; using the class of this name raises ``NotImplementedError``.
    """

    def __getattr__(name: str) -> Any:
        if (home := homes.get(name)) is not None:
            place, _, there = home.partition(":")
            found = getattr(import_module(f"millrace.{place}"), there or name)
            setattr(sys.modules[module_name], name, found)
            return found
        if refused is not None and (nearest := refused.get(name)) is not None:
            full = f"pyflink.{module_name.partition('.')[2]}.{name}"
            return Missing(name, (), {"_refusal": (full, nearest), "__module__": module_name})
        raise AttributeError(f"module {module_name!r} has no attribute {name!r}")

    return __getattr__
