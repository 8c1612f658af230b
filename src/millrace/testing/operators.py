"""What a job would do with a function: the choice that ``DataStream`` makes by the method that was called."""

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
from millrace.runtime.jobs import specs

Testable = f.Function | f.AsyncFunctionDescriptor
"""What says all that a job needs to know."""
Adapt = Callable[[Any], Any]


def _as_it_is(function: Any) -> Any:
    return function


class Choice(NamedTuple):
    """A description, and how the function becomes one that it takes."""

    describe: Callable[..., specs.Spec]
    adapt: Adapt = _as_it_is
    inputs: int = 1
    broadcast: bool = False
    """whether input 1 is a broadcast stream; the descriptors of its states are a second argument"""


def _async_wait(described: f.AsyncFunctionDescriptor) -> specs.Spec:
    return specs.AsyncWait(
        described.async_function,
        to_millis(described.timeout),
        described.capacity,
        described.async_retry_strategy,
        described.output_mode,
    )


def _sink(function: Any) -> specs.Spec:
    if isinstance(function, f.CheckpointedFunction):
        return specs.StatefulSink(function)  # type: ignore[arg-type]
    return specs.Sink(SinkFunctionSink(function))


UNKEYED: dict[type[Testable], Choice] = {
    f.AsyncFunctionDescriptor: Choice(_async_wait),
    f.MapFunction: Choice(specs.Map),
    f.FlatMapFunction: Choice(specs.FlatMap),
    f.FilterFunction: Choice(specs.Filter),
    f.ProcessFunction: Choice(specs.Process),
    f.CoProcessFunction: Choice(specs.CoProcess, inputs=2),
    f.CoMapFunction: Choice(specs.CoProcess, CoMap, 2),
    f.CoFlatMapFunction: Choice(specs.CoProcess, CoFlatMap, 2),
    f.BroadcastProcessFunction: Choice(specs.BroadcastProcess, inputs=2, broadcast=True),
    f.SinkFunction: Choice(_sink),
}

KEYED: dict[type[Testable], Choice] = {
    f.AsyncFunctionDescriptor: Choice(_async_wait),
    f.MapFunction: Choice(specs.KeyedProcess, KeyedMap),
    f.FlatMapFunction: Choice(specs.KeyedProcess, KeyedFlatMap),
    f.FilterFunction: Choice(specs.KeyedProcess, KeyedFilter),
    f.ReduceFunction: Choice(specs.Reduce),
    f.KeyedProcessFunction: Choice(specs.KeyedProcess),
    f.CoProcessFunction: Choice(specs.CoProcess, inputs=2),
    f.KeyedCoProcessFunction: Choice(specs.KeyedCoProcess, inputs=2),
    f.CoMapFunction: Choice(specs.KeyedCoProcess, KeyedCoMap, 2),
    f.CoFlatMapFunction: Choice(specs.KeyedCoProcess, KeyedCoFlatMap, 2),
    f.KeyedBroadcastProcessFunction: Choice(specs.KeyedBroadcastProcess, inputs=2, broadcast=True),
}


def choice_for(function: Testable, keyed: bool) -> Choice:
    """The description of a function. Raises ``TypeError`` for one that no operator takes on such a stream."""
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
