"""The functions of window join and co-group as a ``WindowFunction``, which sees the elements of both sides, tagged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.common.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    WindowFunction,
)
from millrace.datastream.keyed_adapters import Adapter


class CoGroupWindow(Adapter[CoGroupFunction], WindowFunction[tuple[int, Any], Any, Any, Any]):
    """Splits a window's elements into those of the first and those of the second stream."""

    def apply(self, key: Any, window: Any, inputs: Iterable[tuple[int, Any]]) -> Iterable[Any]:
        groups: tuple[list[Any], list[Any]] = ([], [])
        for tag, value in inputs:
            groups[tag - 1].append(value)
        results = self.function.co_group(*groups)
        return () if results is None else results


class EachPair(Adapter[JoinFunction], CoGroupFunction):
    """All pairs of both groups, the first one's elements in the outer loop."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any]:
        join = self.function.join
        return (join(one, two) for one in first for two in second)


class EachPairFlat(Adapter[FlatJoinFunction], CoGroupFunction):
    """The same for a function with any number of results."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any]:
        join = self.function.join
        return (result for one in first for two in second for result in join(one, two) or ())
