"""Rich functions as keyed process functions."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.datastream.function_adapters import (
    CoFlatMap,
    CoMap,
    KeyedCoFlatMap,
    KeyedCoMap,
    KeyedCoProcess,
    KeyedFilter,
    KeyedFlatMap,
    KeyedMap,
)
from millrace.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
)


class Everything(MapFunction, FlatMapFunction, FilterFunction, CoMapFunction, CoFlatMapFunction, CoProcessFunction):
    """Remembers what was done to it."""

    def __init__(self) -> None:
        self.steps: list[Any] = []

    def open(self, runtime_context: Any) -> None:
        self.steps.append(runtime_context)

    def close(self) -> None:
        self.steps.append("closed")

    def map(self, value: Any) -> Any:
        return value + 1

    def flat_map(self, value: Any) -> Any:
        return [value, value] if value else None

    def filter(self, value: Any) -> bool:
        return value > 1  # type: ignore[no-any-return]

    def map1(self, value: Any) -> Any:
        return ("first", value) if value else None

    def map2(self, value: Any) -> Any:
        return ("second", value) if value else None

    def flat_map1(self, value: Any) -> Any:
        yield "first", value

    def flat_map2(self, value: Any) -> Any:
        yield "second", value

    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield "first", value, ctx

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield "second", value, ctx


ONE_INPUT = [KeyedMap, KeyedFlatMap, KeyedFilter]
TWO_INPUTS = [CoMap, CoFlatMap, KeyedCoMap, KeyedCoFlatMap, KeyedCoProcess]


@pytest.mark.parametrize("adapter", [*ONE_INPUT, *TWO_INPUTS])
def test_open_and_close_reach_the_function(adapter: Any) -> None:
    function = Everything()
    adapted = adapter(function)
    adapted.open("context")
    adapted.close()
    assert function.steps == ["context", "closed"]
    assert adapted.function is function


def test_they_are_process_functions() -> None:
    for one_input in ONE_INPUT:
        assert issubclass(one_input, KeyedProcessFunction)
    for two_inputs in TWO_INPUTS:
        keyed = two_inputs.__name__.startswith("Keyed")
        assert issubclass(two_inputs, KeyedCoProcessFunction if keyed else CoProcessFunction)


@pytest.mark.parametrize(
    ("adapter", "value", "results"),
    [
        (KeyedMap, 1, [2]),
        (KeyedFlatMap, 1, [1, 1]),
        (KeyedFlatMap, 0, []),
        (KeyedFilter, 2, [2]),
        (KeyedFilter, 1, []),
    ],
)
def test_one_input(adapter: Any, value: Any, results: list[Any]) -> None:
    assert list(adapter(Everything()).process_element(value, None) or ()) == results


@pytest.mark.parametrize(
    ("adapter", "value", "rest"),
    [
        (CoMap, 1, [(1,)]),
        (CoMap, 0, []),
        (KeyedCoMap, 1, [(1,)]),
        (KeyedCoMap, 0, []),
        (CoFlatMap, 0, [(0,)]),
        (KeyedCoFlatMap, 0, [(0,)]),
        (KeyedCoProcess, 0, [(0, "ctx")]),
    ],
)
def test_two_inputs(adapter: Any, value: Any, rest: list[Any]) -> None:
    adapted = adapter(Everything())
    assert list(adapted.process_element1(value, "ctx")) == [("first", *parts) for parts in rest]
    assert list(adapted.process_element2(value, "ctx")) == [("second", *parts) for parts in rest]


def test_map_may_return_none() -> None:
    class Nothing(MapFunction):
        def map(self, value: Any) -> Any:
            return None

    assert list(KeyedMap(Nothing()).process_element(1, None)) == [None]


def test_a_co_process_function_may_have_on_timer() -> None:
    class Timed(Everything):
        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            return [timestamp]

    assert KeyedCoProcess(Everything()).on_timer(5, None) is None
    assert KeyedCoProcess(Timed()).on_timer(5, None) == [5]
