"""The hook by which classes look up deprecated names, arguments and texts; and wrappers around foreign objects.

Today's API knows nothing of older names. ``millrace.legacy`` installs itself when a program uses one; without it every
unknown name is refused. PyFlink's programs put some base classes around an object that another class has made; these
adopt that object.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from millrace.util.names import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])
"""The function that a decorator is put on."""


class Fallback(Protocol):
    """Looks up deprecated names."""

    def method(self, owner: type, name: str) -> Callable[..., Any] | None:
        """The function that replaces a method which ``owner`` does not have; None if it is unknown."""

    def arguments(
        self, function: str, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A call's arguments in today's form; unchanged if none of them is deprecated."""

    def expressions(self, text: str) -> Sequence[Any] | None:
        """The expressions that a text stands for."""


_installed: list[Fallback] = []


def install(fallback: Fallback) -> None:
    """Use this fallback from now on."""
    _installed[:] = [fallback]


def remove() -> None:
    """Use no fallback any more."""
    _installed.clear()


def installed() -> bool:
    return bool(_installed)


def older_method(instance: object, name: str) -> Any:
    """A bound method that the class does not have; None if it is unknown."""
    if name.startswith("_") or not _installed:
        return None
    found = _installed[0].method(type(instance), name)
    return None if found is None else MethodType(found, instance)


def older_expressions(text: str) -> Sequence[Any] | None:
    """The expressions that a text means; None if the text is unknown."""
    return _installed[0].expressions(text) if _installed else None


def takes_older_arguments(function: F) -> F:
    """A decorator that converts deprecated arguments of a call first."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if _installed:
            args, keywords = _installed[0].arguments(function.__qualname__, args, keywords)
        return function(*args, **keywords)

    call.__dict__["__signature__"] = inspect.signature(function)
    return call  # type: ignore[return-value]  # the same signature for callers


class HasOlderNames:
    """Base of classes that had other methods in earlier versions of Flink."""

    __slots__ = ()

    _meant: ClassVar[Mapping[str, str]] = {}
    """names in other libraries -> the nearest name here, where another name is more similar"""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            found = older_method(self, name)
            if found is None:
                text = f"{type(self).__name__!r} object has no attribute {name!r}"
                instead = "" if name.startswith("_") else self._instead_of(name)
                # Python itself would look for similar names again.
                raise AttributeError(text + instead) if instead else AttributeError(text, name=name, obj=self)
            return found

    def _instead_of(self, name: str) -> str:
        """A hint for an unknown name, as text that begins with a comma; empty if there is none."""
        if name in self._meant:
            return f", did you mean '{self._meant[name]}'?"
        return did_you_mean(name, [each for each in dir(type(self)) if not each.startswith("_")])


class OlderStatics(type):
    """Metaclass of classes that had other static methods in earlier versions of Flink."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            known = _installed if name.islower() and not name.startswith("_") else []
            found = known[0].method(cls, name) if known else None
            if found is None:
                raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
            return partial(found, cls)


# Bases around other objects


class Adopting:
    """Base of base classes that wrap: called with an instance of itself, the class returns an object that delegates to
    it.

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
    """Delegates every attribute to another object."""

    def __init__(self, made: Any) -> None: ...

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or name == "_made":
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "_made"), name)
