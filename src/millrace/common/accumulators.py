"""Accumulators: values that all subtasks of a job add to; ``JobExecutionResult`` returns each as one value.

PyFlink has none in Python; names and behaviour are those of Flink's ``org.apache.flink.api.common.accumulators``.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "GrowingAccumulator",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "ListAccumulator",
    "LongCounter",
    "LongMaximum",
    "LongMinimum",
]

V = TypeVar("V")
"""Type of what is added."""
R = TypeVar("R")
"""Type of the result."""
A = TypeVar("A", bound="Accumulator[Any, Any]")


class Accumulator(ABC, Generic[V, R]):
    """Adds values up in each subtask; the subtasks' parts are merged. Must be picklable, and small: after every epoch
    that changed it, it is stored and sent as a whole."""

    @abstractmethod
    def add(self, value: V) -> None:
        """Add one value."""

    @abstractmethod
    def get_local_value(self) -> R:
        """The result of this subtask so far, whichever worker ran which part of it."""

    @abstractmethod
    def reset_local(self) -> None:
        """Forget everything: merging another accumulator must now give exactly that one."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Merge the value of another accumulator of this class, which stays unchanged."""

    def clone(self: A) -> A:
        """An independent copy."""
        return copy.deepcopy(self)

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.get_local_value()}"


class GrowingAccumulator(Accumulator[V, R]):
    """An accumulator that grows without end: only what was added in an epoch is stored and sent (our addition)."""

    @abstractmethod
    def take_increment(self: A) -> A | None:
        """The values that were added or merged since the last call, as an accumulator to merge; None if there are
        none."""


class _Sum(Accumulator[Any, Any]):
    _zero: Any = 0

    def __init__(self, value: Any = None) -> None:
        self._value = self._zero if value is None else value

    def add(self, value: Any) -> None:
        self._value += value

    def get_local_value(self) -> Any:
        return self._value

    def reset_local(self) -> None:
        self._value = self._zero

    def merge(self, other: _Sum) -> None:
        self._value += other._value


class IntCounter(_Sum):
    """Adds ints up."""


class LongCounter(_Sum):
    """Adds ints up; another type than ``IntCounter`` in Flink, so it is one here."""


class DoubleCounter(_Sum):
    """Adds floats up."""

    _zero = 0.0


class _Extreme(Accumulator[Any, Any]):
    _start: Any

    def __init__(self, value: Any = None) -> None:
        self._value = self._start if value is None else value

    def get_local_value(self) -> Any:
        return self._value

    def reset_local(self) -> None:
        self._value = self._start

    def merge(self, other: _Extreme) -> None:
        self.add(other._value)


class _Minimum(_Extreme):
    def add(self, value: Any) -> None:
        if value < self._value:
            self._value = value


class _Maximum(_Extreme):
    def add(self, value: Any) -> None:
        if value > self._value:
            self._value = value


class IntMinimum(_Minimum):
    """The smallest int, 2**31 - 1 before the first."""

    _start = 2**31 - 1


class IntMaximum(_Maximum):
    """The largest int, -2**31 before the first."""

    _start = -(2**31)


class LongMinimum(_Minimum):
    """The smallest int, 2**63 - 1 before the first."""

    _start = 2**63 - 1


class LongMaximum(_Maximum):
    """The largest int, -2**63 before the first."""

    _start = -(2**63)


class DoubleMinimum(_Minimum):
    """The smallest float, infinity before the first."""

    _start = math.inf


class DoubleMaximum(_Maximum):
    """The largest float, minus infinity before the first."""

    _start = -math.inf


class AverageAccumulator(Accumulator[float, float]):
    """The mean of numbers, 0.0 before the first."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._count += 1
        self._sum += value

    def get_local_value(self) -> float:
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        self._count, self._sum = 0, 0.0

    def merge(self, other: AverageAccumulator) -> None:
        self._count += other._count
        self._sum += other._sum


class Histogram(Accumulator[int, dict[int, int]]):
    """How often each int was added; the result is sorted by the ints."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        self._counts[value] = self._counts.get(value, 0) + 1

    def get_local_value(self) -> dict[int, int]:
        return dict(sorted(self._counts.items()))

    def reset_local(self) -> None:
        self._counts = {}

    def merge(self, other: Histogram) -> None:
        for value, count in other._counts.items():
            self._counts[value] = self._counts.get(value, 0) + count


class ListAccumulator(GrowingAccumulator[Any, list[Any]]):
    """All values. The whole list lies in the driver's memory and in each worker's."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._taken = 0

    def add(self, value: Any) -> None:
        self._values.append(value)

    def get_local_value(self) -> list[Any]:
        return list(self._values)

    def reset_local(self) -> None:
        self._values, self._taken = [], 0

    def merge(self, other: ListAccumulator) -> None:
        self._values.extend(other._values)

    def take_increment(self) -> ListAccumulator | None:
        if self._taken == len(self._values):
            return None
        increment = ListAccumulator()
        increment._values = self._values[self._taken :]
        self._taken = len(self._values)
        return increment
