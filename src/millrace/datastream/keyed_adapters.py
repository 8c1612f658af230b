"""Lets rich map, flat_map and filter functions use keyed state: each as a keyed process function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

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


class Adapter:
    """Opens and closes the adapted function."""

    function: Function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()


class KeyedMap(Adapter, KeyedProcessFunction):
    def __init__(self, function: MapFunction) -> None:
        self.function: MapFunction = function

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (self.function.map(value),)


class KeyedFlatMap(Adapter, KeyedProcessFunction):
    def __init__(self, function: FlatMapFunction) -> None:
        self.function: FlatMapFunction = function

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map(value)


class KeyedFilter(Adapter, KeyedProcessFunction):
    def __init__(self, function: FilterFunction) -> None:
        self.function: FilterFunction = function

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return (value,) if self.function.filter(value) else ()


class CoMap(Adapter, CoProcessFunction):
    def __init__(self, function: CoMapFunction) -> None:
        self.function: CoMapFunction = function

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return _none_is_nothing(self.function.map1(value))

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return _none_is_nothing(self.function.map2(value))


class KeyedCoMap(Adapter, KeyedCoProcessFunction):
    def __init__(self, function: CoMapFunction) -> None:
        self.function: CoMapFunction = function

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return _none_is_nothing(self.function.map1(value))

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return _none_is_nothing(self.function.map2(value))


class CoFlatMap(Adapter, CoProcessFunction):
    def __init__(self, function: CoFlatMapFunction) -> None:
        self.function: CoFlatMapFunction = function

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map1(value)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map2(value)


class KeyedCoFlatMap(Adapter, KeyedCoProcessFunction):
    def __init__(self, function: CoFlatMapFunction) -> None:
        self.function: CoFlatMapFunction = function

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map1(value)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.flat_map2(value)


class KeyedCoProcess(Adapter, KeyedCoProcessFunction):
    """A CoProcessFunction on keyed streams has keyed state and timers, too; it just need not have ``on_timer``."""

    def __init__(self, function: CoProcessFunction) -> None:
        self.function: CoProcessFunction = function

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.process_element1(value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        return self.function.process_element2(value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        on_timer = getattr(self.function, "on_timer", None)
        return None if on_timer is None else cast("Iterable[Any] | None", on_timer(timestamp, ctx))


def _none_is_nothing(result: Any) -> Iterable[Any]:
    return () if result is None else (result,)
