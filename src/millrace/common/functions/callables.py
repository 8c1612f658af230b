"""Plain callables as functions: what lets ``stream.map(lambda x: ...)`` work.

The wrappers pickle if what they wrap does. ``func`` is the callable as the user wrote it, for error messages; it also
takes the place of the wrapper's method, which saves a Python call per element.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.functions.element_functions import (
    CoGroupFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    JoinFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from millrace.common.functions.source_and_sink_functions import SinkFunction

__all__ = [
    "as_co_group",
    "as_filter",
    "as_flat_map",
    "as_join",
    "as_key_selector",
    "as_map",
    "as_partitioner",
    "as_reduce",
    "invoke_of",
]


class CallableMap(MapFunction):
    """``func(value) -> result`` as a ``MapFunction``."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = self.map = func  # type: ignore[method-assign,assignment]

    def map(self, value: Any) -> Any:
        return self.func(value)


class CallableFlatMap(FlatMapFunction):
    """``func(value) -> results`` as a ``FlatMapFunction``."""

    def __init__(self, func: Callable[[Any], Iterable[Any] | None]) -> None:
        self.func = self.flat_map = func  # type: ignore[method-assign,assignment]

    def flat_map(self, value: Any) -> Iterable[Any] | None:
        return self.func(value)


class CallableFilter(FilterFunction):
    """``func(value) -> bool`` as a ``FilterFunction``."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func

    def filter(self, value: Any) -> bool:
        return bool(self.func(value))


class CallableReduce(ReduceFunction):
    """``func(value1, value2) -> value`` as a ``ReduceFunction``."""

    def __init__(self, func: Callable[[Any, Any], Any]) -> None:
        self.func = self.reduce = func  # type: ignore[method-assign,assignment]

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self.func(value1, value2)


class CallableKeySelector(KeySelector):
    """``func(value) -> key`` as a ``KeySelector``."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = self.get_key = func  # type: ignore[method-assign,assignment]

    def get_key(self, value: Any) -> Any:
        return self.func(value)


class CallablePartitioner(Partitioner):
    """``func(key, num_partitions) -> int`` as a ``Partitioner``."""

    def __init__(self, func: Callable[[Any, int], int]) -> None:
        self.func = self.partition = func  # type: ignore[method-assign,assignment]

    def partition(self, key: Any, num_partitions: int) -> int:
        return self.func(key, num_partitions)


class CallableJoin(JoinFunction):
    """``func(first, second) -> result`` as a ``JoinFunction``."""

    def __init__(self, func: Callable[[Any, Any], Any]) -> None:
        self.func = self.join = func  # type: ignore[method-assign,assignment]

    def join(self, first: Any, second: Any) -> Any:
        return self.func(first, second)


class CallableCoGroup(CoGroupFunction):
    """``func(first elements, second elements) -> results`` as a ``CoGroupFunction``."""

    def __init__(self, func: Callable[[Iterable[Any], Iterable[Any]], Iterable[Any] | None]) -> None:
        self.func = self.co_group = func  # type: ignore[method-assign,assignment]

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        return self.func(first, second)


def as_map(func: MapFunction | Callable[[Any], Any]) -> MapFunction:
    """``func`` itself or wrapped; TypeError if it is neither a ``MapFunction`` nor callable."""
    return func if isinstance(func, MapFunction) else CallableMap(_callable(func, MapFunction))


def as_flat_map(func: FlatMapFunction | Callable[[Any], Iterable[Any] | None]) -> FlatMapFunction:
    """``func`` itself or wrapped; TypeError if it is neither a ``FlatMapFunction`` nor callable."""
    return func if isinstance(func, FlatMapFunction) else CallableFlatMap(_callable(func, FlatMapFunction))


def as_filter(func: FilterFunction | Callable[[Any], Any]) -> FilterFunction:
    """``func`` itself or wrapped; TypeError if it is neither a ``FilterFunction`` nor callable."""
    return func if isinstance(func, FilterFunction) else CallableFilter(_callable(func, FilterFunction))


def as_reduce(func: ReduceFunction | Callable[[Any, Any], Any]) -> ReduceFunction:
    """``func`` itself or wrapped; TypeError if it is neither a ``ReduceFunction`` nor callable."""
    return func if isinstance(func, ReduceFunction) else CallableReduce(_callable(func, ReduceFunction))


def as_key_selector(func: KeySelector | Callable[[Any], Any]) -> KeySelector:
    """``func`` itself or wrapped; TypeError if it is neither a ``KeySelector`` nor callable."""
    return func if isinstance(func, KeySelector) else CallableKeySelector(_callable(func, KeySelector))


def as_partitioner(func: Partitioner | Callable[[Any, int], int]) -> Partitioner:
    """``func`` itself or wrapped; TypeError if it is neither a ``Partitioner`` nor callable."""
    return func if isinstance(func, Partitioner) else CallablePartitioner(_callable(func, Partitioner))


def as_join(func: JoinFunction | FlatJoinFunction | Callable[[Any, Any], Any]) -> JoinFunction | FlatJoinFunction:
    """``func`` itself or wrapped; TypeError if it is neither a function of a join nor callable."""
    if isinstance(func, (JoinFunction, FlatJoinFunction)):
        return func
    kind = FlatJoinFunction if isinstance(func, type) and issubclass(func, FlatJoinFunction) else JoinFunction
    return CallableJoin(_callable(func, kind))


def as_co_group(
    func: CoGroupFunction | Callable[[Iterable[Any], Iterable[Any]], Iterable[Any] | None],
) -> CoGroupFunction:
    """``func`` itself or wrapped; TypeError if it is neither a ``CoGroupFunction`` nor callable."""
    return func if isinstance(func, CoGroupFunction) else CallableCoGroup(_callable(func, CoGroupFunction))


def invoke_of(function: SinkFunction[Any]) -> Callable[[Any, Any], None]:
    """The function's ``invoke(value, context)``; a plain ``invoke(value)`` is fine, too."""
    invoke: Callable[..., None] = function.invoke
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(invoke).parameters.values()
    if sum(p.kind in kinds for p in parameters) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return invoke
    return lambda value, context: invoke(value)


def _callable(func: Any, expected: type) -> Any:
    if isinstance(func, type) and issubclass(func, expected):
        # A class is callable, too: the mistake would surface in a task, as a constructor called with an element.
        raise TypeError(
            f"The input must be a {expected.__name__} or a callable function, "
            f"not the class {func.__name__}: did you mean {func.__name__}()?"
        )
    if not callable(func):
        raise TypeError(f"The input must be a {expected.__name__} or a callable function, not {func!r}")
    return func
