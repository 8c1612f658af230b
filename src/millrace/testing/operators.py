"""Which operator runs a function: the choice that ``DataStream`` makes by the method that was called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from millrace.datastream import functions as f
from millrace.datastream.keyed_adapters import (
    CoFlatMap,
    CoMap,
    KeyedCoFlatMap,
    KeyedCoMap,
    KeyedFilter,
    KeyedFlatMap,
    KeyedMap,
)
from millrace.runtime.operators.base import Operator
from millrace.runtime.operators.co_process import (
    BatchKeyedCoProcessOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)
from millrace.runtime.operators.filter import FilterOperator
from millrace.runtime.operators.flat_map import FlatMapOperator
from millrace.runtime.operators.map import MapOperator
from millrace.runtime.operators.process import BatchKeyedProcessOperator, KeyedProcessOperator, ProcessOperator
from millrace.runtime.operators.reduce import BatchReduceOperator, ReduceOperator

Adapt = Callable[[Any], Any]


def _as_it_is(function: Any) -> Any:
    return function


class Choice(NamedTuple):
    """An operator, and how the function becomes one that it takes."""

    operator: Callable[[Any], Operator]
    batch: Callable[[Any], Operator]
    adapt: Adapt = _as_it_is
    inputs: int = 1


_KEYED = (KeyedProcessOperator, BatchKeyedProcessOperator)
_KEYED_CO = (KeyedCoProcessOperator, BatchKeyedCoProcessOperator)
_CO = (CoProcessOperator, CoProcessOperator)

UNKEYED: dict[type[f.Function], Choice] = {
    f.MapFunction: Choice(MapOperator, MapOperator),
    f.FlatMapFunction: Choice(FlatMapOperator, FlatMapOperator),
    f.FilterFunction: Choice(FilterOperator, FilterOperator),
    f.ProcessFunction: Choice(ProcessOperator, ProcessOperator),
    f.CoProcessFunction: Choice(*_CO, inputs=2),
    f.CoMapFunction: Choice(*_CO, CoMap, 2),
    f.CoFlatMapFunction: Choice(*_CO, CoFlatMap, 2),
}

KEYED: dict[type[f.Function], Choice] = {
    f.MapFunction: Choice(*_KEYED, KeyedMap),
    f.FlatMapFunction: Choice(*_KEYED, KeyedFlatMap),
    f.FilterFunction: Choice(*_KEYED, KeyedFilter),
    f.ReduceFunction: Choice(ReduceOperator, BatchReduceOperator),
    f.KeyedProcessFunction: Choice(*_KEYED),
    f.CoProcessFunction: Choice(*_CO, inputs=2),
    f.KeyedCoProcessFunction: Choice(*_KEYED_CO, inputs=2),
    f.CoMapFunction: Choice(*_KEYED_CO, KeyedCoMap, 2),
    f.CoFlatMapFunction: Choice(*_KEYED_CO, KeyedCoFlatMap, 2),
}


def operator_for(function: f.Function, keyed: bool) -> Choice:
    """The operator of a function. Raises ``TypeError`` for one that no operator takes on such a stream."""
    table, other = (KEYED, UNKEYED) if keyed else (UNKEYED, KEYED)
    for kind, choice in table.items():
        if isinstance(function, kind):
            return choice
    name = type(function).__name__
    if any(isinstance(function, kind) for kind in other):
        needs = "runs on a stream that is not keyed: leave key_selector out" if keyed else "needs a key_selector"
        raise TypeError(f"{name} {needs}")
    names = ", ".join(sorted({kind.__name__ for kind in (*UNKEYED, *KEYED)}))
    raise TypeError(f"no operator takes a {name}; known are: {names}")
