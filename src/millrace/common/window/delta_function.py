"""``DeltaFunction``: how far apart two elements are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

__all__ = ["DeltaFunction"]

T = TypeVar("T")
"""Type of the elements."""


class DeltaFunction(ABC, Generic[T]):
    """Tells how far apart two elements are. A plain function of two elements will do in its place.

        >>> class Rise(DeltaFunction):
        ...     def get_delta(self, old_data_point, new_data_point):
        ...         return new_data_point - old_data_point
        >>> Rise().get_delta(1, 5)
        4
    """

    @abstractmethod
    def get_delta(self, old_data_point: T, new_data_point: T) -> float:
        """The distance from ``old_data_point`` to ``new_data_point``."""


AnyDeltaFunction: TypeAlias = DeltaFunction[Any] | Callable[[Any, Any], float]


def as_delta(function: AnyDeltaFunction) -> Callable[[Any, Any], float]:
    """``function`` as a plain function; raises TypeError if it is none."""
    if isinstance(function, DeltaFunction):
        return function.get_delta
    if callable(function):
        return function
    raise TypeError(f"The delta function must be a DeltaFunction or a function of two elements, not {function!r}")
