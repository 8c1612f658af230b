"""Lets rich map, flat_map and filter functions use keyed state: each as a keyed process function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar, cast

from millrace.common.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from millrace.common.types import Row

F = TypeVar("F", bound=Function)


class Adapter(Generic[F]):
    """Opens and closes the adapted function."""

    def __init__(self, function: F) -> None:
        self.function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()


class KeyedMap(Adapter[MapFunction], KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (self.function.map(value),)


class KeyedFlatMap(Adapter[FlatMapFunction], KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map(value)


class KeyedFilter(Adapter[FilterFunction], KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (value,) if self.function.filter(value) else ()


class WithKey(KeyedProcessFunction):
    """Each element behind its key: what collecting a keyed stream itself gives."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (Row(f0=ctx.get_current_key(), f1=value),)


class _CoMap(Adapter[CoMapFunction]):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return _none_is_nothing(self.function.map1(value))

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return _none_is_nothing(self.function.map2(value))


class CoMap(_CoMap, CoProcessFunction): ...


class KeyedCoMap(_CoMap, KeyedCoProcessFunction): ...


class _CoFlatMap(Adapter[CoFlatMapFunction]):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map1(value)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map2(value)


class CoFlatMap(_CoFlatMap, CoProcessFunction): ...


class KeyedCoFlatMap(_CoFlatMap, KeyedCoProcessFunction): ...


class KeyedCoProcess(Adapter[CoProcessFunction], KeyedCoProcessFunction):
    """A CoProcessFunction on keyed streams has keyed state and timers, too; it just need not have ``on_timer``."""

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.process_element1(value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.process_element2(value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        on_timer = getattr(self.function, "on_timer", None)
        return None if on_timer is None else cast("Iterable[Any] | None", on_timer(timestamp, ctx))


def _none_is_nothing(result: Any) -> Iterable[Any]:
    return () if result is None else (result,)
