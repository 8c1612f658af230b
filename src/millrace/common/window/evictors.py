"""Evictors, which remove elements from a window before or after it is evaluated; and ``DeltaFunction``, which measures
the distance of two elements. Additions to PyFlink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from millrace.common.time import TimeSpan, to_millis

if TYPE_CHECKING:
    from millrace.metrics import MetricGroup


T = TypeVar("T")
"""Type of the elements."""


class DeltaFunction(ABC, Generic[T]):
    """Measures the distance of two elements. A plain function of two elements can be used in its place.

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


W = TypeVar("W")
"""Type of the windows."""


@dataclass(slots=True)
class TimestampedValue(Generic[T]):
    """An element of a window and its event time, ms; None if it has none.

    >>> value = TimestampedValue("a", 1000)
    >>> value.get_value(), value.get_timestamp()
    ('a', 1000)
    """

    value: T
    timestamp: int | None = None

    def get_value(self) -> T:
        """The element."""
        return self.value

    def has_timestamp(self) -> bool:
        """Whether the element has an event time."""
        return self.timestamp is not None

    def get_timestamp(self) -> int:
        """The event time in ms; raises ValueError if the element has none."""
        if self.timestamp is None:
            raise ValueError("The element has no timestamp")
        return self.timestamp


class Evictor(ABC, Generic[T, W]):
    """Removes elements from a window that fires. Removed elements are lost to later firings, too.

    With an evictor, a window keeps all its elements, even if it is reduced or aggregated.

        >>> class Odd(Evictor):
        ...     def evict_before(self, elements, size, window, ctx):
        ...         return [each for each in elements if each.get_value() % 2]
        ...     def evict_after(self, elements, size, window, ctx):
        ...         return elements
    """

    class EvictorContext(ABC):
        """What an evictor can ask for. Times are ms since the epoch."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The wall clock of the task."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """The metrics of the operator."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The event time that the operator has reached."""

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: W, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Called before the window is evaluated: delete from ``elements`` what is to go.

        :param elements: those of the window, in the order in which they came, ``size`` in number.
        """

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: W, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Called after the window was evaluated, as ``evict_before``."""


class BuiltInEvictor(Evictor[T, W]):
    """Evicts by one rule, either before or after the window is evaluated."""

    def __init__(self, do_evict_after: bool) -> None:
        self.do_evict_after: Final = do_evict_after

    @abstractmethod
    def evict(self, elements: list[TimestampedValue[T]]) -> None:
        """Delete from ``elements`` (there is at least one) what is to go."""

    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: W, evictor_context: Evictor.EvictorContext
    ) -> None:
        if elements and not self.do_evict_after:
            self.evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: W, evictor_context: Evictor.EvictorContext
    ) -> None:
        if elements and self.do_evict_after:
            self.evict(elements)


class CountEvictor(BuiltInEvictor[T, W]):
    """Keeps the last ``max_count`` elements.

    >>> numbers = env.from_collection([1, 2, 3]).window_all(GlobalWindows.create()).trigger(CountTrigger.of(1))
    >>> list(numbers.evictor(CountEvictor.of(2)).reduce(lambda x, y: x + y).execute_and_collect())
    [1, 3, 5]
    """

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.max_count: Final = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor[Any, Any]:
        """An evictor that keeps the last ``max_count`` elements."""
        return CountEvictor(max_count, do_evict_after)

    def evict(self, elements: list[TimestampedValue[T]]) -> None:
        del elements[: max(0, len(elements) - self.max_count)]

    def __repr__(self) -> str:
        return f"CountEvictor({self.max_count})"


class TimeEvictor(BuiltInEvictor[T, W]):
    """Keeps the elements of the last ``window_size`` ms: those less than that before the latest one.

    Elements without timestamps are all kept.

        >>> evictor = TimeEvictor.of(Time.seconds(10))
        >>> evictor.window_size
        10000
    """

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.window_size: Final = window_size

    @staticmethod
    def of(window_size: TimeSpan, do_evict_after: bool = False) -> TimeEvictor[Any, Any]:
        """An evictor that keeps the elements of the last ``window_size``."""
        return TimeEvictor(to_millis(window_size), do_evict_after)

    def evict(self, elements: list[TimestampedValue[T]]) -> None:
        if not elements[0].has_timestamp():
            return
        cutoff = max(element.get_timestamp() for element in elements) - self.window_size
        elements[:] = [element for element in elements if element.get_timestamp() > cutoff]

    def __repr__(self) -> str:
        return f"TimeEvictor({self.window_size})"


class DeltaEvictor(BuiltInEvictor[T, W]):
    """Keeps the elements that are less than ``threshold`` away from the last one.

        >>> numbers = env.from_collection([1, 2, 30]).window_all(GlobalWindows.create()).trigger(CountTrigger.of(3))
        >>> near = numbers.evictor(DeltaEvictor.of(10, lambda old, last: abs(last - old)))
        >>> list(near.reduce(lambda x, y: x + y).execute_and_collect())
        [30]

    :raises TypeError: ``delta_function`` is no function.
    """

    def __init__(self, threshold: float, delta_function: AnyDeltaFunction, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.threshold: Final = threshold
        self._delta = as_delta(delta_function)

    @staticmethod
    def of(threshold: float, delta_function: AnyDeltaFunction, do_evict_after: bool = False) -> DeltaEvictor[Any, Any]:
        """An evictor that drops the elements for which ``delta_function(element, last) >= threshold``."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def evict(self, elements: list[TimestampedValue[T]]) -> None:
        last = elements[-1].value
        elements[:] = [element for element in elements if not self._delta(element.value, last) >= self.threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self.threshold})"
