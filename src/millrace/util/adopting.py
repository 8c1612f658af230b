"""Base classes that programs of PyFlink also put around an object that another class has made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Adopting"]


class Adopting:
    """Base of such a base class: called with an instance of itself, it gives one that does what that one does.

    PyFlink has classes around objects of Java: ``Catalog(jvm.GenericInMemoryCatalog("c"))``.
    """

    if not TYPE_CHECKING:  # there it would make every such object an Any

        def __new__(cls, *args: Any, **keywords: Any) -> Any:
            if Adopting in cls.__bases__ and args:
                return _adopted(cls, *args, **keywords)
            if (args or keywords) and cls.__init__ is object.__init__:
                raise TypeError(f"{cls.__name__}() takes no arguments")
            return super().__new__(cls)


def _adopted(cls: type[Adopting], made: Any) -> Any:
    if not isinstance(made, cls):
        raise TypeError(f"{cls.__name__}() takes nothing, or another {cls.__name__}, not {made!r}")
    return object.__new__(type(cls.__name__, (_Wrapper, cls), {"_made": made}))


class _Wrapper:
    """Asks another object for everything."""

    def __init__(self, made: Any) -> None: ...

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name == "_made":
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "_made"), name)
