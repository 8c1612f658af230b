"""Which operator runs a function: the choice that ``DataStream`` makes by the method that was called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from millrace.common.time import to_millis
from millrace.connectors.function import SinkFunctionSink
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
from millrace.runtime.operators.async_wait import AsyncWaitOperator
from millrace.runtime.operators.base import Operator
from millrace.runtime.operators.broadcast_process import (
    BatchBroadcastProcessOperator,
    BatchKeyedBroadcastProcessOperator,
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
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
from millrace.runtime.operators.sink import SinkOperator
from millrace.runtime.operators.stateful_sink import StatefulSinkOperator

Testable = f.Function | f.AsyncFunctionDescriptor
"""What says all that an operator needs."""
Adapt = Callable[[Any], Any]


def _as_it_is(function: Any) -> Any:
    return function


class Choice(NamedTuple):
    """An operator, and how the function becomes one that it takes."""

    operator: Callable[..., Operator]
    batch: Callable[..., Operator]
    adapt: Adapt = _as_it_is
    inputs: int = 1
    broadcast: bool = False
    """whether input 1 is a broadcast stream; the descriptors of its states are a second argument"""


def _async_wait(described: f.AsyncFunctionDescriptor) -> Operator:
    return AsyncWaitOperator(
        described.async_function,
        to_millis(described.timeout),
        described.capacity,
        described.async_retry_strategy,
        described.output_mode,
    )


def _sink(function: Any) -> Operator:
    if isinstance(function, f.CheckpointedFunction):
        return StatefulSinkOperator(function)  # type: ignore[arg-type]
    return SinkOperator(SinkFunctionSink(function))


_KEYED = (KeyedProcessOperator, BatchKeyedProcessOperator)
_KEYED_CO = (KeyedCoProcessOperator, BatchKeyedCoProcessOperator)
_CO = (CoProcessOperator, CoProcessOperator)
_BROADCAST = (BroadcastProcessOperator, BatchBroadcastProcessOperator)
_KEYED_BROADCAST = (KeyedBroadcastProcessOperator, BatchKeyedBroadcastProcessOperator)

UNKEYED: dict[type[Testable], Choice] = {
    f.AsyncFunctionDescriptor: Choice(_async_wait, _async_wait),
    f.MapFunction: Choice(MapOperator, MapOperator),
    f.FlatMapFunction: Choice(FlatMapOperator, FlatMapOperator),
    f.FilterFunction: Choice(FilterOperator, FilterOperator),
    f.ProcessFunction: Choice(ProcessOperator, ProcessOperator),
    f.CoProcessFunction: Choice(*_CO, inputs=2),
    f.CoMapFunction: Choice(*_CO, CoMap, 2),
    f.CoFlatMapFunction: Choice(*_CO, CoFlatMap, 2),
    f.BroadcastProcessFunction: Choice(*_BROADCAST, inputs=2, broadcast=True),
    f.SinkFunction: Choice(_sink, _sink),
}

KEYED: dict[type[Testable], Choice] = {
    f.AsyncFunctionDescriptor: Choice(_async_wait, _async_wait),
    f.MapFunction: Choice(*_KEYED, KeyedMap),
    f.FlatMapFunction: Choice(*_KEYED, KeyedFlatMap),
    f.FilterFunction: Choice(*_KEYED, KeyedFilter),
    f.ReduceFunction: Choice(ReduceOperator, BatchReduceOperator),
    f.KeyedProcessFunction: Choice(*_KEYED),
    f.CoProcessFunction: Choice(*_CO, inputs=2),
    f.KeyedCoProcessFunction: Choice(*_KEYED_CO, inputs=2),
    f.CoMapFunction: Choice(*_KEYED_CO, KeyedCoMap, 2),
    f.CoFlatMapFunction: Choice(*_KEYED_CO, KeyedCoFlatMap, 2),
    f.KeyedBroadcastProcessFunction: Choice(*_KEYED_BROADCAST, inputs=2, broadcast=True),
}


def operator_for(function: Testable, keyed: bool) -> Choice:
    """The operator of a function. Raises ``TypeError`` for one that no operator takes on such a stream."""
    table, other = (KEYED, UNKEYED) if keyed else (UNKEYED, KEYED)
    for kind, choice in table.items():
        if isinstance(function, kind):
            return choice
    name = type(function).__name__
    if isinstance(function, f.ProcessJoinFunction):
        raise TypeError(f"{name} needs bounds: make its harness with interval_join_harness()")
    if any(isinstance(function, kind) for kind in other):
        needs = "runs on a stream that is not keyed: leave key_selector out" if keyed else "needs a key_selector"
        raise TypeError(f"{name} {needs}")
    names = ", ".join(sorted({kind.__name__ for kind in (*UNKEYED, *KEYED)}))
    raise TypeError(f"no operator takes a {name}; known are: {names}")
