"""Marks that say how stable a class or function is: ``@Public()``, ``@Experimental()``, ``@Deprecated("0.3")`` ...

A mark is written into the docstring and stored in the attribute ``__stability_decorators``.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar, cast

__all__ = ["Deprecated", "Experimental", "Internal", "PublicEvolving", "Public"]

T = TypeVar("T", bound=Callable[..., Any])

_ATTRIBUTE = "__stability_decorators"


class BaseAPIStabilityDecorator(ABC):
    """Base of the marks."""

    @abstractmethod
    def get_directive(self, func_or_cls: Callable[..., Any]) -> str:
        """The text for the docstring, in reStructuredText."""

    def __call__(self, func_or_cls: T) -> T:
        _append_to_doc(func_or_cls, self.get_directive(func_or_cls))
        # A copy: a class must not add its marks to those of its base.
        marks = set(vars(func_or_cls).get(_ATTRIBUTE, ()))
        setattr(func_or_cls, _ATTRIBUTE, marks | {type(self)})
        return func_or_cls

    @staticmethod
    def _kind(func_or_cls: Callable[..., Any]) -> str:
        return "class" if inspect.isclass(func_or_cls) else "function"


class Public(BaseAPIStabilityDecorator):
    """For users; stays as it is until the next major version."""

    def get_directive(self, func_or_cls: Callable[..., Any]) -> str:
        return f".. note:: This {self._kind(func_or_cls)} is **public**: it keeps its meaning within a major version."


class PublicEvolving(BaseAPIStabilityDecorator):
    """For users; its signature may change with a minor version."""

    def get_directive(self, func_or_cls: Callable[..., Any]) -> str:
        return f".. note:: This {self._kind(func_or_cls)} is **evolving**: a minor version may change its signature."


class Experimental(BaseAPIStabilityDecorator):
    """For the curious; may change or go at any time."""

    def get_directive(self, func_or_cls: Callable[..., Any]) -> str:
        return f".. warning:: This {self._kind(func_or_cls)} is **experimental**: any version may change or remove it."


class Internal(BaseAPIStabilityDecorator):
    """Not for users."""

    def get_directive(self, func_or_cls: Callable[..., Any]) -> str:
        return f".. caution:: This {self._kind(func_or_cls)} is **internal**: it is not meant to be used by programs."


class Deprecated(BaseAPIStabilityDecorator):
    """On the way out. Calling the function, or making an object of the class, gives a ``DeprecationWarning``.

    :param since: the version.
    :param detail: what to use in its place.
    """

    def __init__(self, since: str, detail: str | None = None) -> None:
        self.since = since
        self.detail = detail

    def get_directive(self, func_or_cls: Callable[..., Any]) -> str:
        return f".. deprecated:: {self.since}" + (f"\n   {inspect.cleandoc(self.detail)}" if self.detail else "")

    def __call__(self, func_or_cls: T) -> T:
        text = f"{func_or_cls.__qualname__} has been deprecated since version {self.since}."
        if self.detail:
            text += f" {inspect.cleandoc(self.detail)}"
        if inspect.isclass(func_or_cls):
            # Wrapping __init__ leaves the class itself what it was: for isinstance, for subclasses, for pickle.
            setattr(func_or_cls, "__init__", _warning(func_or_cls.__init__, text))  # noqa: B010
            return super().__call__(func_or_cls)
        return super().__call__(cast(T, _warning(func_or_cls, text)))


def _warning(func: Callable[..., Any], text: str) -> Callable[..., Any]:
    @functools.wraps(func)
    def warn_and_call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(text, category=DeprecationWarning, stacklevel=2)
        return func(*args, **kwargs)

    return warn_and_call


def _append_to_doc(func_or_cls: Any, directive: str) -> None:
    doc = inspect.cleandoc(func_or_cls.__doc__ or "")
    if directive not in doc:
        func_or_cls.__doc__ = f"{doc}\n\n{directive}".strip()
