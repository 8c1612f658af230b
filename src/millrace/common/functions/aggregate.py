"""``AggregateFunction``: aggregation with an accumulator."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from millrace.common.functions.base import Function

__all__ = ["AggregateFunction"]


class AggregateFunction(Function):
    """Aggregates elements of one type, by way of an accumulator, to a result that may be of a third type.

    An average, for instance: the accumulator is ``(sum, count)``, the result ``sum / count``. One instance serves any
    number of accumulators, so what is being aggregated belongs in the accumulator and not in ``self``.

        >>> class Total(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0
        ...     def add(self, value, accumulator):
        ...         return accumulator + value
        ...     def get_result(self, accumulator):
        ...         return accumulator
        ...     def merge(self, a, b):
        ...         return a + b
        >>> numbers = env.from_collection([1, 2]).key_by(lambda n: "all")
        >>> list(numbers.count_window(2).aggregate(Total()).execute_and_collect())
        [3]
    """

    @abstractmethod
    def create_accumulator(self) -> Any:
        """A fresh accumulator, which stands for no elements at all."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with ``value`` in it; may be ``accumulator`` itself, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """What the accumulator amounts to."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """One accumulator for the elements of both; either may be reused. Needed by merging (session) windows."""
