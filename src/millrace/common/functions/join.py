"""Functions of joins: two elements, or two groups of elements, of one key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from millrace.common.functions.base import Function

__all__ = ["JoinFunction", "FlatJoinFunction", "CoGroupFunction", "ProcessJoinFunction"]


class JoinFunction(Function):
    """Turns each pair of a window join into exactly one result.

        >>> class Pair(JoinFunction):
        ...     def join(self, first, second):
        ...         return first, second
    """

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """The result for an element of the first stream and one of the second."""


class FlatJoinFunction(Function):
    """Turns each pair of a window join into any number of results.

        >>> class Pairs(FlatJoinFunction):
        ...     def join(self, first, second):
        ...         yield first
        ...         yield second
    """

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """The results for an element of the first stream and one of the second; None is as good as none at all."""


class CoGroupFunction(Function):
    """Sees all elements of a key and window at once, those of each stream for themselves.

        >>> class Sizes(CoGroupFunction):
        ...     def co_group(self, first, second):
        ...         yield len(list(first)), len(list(second))
    """

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """The results for one key and window; either group may be empty, but not both."""


class ProcessJoinFunction(Function):
    """Sees each pair of an interval join, as soon as its second element is there.

    Results are what ``process_element`` yields, with the later timestamp of the two; ``yield tag, value`` with an
    ``OutputTag`` goes to a side output.

        >>> class Delay(ProcessJoinFunction):
        ...     def process_element(self, left, right, ctx):
        ...         yield left, ctx.get_right_timestamp() - ctx.get_left_timestamp()
    """

    class Context(ABC):
        """The timestamps of the pair; valid only during the call."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """The event timestamp of the left element, ms."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """The event timestamp of the right element, ms."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """The timestamp of the results: the later of the two, ms."""

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any] | None:
        """The results for one pair."""
