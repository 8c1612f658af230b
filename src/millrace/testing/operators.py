"""The operator that a job would run for a function or a window, and its state as checkpoints would hold it.

The operator is chosen as the methods of ``DataStream`` do. ``Versions`` stores the state version by version, as a task
and its storage would.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from millrace.common.functions import AggregateFunction, AllWindowFunction, KeySelector, ReduceFunction, WindowFunction
from millrace.common.output_tag import OutputTag
from millrace.common.time import TimeSpan, to_millis
from millrace.common.window import Evictor, Trigger, WindowAssigner
from millrace.connectors.sink_function import SinkFunctionSink
from millrace.datastream import functions as f
from millrace.datastream.function_adapters import (
    CoFlatMap,
    CoMap,
    KeyedCoFlatMap,
    KeyedCoMap,
    KeyedFilter,
    KeyedFlatMap,
    KeyedMap,
)
from millrace.datastream.job_settings import state_plan
from millrace.datastream.state_backend import StateBackend
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.runtime.operators import specs
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.state.working import InMemory, StatePlan
from millrace.runtime.storage import NO_PAST, MemoryStorage, dumps, whole_at
from millrace.runtime.tasks.member import OperatorDeltas

# Operators of functions

Testable = f.Function | f.AsyncFunctionDescriptor
"""A function with everything that a job needs to know about it."""
Adapt = Callable[[Any], Any]


def _as_it_is(function: Any) -> Any:
    return function


class Choice(NamedTuple):
    """The operator's description, and how the user's function is adapted to it."""

    describe: Callable[..., specs.Spec]
    adapt: Adapt = _as_it_is
    inputs: int = 1
    broadcast: bool = False
    """whether input 1 is a broadcast stream; the descriptors of its states are a second argument then"""


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


# Operators of windows


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
    """The description of these windows; without ``key_selector`` they are those of ``window_all``.

    Raises the errors of the public methods.
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


# State


@dataclass(frozen=True)
class Snapshot:
    """State between two epochs: whole, or the changes of one epoch. Stored as bytes, so that nothing is shared with
    the operator.

    >>> Snapshot.of([], epoch=3, processing_time=0, whole=True).epoch
    3
    """

    payload: bytes = field(repr=False)
    epoch: int
    """number of the next epoch"""
    processing_time: int
    whole: bool
    """whether it is the whole state, rather than changes"""

    @staticmethod
    def of(pieces: Iterable[OperatorDeltas], epoch: int, processing_time: int, whole: bool) -> Snapshot:
        """Raises what pickle raises for state that cannot be stored."""
        return Snapshot(dumps(list(pieces)), epoch, processing_time, whole)

    def pieces(self) -> list[OperatorDeltas]:
        """A new copy of the state, in pieces to be loaded one by one."""
        pieces: list[OperatorDeltas] = pickle.loads(self.payload)
        return pieces


JOB, TASK, UID = "harness", (0, 0), "operator"


class Versions:
    """Stores an operator's state version by version.

    :param backend: None: state in memory.
    :param small: returns the operator's state without its keyed state.
    """

    def __init__(self, backend: StateBackend | None, small: Callable[[], OperatorDeltas]) -> None:
        plan: StatePlan = InMemory() if backend is None else state_plan(backend)
        if isinstance(plan, OnDisk):
            self._directory = tempfile.TemporaryDirectory(prefix="millrace-harness-")
            plan = replace(plan, paths=(self._directory.name,), rows_memory=0)  # what has not changed is read again
        self._working = plan.state_of(JOB, TASK, lambda: {UID: small()})
        self._storage = MemoryStorage()
        self._past = NO_PAST
        self._rests = False
        """whether an epoch has ended and the next one has not begun"""

    def keyed(self, time: StateTime) -> KeyedStateBackend:
        """The operator's keyed state."""
        return self._working.backend(UID, time)

    def finish(self, delta: OperatorDeltas) -> None:
        """End an epoch that has succeeded."""
        version = self._past.versions[-1] + 1
        self._storage.write_delta(TASK, version, self._past, {UID: delta})
        self._past = self._past.then(version)
        self._working.finish(version, {UID: delta})
        self._rests = True

    def begin(self) -> None:
        """Begin the next epoch, unless it has begun."""
        if self._rests:
            self._rests = False
            assert self._working.goes_on(), "nobody else is there"

    @contextmanager
    def firing(self) -> Iterator[None]:
        """Mark that timers fire: between two epochs, if no epoch has begun."""
        if not self._rests:
            yield
            return
        with self._working.firing() as same:
            assert same, "nobody else is there"
            yield

    def changes(self, pieces: Sequence[OperatorDeltas], whole: bool) -> Iterator[OperatorDeltas]:
        """The snapshots that make up a version, for an operator to load: one whole state, or its changes in order."""
        is_new = self._past == NO_PAST
        version = self._past.versions[-1] + 1
        if whole:
            self._storage.write_full(TASK, version, [{UID: piece} for piece in pieces])
            self._past = whole_at(version)
        else:
            self._storage.write_delta(TASK, version, self._past, {UID: pieces[0]})
            self._past = self._past.then(version)
        if is_new:
            yield from (piece[UID] for _, piece in self._working.load(TASK, self._past, self._storage))
        else:
            yield from pieces

    def close(self) -> None:
        self._working.close()
