"""Functions of one element (or two) at a time, without context."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from millrace.common.functions.base import Function

__all__ = [
    "MapFunction",
    "CoMapFunction",
    "FlatMapFunction",
    "CoFlatMapFunction",
    "ReduceFunction",
    "KeySelector",
    "NullByteKeySelector",
    "FilterFunction",
    "Partitioner",
]


class MapFunction(Function):
    """Turns each element into exactly one other: ``stream.map(MyMap())``."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """The element that takes the place of ``value``."""


class CoMapFunction(Function):
    """Maps two connected streams; one instance sees both, so they can share state."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """The result for an element of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """The result for an element of the second stream."""


class FlatMapFunction(Function):
    """Turns each element into any number of others: ``stream.flat_map(MyFlatMap())``."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """An iterable of results, most simply by ``yield``; None is as good as none at all."""


class CoFlatMapFunction(Function):
    """Flat-maps two connected streams; one instance sees both, so they can share state."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """The results for an element of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """The results for an element of the second stream."""


class ReduceFunction(Function):
    """Combines two values of a type into one of the same type; must be associative."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """``value1`` (what was reduced so far) and ``value2`` (the new element) as one value."""


class KeySelector(Function):
    """Finds the key of an element: ``stream.key_by(MySelector())``."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key; must be hashable, and the same whenever it is asked for."""


class NullByteKeySelector(KeySelector):
    """Gives every element the same key, so that a keyed operator can serve a stream that is not keyed."""

    def get_key(self, value: Any) -> Any:
        return 0


class FilterFunction(Function):
    """Decides which elements stay: ``stream.filter(MyFilter())``."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """True to keep the element."""


class Partitioner(Function):
    """Chooses the subtask for a key: ``stream.partition_custom(MyPartitioner(), key_selector)``."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """A number from 0 to ``num_partitions - 1``."""
