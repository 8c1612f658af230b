"""Windows under test: what ``KeyedStream.window`` and ``DataStream.window_all`` would add to a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.functions import (
    AggregateFunction,
    AllWindowFunction,
    KeySelector,
    ReduceFunction,
    WindowFunction,
)
from millrace.common.output_tag import OutputTag
from millrace.common.time import TimeSpan
from millrace.common.window import Evictor, Trigger, WindowAssigner
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.runtime.jobs import specs


def window_spec(
    assigner: WindowAssigner[Any, Any],
    function: Any = None,
    *,
    reduce: Callable[[Any, Any], Any] | ReduceFunction | None = None,
    aggregate: AggregateFunction | None = None,
    trigger: Trigger[Any, Any] | None = None,
    evictor: Evictor[Any, Any] | None = None,
    allowed_lateness: int | TimeSpan = 0,
    late_tag: OutputTag | None = None,
    key_selector: KeySelector | Callable[[Any], Any] | None = None,
) -> specs.Window:
    """What a job would do with these windows; without ``key_selector`` they are those of ``window_all``.

    Made by the public methods, so it raises what they raise.
    """
    if reduce is not None and aggregate is not None:
        raise TypeError("windows are reduced or aggregated: give reduce or aggregate, not both")
    stream = StreamExecutionEnvironment().from_collection([0])
    windows: Any = stream.window_all(assigner) if key_selector is None else stream.key_by(key_selector).window(assigner)
    if trigger is not None:
        windows.trigger(trigger)
    if evictor is not None:
        windows.evictor(evictor)
    if late_tag is not None:
        windows.side_output_late_data(late_tag)
    windows.allowed_lateness(allowed_lateness)
    if reduce is not None:
        result = windows.reduce(reduce, function)
    elif aggregate is not None:
        result = windows.aggregate(aggregate, function)
    elif isinstance(function, (WindowFunction, AllWindowFunction)):
        result = windows.apply(function)
    else:
        result = windows.process(function)
    spec = result._node("window").spec
    assert isinstance(spec, specs.Window)
    return spec
